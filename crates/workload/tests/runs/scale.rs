//! The workload `scale`, run for real with verification.

use std::cell::{Cell, RefCell};
use std::fs;
use std::thread;

use workload::{InputFacts, Inputs, NotComparable, PhaseEvent, PhaseResult, PhaseStatus};

use crate::support::{run, scratch};
use crate::watching::{planned, refused, room, watched};

pub(crate) fn every_thread_makes_looks_at_and_removes_its_entries() {
    let digests = |settings: &str| -> Vec<u64> {
        let target = scratch();
        let ran = run("scale", target.path(), &Inputs::default(), 1, settings);
        assert!(ran.ended.is_ok(), "{settings}: {:?}", ran.ended);
        assert_eq!(ran.phases.len(), 14);
        for phase in &ran.phases {
            assert_eq!(
                (&phase.status, phase.ops),
                (&PhaseStatus::Completed, 300),
                "{}",
                phase.phase
            );
            // A rate is what gives the ops again when it lasts as long as the phase.
            let again = phase.figures["ops_per_sec"] * phase.wall.as_secs_f64();
            assert!((again - 300.0).abs() < 1e-6, "{}: {again}", phase.phase);
        }
        assert_eq!(ran.phase("read-own").read_bytes.0, 300 * 700);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
        ran.phases.iter().map(|phase| phase.digest).collect()
    };
    let settings = "threads=3 entries=100 bytes=700";
    let own = digests(settings);
    assert_eq!(own, digests(settings));
    let neighbours = digests(&format!("{settings} neighbour=1"));
    assert_eq!(own[0], neighbours[0], "entries are made by the same threads");
    assert_ne!(own[1], neighbours[1], "and looked at by others");
}

pub(crate) fn entries_take_whole_blocks_and_directories_count_as_inodes() {
    let needs = |settings: &str| room("scale", settings, &InputFacts::default());
    // 15 files of two blocks; 15 entries, a directory for each thread, the shared one and the one
    // around them.
    assert_eq!(needs("threads=3 entries=5 bytes=5000"), (15 * 8_192, 20));
    // An empty one may be a directory, which takes a block.
    assert_eq!(needs("threads=3 entries=5"), (15 * 4_096, 20));
}

pub(crate) fn each_phase_announces_the_entries_of_all_threads() {
    let target = scratch();
    let planned = planned("scale", target.path(), "threads=3 entries=5");
    assert_eq!(planned.len(), 14);
    assert!(planned.iter().all(|(_, ops)| *ops == 15), "{planned:?}");
}

pub(crate) fn a_file_has_at_most_64_mib() {
    assert_eq!(refused("scale", "bytes=64M"), None);
    let said = "scale: bytes=67108865: a size from 0 to 64M is expected";
    assert_eq!(refused("scale", "bytes=67108865").as_deref(), Some(said));
}

pub(crate) fn what_was_there_before_is_not_removed() {
    let target = scratch();
    let file = target.path().join("scale/mine");
    fs::create_dir(target.path().join("scale")).unwrap();
    fs::write(&file, "mine").unwrap();
    let ran = run("scale", target.path(), &Inputs::default(), 1, "threads=1 entries=1");
    let message = ran.ended.unwrap_err().to_string();
    assert_eq!(message, "phase before the first: mkdir scale: File exists (os error 17)");
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    let skipped = |phase: &PhaseResult| matches!(phase.status, PhaseStatus::Skipped { .. });
    assert_eq!(ran.phases.iter().filter(|phase| skipped(phase)).count(), 14);
}

pub(crate) fn more_threads_than_processors_are_noted() {
    let processors = thread::available_parallelism().map_or(1, |count| count.get());
    let threads = processors + 1;
    let note = format!("{threads} threads on {processors} processors: contention is hidden");
    for (threads, expected) in [(processors, Vec::new()), (threads, vec![note])] {
        let target = scratch();
        let settings = format!("threads={threads} entries=1");
        let ran = run("scale", target.path(), &Inputs::default(), 1, &settings);
        assert!(ran.ended.is_ok(), "{:?}", ran.ended);
        assert_eq!(ran.phases.len(), 14);
        for phase in &ran.phases {
            assert_eq!(phase.notes, expected, "{}", phase.phase);
        }
    }
}

pub(crate) fn what_a_failed_phase_left_is_not_met_by_the_next_ones() {
    let target = scratch();
    let obstacle = target.path().join("scale/shared/dir.mdtest.0.1");
    let (placed, results) = (Cell::new(false), RefCell::new(Vec::<PhaseResult>::new()));
    let look = |event: &PhaseEvent| match event {
        PhaseEvent::Started { phase, .. } if phase == "mkdir-shared" => {
            placed.set(fs::create_dir(&obstacle).is_ok());
        }
        PhaseEvent::Finished(result) => results.borrow_mut().push((**result).clone()),
        _ => {}
    };
    let (inputs, settings) = (Inputs::default(), "threads=1 entries=3");
    let ended = watched("scale", target.path(), &inputs, settings, true, &look);
    assert!(placed.get());
    // Verification would count what is left of the directories among the files.
    let message = ended.unwrap_err().to_string();
    let expected = "phase mkdir-shared: mkdir scale/shared/dir.mdtest.0.1: File exists";
    assert!(message.starts_with(expected), "{message}");
    let results = results.into_inner();
    assert_eq!(results.len(), 14);
    for result in &results {
        match result.phase.as_str() {
            "mkdir-shared" => assert!(matches!(result.status, PhaseStatus::Failed { .. })),
            "dirstat-shared" | "rmdir-shared" => {
                let reason = "an earlier phase on the same entries failed".to_owned();
                assert_eq!(result.status, PhaseStatus::Skipped { reason });
            }
            phase => {
                assert_eq!((&result.status, result.ops), (&PhaseStatus::Completed, 3), "{phase}");
                let after = NotComparable::AfterPhase { phase: "mkdir-shared".to_owned() };
                assert_eq!(result.not_comparable, Some(after));
            }
        }
    }
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
}
