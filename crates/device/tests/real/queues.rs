//! A disk's scheduler and read-ahead are what they were, however a trial ends.

use std::path::{Path, PathBuf};

use device::{Claim, Ledger, OwnedQueue};
use skippable::Ending;
use units::Bytes;

use crate::scratch::enters_as_root;
use crate::victim::Victim;

const SIZE: Bytes = Bytes::from_mib(64);
const FILES: [&str; 2] = ["scheduler", "read_ahead_kb"];

fn queue(node: &Path) -> PathBuf {
    Path::new("/sys/class/block").join(node.file_name().unwrap()).join("queue")
}

fn settings(node: &Path) -> [String; 2] {
    FILES.map(|file| std::fs::read_to_string(queue(node).join(file)).unwrap())
}

/// Claims a disk, takes note of its queue and sets it otherwise.
pub(crate) fn note_and_change(ledger: &Ledger, node: &Path) -> OwnedQueue {
    let before = settings(node);
    let claim = Claim::take(node, &[]).unwrap();
    let noted = ledger.note_queue(&claim).unwrap();
    let other = before[0].split_whitespace().find(|word| !word.starts_with('['));
    if let Some(other) = other {
        std::fs::write(queue(node).join("scheduler"), other).unwrap();
    }
    std::fs::write(queue(node).join("read_ahead_kb"), "68").unwrap();
    assert_ne!(settings(node), before);
    noted
}

pub(crate) fn settings_are_put_back_when_the_trial_is_over() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let disk = ledger.make_loop_file(place.path(), SIZE).unwrap();
    let before = settings(&disk.device());
    drop(note_and_change(&ledger, &disk.device()));
    assert_eq!(settings(&disk.device()), before);
    Ok(())
}

pub(crate) fn settings_are_put_back_after_a_process_that_was_killed() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    // The disk is another's: it is still there when the victim's things are swept.
    let other = tempfile::tempdir().unwrap();
    let disks = Ledger::open(&other.path().join("ledger")).unwrap();
    let disk = disks.make_loop_file(other.path(), SIZE).unwrap();
    std::fs::write(place.path().join("node"), disk.device().to_str().unwrap()).unwrap();
    let before = settings(&disk.device());
    let mut victim = Victim::at("queue", place.path(), false);
    assert_ne!(settings(&disk.device()), before);
    victim.kill();
    drop(victim);
    let report = Ledger::open(&place.path().join("ledger")).unwrap().sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    assert!(report.to_string().contains("queue/read_ahead_kb of /dev/loop"), "{report}");
    assert_eq!(settings(&disk.device()), before);
    Ok(())
}
