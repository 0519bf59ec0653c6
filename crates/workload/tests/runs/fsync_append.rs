//! The workload `fsync-append`, run for real with verification.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;

use workload::{InputFacts, Inputs, PhaseEvent, PhaseResult, PhaseStatus};

use crate::support::{corpus, run, scratch};
use crate::watching::{opens, planned, refused, room, watched};

pub(crate) fn every_record_is_there_however_it_was_made_durable() {
    for sync in ["fsync", "fdatasync", "dsync", "none"] {
        for room in ["none", "fallocate", "zeros"] {
            let target = scratch();
            let settings =
                format!("records=70 record=500 segment=10000 writers=2 sync={sync} room={room}");
            let ran = run("fsync-append", target.path(), &Inputs::default(), 1, &settings);
            assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
            let append = ran.phase("append");
            assert_eq!(append.status, PhaseStatus::Completed, "{settings}");
            assert_eq!((append.ops, append.write_bytes.0), (140, 70_000), "{settings}");
            // 35,000 bytes of each writer in segments of 10,000.
            assert_eq!(append.latencies["segment"].count(), 8);
            assert_eq!(append.latencies.contains_key("write"), sync != "dsync");
            assert_eq!(ran.completed("prepare"), room != "none");
            assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        }
    }
}

pub(crate) fn a_segment_holds_whole_records() {
    let message = refused("fsync-append", "record=3000").unwrap();
    assert_eq!(
        message,
        "segment=16 MiB (16777216 bytes) is not a multiple of record=2.93 KiB (3000 bytes)"
    );
}

pub(crate) fn room_is_reserved_or_written_as_it_was_asked_for() {
    for (reserved, wrote, probed) in [("fallocate", 0, true), ("zeros", 80_000, false)] {
        let target = scratch();
        let logs = target.path().join("fsync-append");
        let seen = RefCell::new(0);
        let look = |event: &PhaseEvent| match event {
            PhaseEvent::Started { phase, .. } if phase == "prepare" => {
                // Whether blocks can be reserved is tried out before the clock starts.
                assert_eq!(logs.join("probe").exists(), probed, "{reserved}");
                *seen.borrow_mut() += 1;
            }
            PhaseEvent::Finished(result) if result.phase == "prepare" => {
                // 35,000 bytes of each of two writers in segments of 10,000.
                assert_eq!((result.ops, result.write_bytes.0), (8, wrote), "{reserved}");
                for segment in 0..8 {
                    let (writer, segment) = (segment / 4, segment % 4);
                    let bytes = fs::read(logs.join(format!("{writer}/{segment:08}"))).unwrap();
                    assert!(bytes == [0; 10_000], "{reserved}: segment {segment}");
                    *seen.borrow_mut() += 1;
                }
            }
            _ => {}
        };
        let settings = format!("records=70 record=500 segment=10000 writers=2 room={reserved}");
        let inputs = Inputs::default();
        watched("fsync-append", target.path(), &inputs, &settings, true, &look).unwrap();
        assert_eq!(seen.into_inner(), 9, "{reserved}");
    }
}

pub(crate) fn the_ops_announced_are_those_of_all_writers() {
    let target = scratch();
    let settings = "records=70 record=500 segment=10000 writers=2 room=zeros sync=none";
    let planned = planned("fsync-append", target.path(), settings);
    assert_eq!(planned, [("prepare".to_owned(), 8), ("append".to_owned(), 140)]);
}

pub(crate) fn a_log_holds_each_record_once_and_in_order() {
    for (reserved, end) in [("none", 35_000), ("zeros", 40_000)] {
        let target = scratch();
        let seen = RefCell::new(Vec::new());
        let look = |event: &PhaseEvent| {
            let PhaseEvent::Finished(result) = event else { return };
            if result.phase != "append" {
                return;
            }
            for writer in 0..2 {
                let log = target.path().join(format!("fsync-append/{writer}"));
                let segments = (0..4).map(|segment| log.join(format!("{segment:08}")));
                let bytes: Vec<u8> = segments.flat_map(|path| fs::read(path).unwrap()).collect();
                seen.borrow_mut().push(bytes);
            }
        };
        let settings = format!("records=70 record=500 segment=10000 writers=2 room={reserved}");
        let inputs = Inputs::default();
        watched("fsync-append", target.path(), &inputs, &settings, false, &look).unwrap();
        let logs = seen.into_inner();
        assert_eq!(logs.len(), 2);
        for log in &logs {
            assert_eq!(log.len(), end, "{reserved}");
            let (records, rest) = log.split_at(35_000);
            assert!(rest.iter().all(|byte| *byte == 0));
            for (number, record) in records.chunks(500).enumerate() {
                assert_eq!(record[..8], (number as u64).to_le_bytes(), "{reserved}");
                assert_eq!(record[8..], records[8..500], "{reserved}");
            }
            let values: HashSet<u8> = records[8..500].iter().copied().collect();
            assert!(values.len() > 150, "random bytes: {} values", values.len());
        }
        assert_ne!(logs[0], logs[1], "each writer has its own contents");
    }
}

pub(crate) fn a_record_has_at_most_64_mib_and_a_segment_at_least_one_record() {
    let refused = |settings: &str| refused("fsync-append", settings);
    let said = |what: &str, range: &str| {
        Some(format!("fsync-append: {what}: a size from {range} is expected"))
    };
    assert_eq!(refused("record=65M segment=130M"), said("record=65M", "1 to 64M"));
    assert_eq!(refused("record=500 segment=0"), said("segment=0", "1 to 1T"));
    assert_eq!(refused("record=0 segment=500"), said("record=0", "1 to 64M"));
    let segment = refused("record=500 segment=1K").unwrap();
    assert_eq!(segment, "segment=1 KiB (1024 bytes) is not a multiple of record=500 B (500 bytes)");
    assert_eq!(refused("record=64M segment=128M"), None);
}

pub(crate) fn what_another_left_under_the_name_of_its_directory_stays() {
    let target = scratch();
    let theirs = target.path().join("fsync-append/kept");
    fs::create_dir(target.path().join("fsync-append")).unwrap();
    fs::write(&theirs, "precious").unwrap();
    let ran = run("fsync-append", target.path(), &Inputs::default(), 1, "records=2 writers=1");
    let left_out = |phase: &PhaseResult| matches!(phase.status, PhaseStatus::Skipped { .. });
    assert!(ran.phases.len() > 1 && ran.phases.iter().all(left_out), "{:?}", ran.phases);
    assert!(ran.ended.unwrap_err().to_string().contains("File exists"));
    assert_eq!(fs::read(&theirs).unwrap(), b"precious");
}

pub(crate) fn whole_segments_of_all_writers_need_room() {
    let settings = "records=7 record=1000 segment=3000 writers=2";
    // 7000 bytes take three segments; each writer has a directory, in one of all.
    let expected = (2 * 3 * 3_000, 2 * (3 + 1) + 1);
    assert_eq!(room("fsync-append", settings, &InputFacts::default()), expected);
}

pub(crate) fn segments_are_made_or_found_and_the_name_of_a_new_one_is_made_durable() {
    let home = tempfile::tempdir().unwrap();
    let pack = corpus(home.path());
    let seen = |settings: &str| -> Vec<(String, String)> {
        let target = scratch();
        let settings = format!("records=3 record=500 segment=1000 sync=fdatasync {settings}");
        opens("fsync-append", target.path(), pack.path(), &settings)
            .into_iter()
            .filter(|(path, _)| path.starts_with("fsync-append/"))
            // Only removing the logs at the end opens them in this way.
            .filter(|(_, flags)| !flags.contains("O_NOFOLLOW"))
            .collect()
    };
    let listed = |opens: &[(&str, &str)]| -> Vec<(String, String)> {
        opens.iter().map(|(path, flags)| ((*path).to_owned(), (*flags).to_owned())).collect()
    };
    let (first, second) = ("fsync-append/0/00000000", "fsync-append/0/00000001");
    let made = "O_CLOEXEC|O_CREAT|O_EXCL|O_WRONLY";
    let directory = ("fsync-append/0", "O_CLOEXEC|O_DIRECTORY|O_RDONLY");
    let expected = listed(&[(first, made), directory, (second, made), directory]);
    assert_eq!(seen("room=none"), expected);
    let found = "O_CLOEXEC|O_WRONLY";
    let expected = listed(&[(first, made), (second, made), (first, found), (second, found)]);
    assert_eq!(seen("room=zeros"), expected);
}
