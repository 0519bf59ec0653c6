//! The workload `scale`, run for real with verification.

use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};

#[test]
fn every_thread_makes_looks_at_and_removes_its_entries() {
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
