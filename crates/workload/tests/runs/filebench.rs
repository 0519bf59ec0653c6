//! Filebench's personalities, run for real with verification.

use workload::Inputs;

use crate::support::{Ran, run, scratch};
use crate::watching::{planned, refused};

fn fresh(name: &str, seed: u64, settings: &str) -> Ran {
    let target = scratch();
    let ran = run(name, target.path(), &Inputs::default(), seed, settings);
    assert!(ran.ended.is_ok(), "{name} {settings}: {:?}", ran.ended);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

pub(crate) fn each_personality_goes_through_its_list() {
    // Personality, ops of one list, and how often some occur in it.
    for (name, ops, some) in [
        ("varmail", 13, [("fsync", 2), ("append", 2), ("read", 2), ("delete", 1)]),
        ("fileserver", 11, [("write", 1), ("append", 1), ("read", 1), ("stat", 1)]),
        ("webserver", 31, [("open", 10), ("read", 10), ("close", 10), ("log", 1)]),
    ] {
        let settings = "files=200 mean_size=2000 threads=3 loops=20";
        let ran = fresh(name, 1, settings);
        let result = ran.phase("run");
        assert_eq!(result.ops, 3 * 20 * ops, "{name}: {:?}", result.notes);
        assert_eq!(result.figures["lists"], 60.0);
        for (op, times) in some {
            assert_eq!(result.latencies[op].count(), 60 * times, "{name} {op}");
        }
        let digest = |seed| fresh(name, seed, settings).phase("run").digest;
        assert_eq!(digest(1), result.digest, "{name}");
        assert_ne!(digest(2), result.digest, "{name}");
    }
}

pub(crate) fn a_set_without_free_files_leaves_ops_out_and_says_so() {
    let ran = fresh("varmail", 1, "files=2 preallocated=0 threads=4 loops=5");
    let notes = &ran.phase("run").notes;
    assert!(notes.iter().any(|note| note.contains("were left out")), "{notes:?}");
    let timed = fresh("webserver", 1, "files=20 threads=2 time=20ms");
    assert!(timed.phase("run").ops > 0 && timed.phase("run").wall.0 >= 20_000_000);
}

pub(crate) fn an_append_is_at_most_one_write() {
    let ran = |append: u64| {
        let target = scratch();
        let settings =
            format!("files=4 mean_size=100 io_size=100 append_size={append} threads=1 loops=1");
        run("varmail", target.path(), &Inputs::default(), 1, &settings)
    };
    let equal = ran(100);
    assert!(equal.ended.is_ok(), "{:?}", equal.ended);
    let said = refused("varmail", "io_size=100 append_size=101").unwrap();
    assert_eq!(said, "append_size=101 B is above io_size=100 B");
}

pub(crate) fn the_ops_planned_are_those_of_all_rounds_of_all_threads() {
    let target = scratch();
    let settings = "files=10 mean_size=100 preallocated=1 threads=2 loops=3";
    // A list of varmail has 13 ops; 2 * 3 * 13.
    let expected = [("create".to_owned(), 10_u64), ("run".to_owned(), 78)];
    assert_eq!(planned("varmail", target.path(), settings), expected);
}

pub(crate) fn whole_files_are_read_through_a_buffer_of_at_most_64_mib() {
    assert_eq!(refused("varmail", "io_size=64M"), None);
    for size in ["0", "67108865"] {
        let said = format!("varmail: io_size={size}: a size from 1 to 64M is expected");
        assert_eq!(refused("varmail", &format!("io_size={size}")), Some(said));
    }
    let said = "append_size=16 KiB is above io_size=4 KiB".to_owned();
    assert_eq!(refused("varmail", "io_size=4K"), Some(said));
}
