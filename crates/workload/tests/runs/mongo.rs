//! The workload `mongo`, run for real with verification.

use workload::Inputs;

use crate::support::{run, scratch};
use crate::watching::{event, traced};

pub(crate) fn every_phase_touches_every_file_of_its_trees() {
    let counts = |seed: u64, settings: &str| -> Vec<(String, u64, u64)> {
        let target = scratch();
        let ran = run("mongo", target.path(), &Inputs::default(), seed, settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        let latencies = &ran.phase("create").latencies;
        assert_eq!(latencies["create"].count() + latencies["mkdir"].count(), ran.phase("copy").ops);
        assert_eq!(ran.phase("copy").write_bytes, ran.phase("create").write_bytes);
        ran.phases.iter().map(|phase| (phase.phase.clone(), phase.ops, phase.digest)).collect()
    };
    let settings = "files=300 median=1000 repetitions=2";
    let one = counts(1, settings);
    let ops = |phase: &str| one.iter().find(|(name, ..)| name == phase).unwrap().1;
    // Two repetitions of two trees; each of two passes reads all.
    assert_eq!((ops("symlinks"), ops("rename"), ops("read")), (600, 600, 2400));
    let directories = ops("create") - 600;
    assert!(directories >= 2);
    assert_eq!(ops("copy"), ops("create"));
    // Links and the common directory are looked at too.
    assert_eq!(ops("stats"), 2 * (2 * ops("create") + 600 + 1));
    assert_eq!(ops("delete"), 2 * ops("create") + 600);
    assert_eq!(one, counts(2, settings), "the original's seed is fixed");
    let parallel = counts(1, "files=100 median=100 repetitions=1 processes=3");
    assert_eq!(parallel.iter().find(|(name, ..)| name == "read").unwrap().1, 3 * 600);
}

pub(crate) fn fragments_are_counted_where_the_filesystem_tells() {
    // The directory for temporary files may lie on one that does not.
    let target = tempfile::tempdir().unwrap();
    let settings = "files=30 median=20000 repetitions=1";
    let ran = run("mongo", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    for phase in ["create", "copy"] {
        let result = ran.phase(phase);
        let told = result.figures.get("fragments_per_file");
        let refused = result.notes.iter().any(|note| note.contains("where files lie"));
        assert!(refused != told.is_some(), "{phase}: either a figure or a reason");
        assert!(told.is_none_or(|mean| *mean >= 1.0), "{told:?}");
    }
}

pub(crate) fn the_ops_planned_are_those_of_the_trees_and_no_file_is_left_to_a_child() {
    let settings = "files=2 median=100 repetitions=3 processes=2";
    let (events, calls) = traced("trace=openat", "mongo", settings);
    // Six trees of a directory and two files, twice; each of six passes reads all 24 files, and
    // looks at 49 entries: those of twelve trees, twelve links, and the directory of the trees.
    for (phase, planned) in [
        ("create", 18),
        ("copy", 18),
        ("symlinks", 12),
        ("read", 144),
        ("stats", 294),
        ("rename", 12),
        ("delete", 48),
    ] {
        assert_eq!(event(&events, "started", phase)["ops_planned"], planned, "{phase}");
        assert_eq!(event(&events, "finished", phase)["ops"], planned, "{phase}");
    }
    let opened: Vec<&String> = calls.iter().filter(|call| call.contains("\"mongo/")).collect();
    // Created, copied, read in six passes.
    assert!(opened.len() >= 12 + 2 * 12 + 144, "{}", opened.len());
    assert!(opened.iter().all(|call| call.contains("O_CLOEXEC")), "{opened:#?}");
}
