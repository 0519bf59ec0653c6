//! A filesystem without room or without a feature: each phase says so, and what depends on
//! it is marked.

use lab::Lab;
use trial::Outcome;
use units::Bytes;
use workload::{NotComparable, PhaseResult};

use crate::{carry_out, carry_out_all, how, spec};

/// A phase that was done, with the reason not to compare it, if there is one.
fn marked(phase: &PhaseResult) -> Option<NotComparable> {
    assert_eq!(how(phase), "completed", "{} {}", phase.workload, phase.phase);
    phase.not_comparable.clone()
}

/// Mongo's trap: the copy needs an inode a file, and an ext2 has only those it was made with.
pub(crate) fn no_inodes(lab: &Lab) {
    let sequence = [
        ("postmark", "number=60 transactions=50"),
        ("mongo", "files=100 median=20000 repetitions=1"),
        ("null", "ops=10"),
    ];
    let seen = carry_out(lab, &spec("ext2:mkfs=-N 200", &sequence, Bytes::from_mib(128)));
    let Outcome::Failed { reason, .. } = &seen.outcome else { panic!("{}", seen.outcome) };
    let full = |text: &str| text.contains("No space left on device");
    assert!(reason.starts_with("mongo: phase copy: create mongo/testdir2-1-1/"), "{reason}");
    assert!(full(reason), "{reason}");
    assert_eq!(marked(seen.phase("postmark", "delete")), None, "it was before");
    let create = seen.phase("mongo", "create");
    assert_eq!(marked(create), None);
    assert!(create.figures["fragments_per_file"] >= 1.0, "{:?}", create.figures);
    assert!(full(how(seen.phase("mongo", "copy"))));
    assert!(full(how(seen.phase("mongo", "symlinks"))), "a link takes an inode too");
    for phase in ["read", "stats", "rename", "delete"] {
        let after = NotComparable::AfterPhase { phase: "copy".to_owned() };
        assert_eq!(marked(seen.phase("mongo", phase)), Some(after), "{phase}");
    }
    let after = NotComparable::AfterWorkload { workload: "mongo".to_owned() };
    assert_eq!(marked(seen.phase("null", "spin")), Some(after));
}

/// Links are missing in exFAT, direct I/O in compressed files of NTFS, places of blocks in tmpfs.
pub(crate) fn no_such_feature(lab: &Lab) {
    let links = [
        ("mongo", "files=60 median=20000 repetitions=1"),
        ("bonnie", "size=0 files=1 links=hard"),
        ("bonnie", "size=0 files=1 links=symbolic"),
        ("maildir-write", "mails=20 read_mails=20 maildirs=8 ops=20 delivery=classic"),
    ];
    let direct = [
        ("randomio", "size=1M ops=50"),
        ("ffsb", "files=2 min_size=1M max_size=1M threads=2 ops=5"),
        ("randomio", "size=1M ops=50 direct=off"),
    ];
    let specs = [
        spec("exfat", &links, Bytes::from_mib(256)),
        spec("ntfs3:compression=on", &direct, Bytes::from_mib(256)),
        spec("tmpfs", &links[..1], Bytes::from_mib(128)),
    ];
    let [exfat, ntfs, tmpfs] = &carry_out_all(lab, &specs)[..] else { panic!("three trials") };

    let why = "this filesystem takes no symbolic links: Operation not permitted (os error 1)";
    let phases = [("create", None), ("copy", None)];
    let after = NotComparable::Other { why: format!("without the symbolic links: {why}") };
    let dependent = ["read", "stats", "rename", "delete"].map(|name| (name, Some(after.clone())));
    for (name, expected) in phases.into_iter().chain(dependent) {
        assert_eq!(marked(exfat.phase("mongo", name)), expected, "{name}");
    }
    assert_eq!(how(exfat.phase("mongo", "symlinks")), why);
    for kind in ["hard", "symbolic"] {
        let why = format!("this filesystem takes no {kind} links");
        let skipped = |phase: &&PhaseResult| how(phase).starts_with(&why);
        let bonnie = exfat.phases.iter().filter(|phase| phase.workload == "bonnie");
        assert_eq!(bonnie.filter(skipped).count(), 6, "{kind}");
    }
    let io = how(exfat.phase("maildir-write", "io"));
    assert!(io.starts_with("link maildirs/") && io.contains("not permitted"), "{io}");

    let why = "this filesystem has no direct I/O (O_DIRECT)";
    let random: Vec<_> = ntfs.phases.iter().filter(|phase| phase.phase == "random").collect();
    assert_eq!((how(random[0]), how(random[1])), (why, "completed"));
    assert_eq!(how(ntfs.phase("ffsb", "run")), why);
    assert!(ntfs.outcome.is_done(), "{}", ntfs.outcome);

    let fragments = |phase: &PhaseResult| phase.figures.get("fragments_per_file").copied();
    assert!(fragments(exfat.phase("mongo", "create")).is_some_and(|mean| mean >= 1.0), "by FIBMAP");
    let create = tmpfs.phase("mongo", "create");
    assert_eq!(fragments(create), None);
    assert!(create.notes[0].contains("does not report where files lie"), "{:?}", create.notes);
}

/// What is written to the disk falls with what can be compressed, and only where it is.
pub(crate) fn contents_that_compress(lab: &Lab) {
    let megabytes = 24;
    let written = |contender: &str, compressible: &str| {
        let settings = format!("dd_size=0 size={megabytes}M compressible={compressible}");
        spec(contender, &[("bigfile", &settings)], Bytes::from_mib(256))
    };
    let specs = [
        written("btrfs:compression=zstd", "0"),
        written("btrfs:compression=zstd", "0.75"),
        written("btrfs", "0.75"),
    ];
    // The phases `write` and `read-write` write that much each.
    let all = f64::from(2 * megabytes) * 1048576.0;
    let shares: Vec<f64> = carry_out_all(lab, &specs)
        .iter()
        .map(|seen| {
            assert!(seen.outcome.is_done(), "{}", seen.outcome);
            seen.written() as f64 / all
        })
        .collect();
    println!("{shares:.3?}");
    assert!(shares[0] > 1.0 && shares[2] > 1.0, "random bytes stay as many: {shares:.3?}");
    assert!((0.25..0.4).contains(&shares[1]), "a quarter is random: {shares:.3?}");
}
