//! The upkeep of a filesystem, step by step, with a host that only notes what it is asked to do.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use units::{DeviceNumber, Nanos};

use super::files::tests::{holding, parameters, scratch};
use super::*;
use crate::{Host, Inputs, PhaseEvent, PhaseStatus, Seed};

/// How an operation ends, and what it does to the files, after these others.
type Does<'a> = &'a dyn Fn(&Care, &[Care]) -> Result<(), Uncared>;

/// A host that does nothing to the filesystem itself, and notes all it is asked for and told.
pub(super) struct Keeper<'a> {
    pub(super) does: Does<'a>,
    /// Called with the name of each phase with a clock of its own before that starts.
    pub(super) starts: &'a dyn Fn(&str),
    pub(super) asked: RefCell<Vec<Care>>,
    pub(super) planned: RefCell<Vec<(String, u64)>>,
    pub(super) results: RefCell<Vec<PhaseResult>>,
}

fn all_is_done(_: &Care, _: &[Care]) -> Result<(), Uncared> {
    Ok(())
}

fn nothing_more(_: &str) {}

/// One that does everything.
pub(super) fn keeper() -> Keeper<'static> {
    Keeper {
        does: &all_is_done,
        starts: &nothing_more,
        asked: RefCell::default(),
        planned: RefCell::default(),
        results: RefCell::default(),
    }
}

impl Keeper<'_> {
    pub(super) fn result(&self, phase: &str) -> PhaseResult {
        let results = self.results.borrow();
        let found = results.iter().find(|result| result.phase == phase);
        found.expect("the phase was reported").clone()
    }

    /// Why a phase is missing.
    fn missing(&self, phase: &str) -> String {
        match self.result(phase).status {
            PhaseStatus::Skipped { reason } => reason,
            other => panic!("{phase}: {other:?}"),
        }
    }

    pub(super) fn completed(&self, phase: &str) -> bool {
        self.result(phase).status == PhaseStatus::Completed
    }
}

impl Host for Keeper<'_> {
    fn make_cold(&self) -> Cache {
        Cache::Warm { why: "not for tests".to_owned() }
    }

    fn check_target(&self) -> Result<(), String> {
        Ok(())
    }

    fn devices(&self) -> Vec<DeviceNumber> {
        Vec::new()
    }

    fn care(&self, what: &Care) -> Result<Nanos, Uncared> {
        let before = self.asked.borrow().clone();
        self.asked.borrow_mut().push(what.clone());
        (self.does)(what, &before).map(|()| Nanos::from_millis(3))
    }

    fn emit(&self, event: PhaseEvent) {
        match event {
            PhaseEvent::Started { phase, ops_planned, .. } => {
                (self.starts)(&phase);
                self.planned.borrow_mut().push((phase, ops_planned));
            }
            PhaseEvent::Finished(result) => self.results.borrow_mut().push(*result),
            PhaseEvent::Progress { .. } => {}
        }
    }
}

pub(super) fn context<'h>(
    host: &'h Keeper<'_>,
    inputs: &'h Inputs,
    home: &Path,
    settings: &str,
) -> Context<'h> {
    let parameters = parameters(settings);
    Context::new(host, &DESCRIPTION, home.to_owned(), parameters, inputs, Seed(1), true)
}

#[test]
fn the_room_is_the_size_and_its_files_of_mean_size() {
    // 16 files of 64 KiB are 1 MiB.
    let given = parameters("size=1M file_size=64K");
    let expected = Space { bytes: Bytes(1_048_576), inodes: 16 };
    assert_eq!(Upkeep.space(&given, &InputFacts::default()), expected);
}

#[test]
fn it_wants_a_filesystem_of_its_own() {
    let why = "it makes, unmounts and damages the filesystem that it measures";
    assert_eq!(Upkeep.needs_own_filesystem(), Some(why));
}

#[test]
fn an_operation_within_a_phase_that_failed_is_a_failed_op() {
    assert!(done(Ok(Nanos::ZERO), "snapshot").is_ok());
    let failed = done(Err(Uncared::Failed("it broke".to_owned())), "snapshot").unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("snapshot", Path::new("upkeep")));
    assert_eq!(failed.source.to_string(), "it broke");
}

#[test]
fn an_operation_that_must_be_supported_is_a_failure_where_it_is_not() {
    assert!(needed(None).is_ok());
    let failed = needed(Some("it cannot".to_owned())).unwrap_err();
    assert!(matches!(&failed, Failure::Care(why) if why == "it cannot"), "{failed:?}");
}

#[test]
fn a_sync_that_fails_is_told() {
    let home = scratch();
    // A descriptor that only names the directory: the kernel syncs nothing by it.
    let named = rustix::fs::open(home.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    assert_eq!(sync(named.unwrap().as_fd()).unwrap_err().op, "syncfs");
}

#[test]
fn what_could_not_be_replaced_is_told_and_otherwise_nothing() {
    let told = |no_room| {
        let cache = Cache::Warm { why: String::new() };
        let mut result = PhaseResult::empty("upkeep", "change", cache);
        note_no_room(no_room, &mut result);
        (result.figures.get("no_room").copied(), result.notes)
    };
    assert_eq!(told(0), (None, Vec::<String>::new()));
    let note = "2 files could not be replaced: there was no room".to_owned();
    assert_eq!(told(2), (Some(2.0), vec![note]));
}

#[test]
fn as_many_files_are_replaced_as_asked_for() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 5);
    let (host, inputs) = (keeper(), Inputs::default());
    change(&mut context(&host, &inputs, home.path(), "changes=7"), &mut files).unwrap();
    assert_eq!(*host.planned.borrow(), [("change".to_owned(), 7)]);
    let result = host.result("change");
    assert_eq!((result.status, result.ops), (PhaseStatus::Completed, 7));
    assert!(result.figures.is_empty() && result.notes.is_empty(), "all of them did fit");
    assert_eq!(files.damaged(open_target(home.path()).unwrap().as_fd()), 0);
}

#[test]
fn a_file_that_could_not_be_replaced_is_counted() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 5);
    // There is no room for the first of them.
    symlink("/dev/full", home.path().join("upkeep/new")).unwrap();
    let (host, inputs) = (keeper(), Inputs::default());
    change(&mut context(&host, &inputs, home.path(), "changes=7"), &mut files).unwrap();
    let result = host.result("change");
    assert_eq!((result.ops, result.figures["no_room"]), (6, 1.0));
}

#[test]
fn files_are_replaced_outside_the_clocks_too() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 10);
    let (host, inputs) = (keeper(), Inputs::default());
    let context = context(&host, &inputs, home.path(), "changes=5");
    let replaced = change_outside(&context, &mut files).unwrap();
    assert_eq!(replaced.len(), 5);
    assert!(replaced.iter().all(|place| *place < 10), "{replaced:?}");
    assert!(host.results.borrow().is_empty());
}

#[test]
fn errors_of_filesystems_that_cannot_share_blocks_are_told_from_others() {
    let unsupported = |errno: Errno| clones_are_unsupported(&OpError::new("clone", "f", errno));
    for errno in [Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL, Errno::XDEV] {
        assert!(unsupported(errno), "{errno}");
    }
    for errno in [Errno::EXIST, Errno::NOSPC, Errno::IO] {
        assert!(!unsupported(errno), "{errno}");
    }
}

#[test]
fn without_files_none_is_copied() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 0);
    let (host, inputs) = (keeper(), Inputs::default());
    clone_files(&mut context(&host, &inputs, home.path(), ""), &mut files).unwrap();
    assert_eq!(host.missing("reflink-copy"), "there is no file to copy");
}

#[test]
fn where_files_cannot_share_blocks_copies_are_missing() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 2);
    // No filesystem shares blocks with a file of another one.
    let first = home.path().join("upkeep/00000/f0000000");
    fs::remove_file(&first).unwrap();
    symlink("/proc/version", &first).unwrap();
    let (host, inputs) = (keeper(), Inputs::default());
    clone_files(&mut context(&host, &inputs, home.path(), ""), &mut files).unwrap();
    assert_eq!(host.missing("reflink-copy"), "files cannot share blocks on it");
    assert!(!home.path().join("upkeep/copy-00000").exists());
}

#[test]
fn a_copy_that_fails_for_another_reason_is_a_failure() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 2);
    fs::write(home.path().join("upkeep/copy-00000"), "here before").unwrap();
    let (host, inputs) = (keeper(), Inputs::default());
    let failed =
        clone_files(&mut context(&host, &inputs, home.path(), ""), &mut files).unwrap_err();
    assert!(matches!(&failed, Failure::Op { error, .. } if error.op == "create"), "{failed:?}");
    assert!(host.results.borrow().is_empty());
}

#[test]
fn no_snapshot_is_tried_where_none_was_asked_for() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 2);
    let (host, inputs) = (keeper(), Inputs::default());
    snapshots(&mut context(&host, &inputs, home.path(), "snapshots=0"), &mut files).unwrap();
    for phase in ["snapshot", "snapshot-delete"] {
        assert_eq!(host.missing(phase), "none was asked for (snapshots=0)");
    }
    assert!(host.asked.borrow().is_empty());
}

const TWO_SNAPSHOTS: &str = "snapshots=2 changes_between=3";

#[test]
fn snapshots_are_taken_with_changes_between_and_removed_oldest_first() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 5);
    let (host, inputs) = (keeper(), Inputs::default());
    snapshots(&mut context(&host, &inputs, home.path(), TWO_SNAPSHOTS), &mut files).unwrap();
    let asked = [
        Care::TakeSnapshot(0),
        Care::TakeSnapshot(1),
        Care::TakeSnapshot(2),
        Care::RemoveSnapshot(0),
        Care::RemoveSnapshot(1),
        Care::RemoveSnapshot(2),
        Care::FreeSnapshots,
    ];
    assert_eq!(*host.asked.borrow(), asked);
    // Two snapshots and three replaced files after each.
    let planned = [("snapshot".to_owned(), 8), ("snapshot-delete".to_owned(), 2)];
    assert_eq!(*host.planned.borrow(), planned);
    let result = host.result("snapshot");
    assert_eq!((result.status, result.ops), (PhaseStatus::Completed, 8));
    assert!(result.figures.is_empty() && result.notes.is_empty(), "everything did fit");
    assert_eq!(host.result("snapshot-delete").ops, 2);
}

#[test]
fn files_that_did_not_fit_between_snapshots_are_counted() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 5);
    // There is no room for the first file after the first snapshot.
    symlink("/dev/full", home.path().join("upkeep/new")).unwrap();
    let (host, inputs) = (keeper(), Inputs::default());
    snapshots(&mut context(&host, &inputs, home.path(), TWO_SNAPSHOTS), &mut files).unwrap();
    let result = host.result("snapshot");
    assert_eq!((result.ops, result.figures["no_room"]), (7, 1.0));
}

#[test]
fn after_the_power_failed_what_was_synced_is_whole_and_the_rest_is_forgotten() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 10);
    let (host, inputs) = (keeper(), Inputs::default());
    mounts(&mut context(&host, &inputs, home.path(), "changes=1"), &mut files).unwrap();
    let asked = [Care::Unmount, Care::Mount, Care::LosePower, Care::Mount];
    assert_eq!(*host.asked.borrow(), asked);
    for phase in ["unmount", "mount", "mount-after-power-loss"] {
        assert!(host.completed(phase), "{phase}");
        assert_eq!(host.result(phase).wall, Nanos::from_millis(3), "{phase}");
    }
    assert!(host.result("mount-after-power-loss").notes.is_empty());
    // One was replaced after the clean unmount.
    assert_eq!(files.count(), 9);
}

#[test]
fn a_synced_file_that_is_lost_with_the_power_is_told() {
    let home = scratch();
    let mut files = holding(home.path(), 2048, 10);
    let lose_all = |what: &Care, before: &[Care]| -> Result<(), Uncared> {
        if *what == Care::Mount && before.last() == Some(&Care::LosePower) {
            fs::remove_dir_all(home.path().join("upkeep")).unwrap();
        }
        Ok(())
    };
    let (host, inputs) = (Keeper { does: &lose_all, ..keeper() }, Inputs::default());
    mounts(&mut context(&host, &inputs, home.path(), "changes=1"), &mut files).unwrap();
    assert_eq!(host.result("mount-after-power-loss").notes, [LOST]);
}

#[test]
fn a_filesystem_is_checked_damaged_repaired_and_checked_again() {
    let home = scratch();
    let (host, inputs) = (keeper(), Inputs::default());
    check_and_repair(&mut context(&host, &inputs, home.path(), "")).unwrap();
    let asked = [Care::Unmount, Care::Check, Care::Damage, Care::Repair, Care::Check, Care::Mount];
    assert_eq!(*host.asked.borrow(), asked);
    assert!(host.completed("check") && host.completed("repair"));
    assert_eq!(host.results.borrow().len(), 2, "the check after the repair is outside");
}
