//! What each workload does at a small size, as one number: counts, bytes and digests of all
//! its phases. A change here changes what stored seeds mean and what old figures compare with.
//! After a wanted change: `INSTA_UPDATE=always cargo test -p workload --test runs digests`, and
//! read the diff.

use std::fmt::Write;

use workload::{InputKind, Inputs, Workload};

use crate::support::{run, run_at, scratch};

/// Settings of those that would be too large at [`SCALE`], or would leave out too much.
const SMALL: &[(&str, &str)] = &[
    ("postmark", "number=100 transactions=200"),
    ("tree", "files=100 bytes=1M"),
    ("bigfile", "dd_size=2M size=1M"),
    ("randomio", "size=1M ops=500 direct=off"),
    ("video", "size=3M"),
    ("bonnie", "size=1M files=1 seeks=100 max_size=500"),
    ("mongo", "files=100 median=1000 repetitions=2"),
    ("ffsb", "files=5 min_size=1M max_size=1M threads=3 ops=40 direct=off"),
    ("varmail", "files=100 threads=3 loops=5"),
    ("fileserver", "files=100 mean_size=3000 threads=3 loops=5"),
    ("webserver", "files=100 threads=3 loops=5"),
    ("fsync-append", "records=50 writers=2"),
    ("scale", "threads=2 entries=50"),
    ("age", "capacity=8M overwrites=2 profile=mail"),
    ("photos", "permille=10"),
    ("build", "permille=10"),
    (
        "custom",
        "file=phase=[{name=\"a\",threads=2,repeat=9,op=[{do=\"create\",size=\"3K\"},{do=\"read\"}]}]",
    ),
];

/// The scale of all others, with their defaults.
const SCALE: f64 = 0.001;

fn fnv(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Whether it needs what is not here.
fn needs_more(workload: &dyn Workload) -> bool {
    let inputs = [InputKind::Mail, InputKind::System, InputKind::OwnProgram];
    // A model has blanks; its digests are compared in `model`.
    workload.describe().name == "filebench"
        || workload.needs_own_filesystem().is_some()
        || inputs.iter().any(|input| workload.describe().inputs.contains(input))
}

/// What it is run with, and the number.
fn line(name: &str) -> String {
    let (target, inputs) = (scratch(), Inputs::default());
    let listed = SMALL.iter().find(|(listed, _)| *listed == name);
    let (with, ran) = match listed {
        Some((_, settings)) => {
            ((*settings).to_owned(), run(name, target.path(), &inputs, 1, settings))
        }
        None => (format!("at {SCALE}"), run_at(SCALE, name, target.path(), &inputs, 1, &[])),
    };
    assert!(ran.ended.is_ok(), "{name}: {:?}", ran.ended);
    let number = ran.phases.iter().fold(0xcbf2_9ce4_8422_2325, |hash, phase| {
        // Which thread deletes or grows a file first decides how much others read.
        let shared = ["varmail", "fileserver", "webserver"].contains(&name);
        let bytes = if shared { (0, 0) } else { (phase.read_bytes.0, phase.write_bytes.0) };
        let (name, ops, digest) = (&phase.phase, phase.ops, phase.digest);
        fnv(hash, &format!("{name} {ops} {bytes:?} {digest}\n"))
    });
    format!("{name} {with}: {number}")
}

pub(crate) fn every_workload_does_what_it_always_did() {
    for (name, _) in SMALL {
        assert!(workload::find(name).is_some_and(|it| !needs_more(it)), "{name}");
    }
    let mut lines = String::new();
    for workload in workload::WORKLOADS.iter().filter(|it| !needs_more(**it)) {
        writeln!(lines, "{}", line(workload.describe().name)).unwrap();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("digests", lines));
}
