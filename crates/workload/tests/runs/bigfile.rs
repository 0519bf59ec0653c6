//! The workload `bigfile`, run for real with verification.

use workload::{Cache, InputFacts, Inputs, PhaseStatus};

use crate::support::{run, scratch};
use crate::watching::{planned, room};

pub(crate) fn every_stream_moves_every_byte() {
    let digests = |settings: &str| -> Vec<u64> {
        let target = tempfile::tempdir().unwrap();
        let ran = run("bigfile", target.path(), &Inputs::default(), 1, settings);
        assert!(ran.ended.is_ok(), "{:?}", ran.ended);
        for (phase, ops, read, wrote) in [
            ("dd", 5, 0, 5_000_000),
            ("write", 23, 0, 3_000_001),
            ("read", 23, 3_000_001, 0),
            ("read-write", 46, 3_000_001, 3_000_001),
            ("delete", 1, 0, 0),
        ] {
            let result = ran.phase(phase);
            let found = (result.ops, result.read_bytes.0, result.write_bytes.0);
            assert_eq!(found, (ops, read, wrote), "{phase}");
        }
        assert!(matches!(ran.phase("read").cache, Cache::Cold { .. }));
        let both = ran.phase("read-write");
        assert!(both.figures["read_mib_per_s"] > 0.0 && both.figures["write_mib_per_s"] > 0.0);
        assert_eq!(both.latencies["fsync"].count(), 1);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        ran.phases.iter().map(|phase| phase.digest).collect()
    };
    let settings = "dd_size=5000000 size=3000001 block=128K";
    assert_eq!(digests(settings), digests(settings));
}

pub(crate) fn parts_can_be_left_out_and_the_file_of_zeros_kept() {
    let target = tempfile::tempdir().unwrap();
    let ran = run("bigfile", target.path(), &Inputs::default(), 1, "dd_size=2M size=0 keep=on");
    assert!(ran.ended.is_ok());
    assert!(ran.completed("dd") && !ran.completed("write"));
    assert_eq!(std::fs::metadata(target.path().join("bigfile")).unwrap().len(), 2 << 20);

    let ran = run("bigfile", target.path(), &Inputs::default(), 1, "dd_size=0 size=1M");
    assert!(matches!(ran.phase("dd").status, PhaseStatus::Skipped { .. }));
    assert!(ran.completed("read-write"));
}

pub(crate) fn the_file_of_zeros_is_waited_for_where_that_is_asked_for() {
    for (settings, expected) in [("", 0), ("dd_fsync=on", 1)] {
        let target = tempfile::tempdir().unwrap();
        let settings = format!("dd_size=2M size=0 {settings}");
        let ran = run("bigfile", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        let fsyncs = ran.phase("dd").latencies.get("fsync").map_or(0, |l| l.count());
        assert_eq!(fsyncs, expected, "{settings}");
    }
}

pub(crate) fn a_stream_is_rated_over_its_own_time() {
    let target = scratch();
    let settings = "dd_size=0 size=100000 block=4K";
    let ran = run("bigfile", target.path(), &Inputs::default(), 1, settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    for (phase, names) in [
        ("write", &["write_mib_per_s"][..]),
        ("read", &["read_mib_per_s"][..]),
        ("read-write", &["read_mib_per_s", "write_mib_per_s"][..]),
        ("delete", &["delete_mib_per_s"][..]),
    ] {
        let result = ran.phase(phase);
        assert!(result.figures.keys().eq(names), "{phase}: {:?}", result.figures);
        for (name, rate) in &result.figures {
            // A stream lasts no longer than its phase, so it is not slower.
            let moved = rate * result.wall.as_secs_f64() * 1_048_576.0;
            assert!(moved > 99_999.9, "{phase}: {name} is {rate} in {:?}", result.wall);
        }
    }
}

pub(crate) fn the_ops_announced_are_those_of_both_streams() {
    let target = scratch();
    // 100,000 bytes are 24 blocks of 4 KiB and a bit.
    let planned = planned("bigfile", target.path(), "dd_size=3M size=100000 block=4K");
    let expected = [("dd", 3), ("write", 25), ("read", 25), ("read-write", 50), ("delete", 1)];
    assert_eq!(planned, expected.map(|(phase, ops)| (phase.to_owned(), ops)));
}

pub(crate) fn all_three_files_need_room() {
    let needed = room("bigfile", "dd_size=5M size=3M", &InputFacts::default());
    assert_eq!(needed, (11 << 20, 3));
}
