//! What each workload does at a small size, as one number: counts, bytes and digests of all
//! its phases. A change here changes what stored seeds mean and what old figures compare with.

use workload::Inputs;

use crate::support::{run, scratch};

/// Name, settings, and the number.
const GOLDEN: &[(&str, &str, u64)] = &[
    ("postmark", "number=100 transactions=200", 3481236248053091763),
    ("tree", "files=100 bytes=1M", 2974955443427031453),
    ("bigfile", "dd_size=2M size=1M", 4190166504915426987),
    ("randomio", "size=1M ops=500 direct=off", 17112599510502378586),
    ("video", "size=3M", 14544971372047493341),
    ("bonnie", "size=1M files=1 seeks=100 max_size=500", 13046696150962000132),
    ("mongo", "files=100 median=1000 repetitions=2", 16035008265452724638),
    ("ffsb", "files=5 min_size=1M max_size=1M threads=3 ops=40 direct=off", 2960653402479386610),
    ("varmail", "files=100 threads=3 loops=5", 10786361076186183700),
    ("fileserver", "files=100 mean_size=3000 threads=3 loops=5", 9831157481840235137),
    ("webserver", "files=100 threads=3 loops=5", 13429845612265264805),
    ("fsync-append", "records=50 writers=2", 4085390157218352750),
    ("scale", "threads=2 entries=50", 9978865261842076360),
    ("age", "capacity=8M overwrites=2 profile=mail", 17703088994424202489),
    ("photos", "permille=10", 1732155587673877472),
    ("build", "permille=10", 10889836346085119969),
    (
        "custom",
        "file=phase=[{name=\"a\",threads=2,repeat=9,op=[{do=\"create\",size=\"3K\"},{do=\"read\"}]}]",
        15818877053398491461,
    ),
    ("null", "ops=1000", 16326422950996549961),
];

fn fnv(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn every_workload_does_what_it_always_did() {
    let mut found = Vec::new();
    for (name, settings, _) in GOLDEN {
        let target = scratch();
        let ran = run(name, target.path(), &Inputs::default(), 1, settings);
        assert!(ran.ended.is_ok(), "{name}: {:?}", ran.ended);
        let number = ran.phases.iter().fold(0xcbf2_9ce4_8422_2325, |hash, phase| {
            // Which thread deletes or grows a file first decides how much others read.
            let shared = ["varmail", "fileserver", "webserver"].contains(name);
            let bytes = if shared { (0, 0) } else { (phase.read_bytes.0, phase.write_bytes.0) };
            let (name, ops, digest) = (&phase.phase, phase.ops, phase.digest);
            fnv(hash, &format!("{name} {ops} {bytes:?} {digest}\n"))
        });
        found.push((*name, *settings, number));
    }
    assert_eq!(found, GOLDEN);
}

#[test]
fn every_workload_is_in_the_list_or_needs_what_is_not_here() {
    for workload in workload::WORKLOADS {
        let description = workload.describe();
        let listed = GOLDEN.iter().any(|(name, ..)| *name == description.name);
        let needs = |kind| description.inputs.contains(&kind);
        let needs = needs(workload::InputKind::Mail)
            || needs(workload::InputKind::System)
            || needs(workload::InputKind::OwnProgram)
            || workload.needs_own_filesystem().is_some();
        assert_ne!(listed, needs, "{}", description.name);
    }
}
