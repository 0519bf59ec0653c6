//! The workload `ffsb`, run for real with verification.

use workload::Inputs;

use crate::support::{Ran, run, run_with, scratch};

fn fresh(seed: u64, settings: &str) -> Ran {
    let target = scratch();
    let settings = format!("files=10 min_size=2M max_size=2M threads=4 {settings}");
    let ran = run("ffsb", target.path(), &Inputs::default(), seed, &settings);
    assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

pub(crate) fn profiles_count_ops_and_calls_for_blocks() {
    for direct in ["on", "off"] {
        for (profile, calls, bytes) in
            [("read", 1, 4096), ("write", 1, 4096), ("mixed", 1, 4096), ("huge", 256, 1 << 20)]
        {
            let settings = format!("profile={profile} ops=20 direct={direct}");
            let ran = fresh(1, &settings);
            assert_eq!(ran.phase("create").write_bytes.0, 20 << 20);
            let result = ran.phase("run");
            if !ran.completed("run") {
                // A filesystem in memory of an old kernel has no direct I/O, and says so.
                assert_eq!(direct, "on", "{:?}", result.status);
                continue;
            }
            assert_eq!(result.ops, 80, "{settings}");
            assert_eq!(result.figures["transactions"], 80.0 * f64::from(calls), "{settings}");
            assert_eq!(result.read_bytes.0 + result.write_bytes.0, 80 * bytes, "{settings}");
        }
    }
}

pub(crate) fn a_seed_and_a_number_of_ops_are_a_sequence() {
    let digest = |seed: u64| fresh(seed, "profile=mixed ops=50 direct=off").phase("run").digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

pub(crate) fn every_kind_of_op_by_weights_leaves_the_files_it_should() {
    let settings = "weights=read=2,readall=1,write=2,create=2,append=1,delete=2,meta=1 ops=60 \
                    direct=off op_size=10000 block=3000 min_size=1000 max_size=50000";
    let ran = fresh(3, settings);
    let result = ran.phase("run");
    assert_eq!(result.latencies.len(), 7, "{:?}", result.latencies.keys());
    let timed = fresh(1, "direct=off time=30ms profile=read");
    assert!(timed.phase("run").wall.0 >= 30_000_000 && timed.phase("run").ops > 0);
}

pub(crate) fn a_run_whose_files_are_all_gone_ends_at_its_time() {
    let result = fresh(1, "weights=delete=1,read=4 direct=off time=30ms min_size=4K max_size=4K");
    assert_eq!(result.phase("run").latencies["delete"].count(), 10);
}

pub(crate) fn groups_of_ones_own_profile_do_each_their_part() {
    let target = scratch();
    let profile = "[[group]]\nthreads = 2\nweights = { read = 1 }\n[[group]]\nthreads = 3\n\
                   weights = { write = 1 }\nfsync = true\ndelay = \"2ms\"\n";
    let mut settings = vec![("profile", profile), ("ops", "7"), ("direct", "off")];
    settings.extend([("files", "4"), ("min_size", "1M"), ("max_size", "1M")]);
    let ran = run_with("ffsb", target.path(), &Inputs::default(), 1, &settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let result = ran.phase("run");
    assert_eq!(result.latencies["read"].count(), 2 * 7);
    assert_eq!(result.latencies["write"].count(), 3 * 7);
    assert!(result.wall.0 >= 7 * 2_000_000, "each write is followed by 2 ms of waiting");
}

pub(crate) fn settings_that_make_no_sense_are_refused() {
    let message = |settings: &str| {
        let target = scratch();
        let ran = run("ffsb", target.path(), &Inputs::default(), 1, settings);
        ran.ended.unwrap_err().to_string()
    };
    assert!(message("weights=walk=1").contains("`walk=1` is not KIND=NUMBER"));
    assert!(message("min_size=1000 max_size=2000").contains("direct=off"));
    assert!(message("keep=on age=0.5").contains("keep=off"));
    assert!(message("block=2M op_size=1M").contains("smaller than a block"));
}

pub(crate) fn files_that_are_kept_are_the_next_ones() {
    let target = scratch();
    let next = |settings: &str| {
        let settings =
            format!("files=10 min_size=256K max_size=256K threads=2 direct=off ops=20 {settings}");
        let ran = run("ffsb", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        ran
    };
    // Some are made and some go: whatever is there then is what the next one finds.
    let first = next("weights=create=1,delete=1 keep=on");
    assert!(first.completed("create"));
    let left: usize = std::fs::read_dir(target.path().join("ffsb"))
        .unwrap()
        .map(|directory| std::fs::read_dir(directory.unwrap().path()).unwrap().count())
        .sum();
    assert!(left > 0);
    let second = next("profile=read keep=on");
    assert!(!second.completed("create") && second.completed("run"));
    assert_eq!(second.phase("run").ops, 40);
    let last = next("weights=delete=1");
    let deletes = &last.phase("run").latencies["delete"];
    assert_eq!(deletes.count() as usize, left.min(40));
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    // What does not fit is refused, and stays.
    next("profile=read keep=on");
    let other = "files=10 min_size=4K max_size=4K threads=2 ops=1";
    let refused = run("ffsb", target.path(), &Inputs::default(), 1, other);
    let message = refused.ended.unwrap_err().to_string();
    assert!(message.contains("have other sizes"), "{message}");
    let other = "files=10 directories=3 min_size=256K max_size=256K direct=off ops=1";
    let refused = run("ffsb", target.path(), &Inputs::default(), 1, other);
    let message = refused.ended.unwrap_err().to_string();
    assert!(message.contains("`files` and `directories`"), "{message}");
    assert!(target.path().join("ffsb").exists());
}

pub(crate) fn the_ops_begin_cold_where_that_is_asked_for() {
    for (settings, expected) in [("", false), ("cold=on", true)] {
        let target = scratch();
        let settings = format!("files=4 min_size=64K max_size=64K ops=5 {settings}");
        let ran = run("ffsb", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        let cold = |phase: &str| matches!(ran.phase(phase).cache, workload::Cache::Cold { .. });
        assert_eq!((cold("create"), cold("run")), (false, expected), "{settings}");
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    }
}
