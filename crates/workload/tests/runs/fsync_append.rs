//! The workload `fsync-append`, run for real with verification.

use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};

#[test]
fn every_record_is_there_however_it_was_made_durable() {
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

#[test]
fn a_segment_holds_whole_records() {
    let target = scratch();
    let ran = run("fsync-append", target.path(), &Inputs::default(), 1, "record=3000");
    let message = ran.ended.unwrap_err().to_string();
    assert!(message.contains("not a multiple of record=3000"), "{message}");
}
