//! Filebench's personalities, run for real with verification.

use workload::Inputs;

use crate::support::{Ran, run, scratch};

fn fresh(name: &str, seed: u64, settings: &str) -> Ran {
    let target = scratch();
    let ran = run(name, target.path(), &Inputs::default(), seed, settings);
    assert!(ran.ended.is_ok(), "{name} {settings}: {:?}", ran.ended);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

#[test]
fn each_personality_goes_through_its_list() {
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

#[test]
fn a_set_without_free_files_leaves_ops_out_and_says_so() {
    let ran = fresh("varmail", 1, "files=2 preallocated=0 threads=4 loops=5");
    let notes = &ran.phase("run").notes;
    assert!(notes.iter().any(|note| note.contains("were left out")), "{notes:?}");
    let timed = fresh("webserver", 1, "files=20 threads=2 time=20ms");
    assert!(timed.phase("run").ops > 0 && timed.phase("run").wall.0 >= 20_000_000);
}
