//! The workload `upkeep` where the filesystem is not its own. On filesystems of their own it is
//! run by the tests of the lab and of the testbed `device`.

use workload::{Inputs, PhaseStatus};

use crate::support::{run, scratch};

pub(crate) fn on_a_filesystem_of_others_nothing_is_touched_and_each_phase_says_why() {
    let target = scratch();
    std::fs::write(target.path().join("mine"), "mine").unwrap();
    let ran = run("upkeep", target.path(), &Inputs::default(), 1, "size=64T");
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    let description = workload::find("upkeep").unwrap().describe();
    assert_eq!(ran.phases.len(), description.phases.len());
    for phase in &ran.phases {
        let PhaseStatus::Skipped { reason } = &phase.status else { panic!("{phase:?}") };
        assert_eq!(reason, "the filesystem is not the trial's own", "{}", phase.phase);
    }
    let names: Vec<_> =
        std::fs::read_dir(target.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mine"]);
}

pub(crate) fn a_filesystem_much_larger_than_was_meant_is_not_filled() {
    let target = scratch();
    let ran = run("upkeep", target.path(), &Inputs::default(), 1, "size=64K");
    let error = ran.ended.unwrap_err().to_string();
    assert!(error.contains("size=") && error.contains("to fill all of it"), "{error}");
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}
