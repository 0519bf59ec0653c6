//! What an entry of the ledger says is not believed where what is found contradicts it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use device::{Ledger, MARKER};
use serde_json::Value;
use skippable::Ending;

use crate::scratch::{Mounted, enters_as_root, run};
use crate::victim::Victim;

/// A victim's place after its death.
fn left_by(stage: &str, place: &Path) -> Ledger {
    let mut victim = Victim::at(stage, place, false);
    victim.kill();
    drop(victim);
    Ledger::open(&place.join("ledger")).unwrap()
}

/// Changes the entry of this kind.
fn change<T>(place: &Path, kind: &str, change: impl Fn(&mut Value) -> T) -> T {
    let files = std::fs::read_dir(place.join("ledger")).unwrap().map(|file| file.unwrap().path());
    let of_kind = |path: &PathBuf| {
        let text = std::fs::read(path).unwrap_or_default();
        let entry: Value = serde_json::from_slice(&text).ok()?;
        (entry["thing"]["kind"] == kind).then_some(entry)
    };
    let (path, mut entry) = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .find_map(|path| Some((path.clone(), of_kind(&path)?)))
        .unwrap();
    let changed = change(&mut entry["thing"]);
    std::fs::write(path, entry.to_string()).unwrap();
    changed
}

/// Killed before the number of its file was recorded: then the random name is the proof.
pub(crate) fn an_image_is_known_by_its_name() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let ledger = left_by("image", place.path());
    let precious = place.path().join("precious");
    std::fs::write(&precious, "kept").unwrap();
    let put = |path: Value| {
        change(place.path(), "loop_file", |thing| {
            thing["file_id"] = Value::Null;
            std::mem::replace(&mut thing["path"], path.clone())
        })
    };
    let real = put(precious.to_str().unwrap().into());
    let report = ledger.sweep().unwrap();
    let what = "it is not the file that was made";
    assert!(report.left.iter().any(|left| left.what.contains(what)), "{report}");
    assert_eq!(std::fs::read(&precious).unwrap(), b"kept");
    put(real.clone());
    let report = ledger.sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    assert!(!Path::new(real.as_str().unwrap()).exists());
    Ok(())
}

/// A number is given out again: an empty directory that has it proves nothing.
pub(crate) fn a_directory_under_another_name_needs_its_marker() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let ledger = left_by("directory", place.path());
    let directory = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
    let directory = directory.into_iter().find(|path| path.join(MARKER).exists()).unwrap();
    let moved = place.path().join("moved");
    std::fs::rename(&directory, &moved).unwrap();
    let marker = std::fs::read(moved.join(MARKER)).unwrap();
    std::fs::remove_dir_all(moved.join("a")).unwrap();
    std::fs::remove_file(moved.join(MARKER)).unwrap();
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (0, 1), "{report}");
    assert!(moved.is_dir());
    std::fs::write(moved.join(MARKER), marker).unwrap();
    ledger.sweep().unwrap();
    assert!(!moved.exists());
    Ok(())
}

/// Another disk may have the number by now: its queue is as its owner set it.
pub(crate) fn settings_of_another_disk_stay() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let disks = Ledger::open(&other.path().join("ledger")).unwrap();
    let disk = disks.make_loop_file(other.path(), crate::leftovers::SIZE).unwrap();
    let node = disk.device();
    std::fs::write(place.path().join("node"), node.to_str().unwrap()).unwrap();
    let ahead = Path::new("/sys/class/block").join(node.file_name().unwrap());
    let ahead = || std::fs::read_to_string(ahead.join("queue/read_ahead_kb")).unwrap();
    let ledger = left_by("queue", place.path());
    assert_eq!(ahead(), "68\n");
    change(place.path(), "queue", |thing| {
        let sequence = &mut thing["settings"]["identity"]["disk_sequence"];
        *sequence = (sequence.as_u64().unwrap() + 1).into();
    });
    let report = ledger.sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    assert_eq!(ahead(), "68\n");
    Ok(())
}

/// Without a sweep: the kernel detaches what nobody has open.
pub(crate) fn a_process_that_dies_keeps_no_loop_device() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let ledger = left_by("image", place.path());
    let is_attached = || {
        let backings = run("losetup", &["-n", "-l", "-O", "BACK-FILE"]);
        backings.contains(place.path().to_str().unwrap())
    };
    let detached =
        waiting::until(Duration::from_secs(10), Duration::from_millis(10), || !is_attached());
    ledger.sweep().unwrap();
    assert!(detached, "it is attached after ten seconds");
    Ok(())
}

/// Whose entries are left is told by its lock file, also in another container.
pub(crate) fn what_is_left_keeps_the_lock_of_its_owner() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let precious = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let directory = ledger.make_directory(place.path()).unwrap();
    let inside = directory.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    run("mount", &["--bind", precious.path().to_str().unwrap(), inside.to_str().unwrap()]);
    let mount = Mounted(inside);
    directory.remove().expect_err("something is mounted in it");
    drop((ledger, mount));
    let names = std::fs::read_dir(place.path().join("ledger")).unwrap();
    let names: Vec<_> = names.map(|file| file.unwrap().path()).collect();
    let ends = |path: &&PathBuf, with: &str| path.to_str().unwrap().ends_with(with);
    let count = [".json", ".lock"].map(|with| names.iter().filter(|it| ends(it, with)).count());
    assert_eq!(count, [1, 1], "{names:?}");
    Ok(())
}
