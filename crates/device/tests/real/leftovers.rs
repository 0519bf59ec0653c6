//! What a killed process leaves is found and removed; nothing else is touched.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use device::{Ledger, MARKER};
use skippable::{Attached, Ending};
use units::Bytes;

use crate::scratch::{Mounted, enters_as_root, run};
use crate::victim::Victim;

pub(crate) const SIZE: Bytes = Bytes::from_mib(64);

/// Names in a directory, except the ledger.
fn names(place: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name != "ledger")
        .collect();
    names.sort();
    names
}

fn entries(place: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(place.join("ledger"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect()
}

fn nothing_left(place: &Path) {
    assert_eq!(names(place), [] as [&str; 0]);
    assert_eq!(entries(place), [] as [PathBuf; 0]);
    let text = place.to_str().unwrap();
    assert!(!run("losetup", &["-n", "-l", "-O", "BACK-FILE"]).contains(text));
    assert!(!std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap().contains(text));
}

pub(crate) fn killed_with_a_directory_of_an_ordinary_user() -> Ending {
    // Needs no root: the `dir` testbed leaves this.
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("directory", place.path(), false);
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let report = ledger.sweep().unwrap();
    assert!(report.is_empty(), "a living process's things: {report}");
    assert_eq!(report.running.len(), 1);
    assert_eq!(names(place.path()).len(), 1);
    victim.kill();
    drop(victim);
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (1, 0), "{report}");
    nothing_left(place.path());
    assert!(ledger.sweep().unwrap().is_empty(), "nothing to do the second time");
    Ok(())
}

pub(crate) fn killed_while_mounted_in_a_private_namespace() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("mounted", place.path(), true);
    let text = place.path().to_str().unwrap();
    assert!(run("losetup", &["-n", "-l", "-O", "BACK-FILE"]).contains(text), "not attached");
    victim.kill();
    drop(victim);
    let report = Ledger::open(&place.path().join("ledger")).unwrap().sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn killed_while_mounted_for_everyone() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let other = losetup_of_somebody_else(place.path());
    let mut victim = Victim::at("mounted", place.path(), false);
    victim.kill();
    drop(victim);
    let table = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    assert!(table.contains(place.path().to_str().unwrap()), "the mount outlives its process");
    let report = Ledger::open(&place.path().join("ledger")).unwrap().sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    assert!(report.cleaned.iter().any(|what| what.starts_with("mount of /dev/loop")), "{report}");
    // Somebody else's image beside ours is still attached.
    assert_eq!(names(place.path()), ["other.img"]);
    run("losetup", &[other.node().to_str().unwrap()]);
    drop(other);
    std::fs::remove_file(place.path().join("other.img")).unwrap();
    nothing_left(place.path());
    Ok(())
}

fn losetup_of_somebody_else(place: &Path) -> Attached {
    let image = place.join("other.img");
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    Attached::over(&image)
}

pub(crate) fn killed_with_a_loop_file() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("image", place.path(), false);
    victim.kill();
    drop(victim);
    let report = Ledger::open(&place.path().join("ledger")).unwrap().sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn a_loop_file_that_someone_still_uses_waits_for_the_next_time() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("image", place.path(), false);
    let text = place.path().to_str().unwrap();
    let attached = run("losetup", &["-n", "-l", "-O", "NAME,BACK-FILE"]);
    let line = attached.lines().find(|line| line.contains(text)).unwrap();
    let held = std::fs::File::open(line.split_whitespace().next().unwrap()).unwrap();
    victim.kill();
    drop(victim);
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let report = ledger.sweep().unwrap();
    assert!(report.left.iter().any(|left| left.what.contains("still in use by")), "{report}");
    assert!(
        report.left.iter().any(|left| left.what.contains("it holds what was left")),
        "{report}"
    );
    assert_eq!(names(place.path()).len(), 1, "neither image nor directory is gone");
    drop(held);
    let report = ledger.sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn a_zombie_is_gone_and_a_living_neighbour_is_not() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let alive = Victim::at("directory", place.path(), false);
    let kept = names(place.path());
    let mut dead = Victim::at("directory", place.path(), false);
    dead.kill();
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    // Killed, and not waited for: until the kernel is done with it, it counts as living.
    let mut cleaned = 0;
    let (limit, every) = (std::time::Duration::from_secs(60), std::time::Duration::from_millis(10));
    waiting::until(limit, every, || {
        let report = ledger.sweep().unwrap();
        assert!(report.left.is_empty(), "{report}");
        cleaned = report.cleaned.len();
        cleaned > 0
    });
    assert_eq!(cleaned, 1);
    assert_eq!(names(place.path()), kept);
    drop(alive);
    ledger.sweep().unwrap();
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn what_does_not_prove_to_be_ours_is_left() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("directory", place.path(), false);
    victim.kill();
    drop(victim);
    let [name] = names(place.path()).try_into().unwrap();
    let directory = place.path().join(name);
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let left = |because: &str| {
        let report = ledger.sweep().unwrap();
        assert!(report.cleaned.is_empty(), "{report}");
        assert!(report.left.iter().any(|left| left.what.contains(because)), "{because}: {report}");
        assert_eq!(std::fs::read(directory.join("a/b/file")).unwrap(), b"ours");
        assert_eq!(entries(place.path()).len(), 1, "the entry waits for the next time");
    };
    let marker = directory.join(MARKER);
    let token = std::fs::read(&marker).unwrap();
    std::fs::write(&marker, "another").unwrap();
    left("its marker is another's");
    std::fs::write(&marker, &token[..10]).unwrap();
    left("its marker is incomplete");
    std::fs::remove_file(&marker).unwrap();
    left("it has no marker");

    // A directory of the same name, with a copy of everything, is another directory.
    std::fs::write(&marker, &token).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    std::fs::rename(&directory, &moved).unwrap();
    run("cp", &["-a", moved.to_str().unwrap(), directory.to_str().unwrap()]);
    left("it is not the directory that was made");
    std::fs::remove_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(&moved, &directory).unwrap();
    left("it is not the directory that was made");
    std::fs::remove_file(&directory).unwrap();
    std::fs::rename(&moved, &directory).unwrap();
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (1, 0), "{report}");
    nothing_left(place.path());
    Ok(())
}

/// Another user may rename what he cannot remove. The one that was made goes, whatever its name;
/// what has its name by now stays.
pub(crate) fn a_directory_that_was_renamed_is_found() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("directory", place.path(), false);
    victim.kill();
    drop(victim);
    let [name] = names(place.path()).try_into().unwrap();
    let (directory, moved) = (place.path().join(name), place.path().join("moved"));
    std::fs::rename(&directory, &moved).unwrap();
    run("cp", &["-a", moved.to_str().unwrap(), directory.to_str().unwrap()]);
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    // Its number alone does not prove it.
    let marker = std::fs::read(moved.join(MARKER)).unwrap();
    std::fs::remove_file(moved.join(MARKER)).unwrap();
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (0, 1), "{report}");
    std::fs::write(moved.join(MARKER), marker).unwrap();
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (1, 0), "{report}");
    assert!(!moved.exists());
    assert_eq!(std::fs::read(directory.join("a/b/file")).unwrap(), b"ours");
    std::fs::remove_dir_all(&directory).unwrap();
    nothing_left(place.path());
    Ok(())
}

/// What cannot be removed is news once; given up, it is left alone for good.
pub(crate) fn what_is_left_is_told_once_and_can_be_given_up() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("directory", place.path(), false);
    victim.kill();
    drop(victim);
    let [name] = names(place.path()).try_into().unwrap();
    let marker = place.path().join(name).join(MARKER);
    std::fs::write(&marker, "another").unwrap();
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let first = ledger.sweep().unwrap();
    assert_eq!(first.clone().news().left.len(), 1, "{first}");
    ledger.note_told(&first);
    let second = ledger.sweep().unwrap();
    assert_eq!((second.left.len(), second.clone().news().left.len()), (1, 0), "{second}");
    let left = ledger.forget(second, &["/elsewhere".into()]);
    assert_eq!((left.len(), ledger.sweep().unwrap().left), (1, left));
    let again = ledger.sweep().unwrap();
    assert_eq!(ledger.forget(again, &[place.path().to_owned()]), []);
    assert!(ledger.sweep().unwrap().is_empty());
    assert!(marker.exists(), "it is left alone");
    drop(ledger);
    let left = std::fs::read_dir(place.path().join("ledger")).unwrap().count();
    assert_eq!(left, 0, "nothing of it is in the ledger");
    Ok(())
}

pub(crate) fn another_file_under_the_images_name_is_left() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let mut victim = Victim::at("image", place.path(), false);
    victim.kill();
    drop(victim);
    let [name] = names(place.path()).try_into().unwrap();
    let directory = place.path().join(name);
    let image = names(&directory).into_iter().find(|name| name.ends_with(".img")).unwrap();
    let image = directory.join(image);
    let ours = place.path().join("ours");
    std::fs::rename(&image, &ours).unwrap();
    std::fs::write(&image, "somebody's").unwrap();
    // The directory must not take the stranger's file with it either.
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let report = ledger.sweep().unwrap();
    assert!(
        report.left.iter().any(|left| left.what.contains("not the file that was made")),
        "{report}"
    );
    assert_eq!(std::fs::read(&image).unwrap(), b"somebody's");
    std::fs::rename(&ours, &image).unwrap();
    ledger.sweep().unwrap();
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn a_strangers_mount_inside_stops_the_removal() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let precious = tempfile::tempdir().unwrap();
    std::fs::write(precious.path().join("file"), "precious").unwrap();
    let mut victim = Victim::at("directory", place.path(), false);
    victim.kill();
    drop(victim);
    let [name] = names(place.path()).try_into().unwrap();
    let inside = place.path().join(name).join("a/b");
    // A bind mount of the same filesystem: only the mount itself tells.
    run("mount", &["--bind", precious.path().to_str().unwrap(), inside.to_str().unwrap()]);
    let mount = Mounted(inside.clone());
    assert_eq!(
        std::fs::metadata(&inside).unwrap().dev(),
        std::fs::metadata(place.path()).unwrap().dev()
    );
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let report = ledger.sweep().unwrap();
    assert!(report.left.iter().any(|left| left.what.contains("something is mounted")), "{report}");
    assert_eq!(std::fs::read(precious.path().join("file")).unwrap(), b"precious");
    drop(mount);
    let report = ledger.sweep().unwrap();
    assert!(report.left.is_empty(), "{report}");
    nothing_left(place.path());
    Ok(())
}

pub(crate) fn dropping_removes_what_was_made_and_its_entries() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&place.path().join("ledger")).unwrap();
    let directory = ledger.make_directory(place.path()).unwrap();
    let file = ledger.make_loop_file(directory.path(), SIZE).unwrap();
    assert!(file.is_direct());
    assert_eq!(entries(place.path()).len(), 2);
    drop(file);
    assert_eq!(entries(place.path()).len(), 1);
    directory.remove().unwrap();
    nothing_left(place.path());
    drop(ledger);
    assert_eq!(std::fs::read_dir(place.path().join("ledger")).unwrap().count(), 0);
    Ok(())
}

pub(crate) fn a_recorded_mount_is_unmounted_and_one_from_elsewhere_is_not() -> Ending {
    enters_as_root()?;
    let place = tempfile::tempdir().unwrap();
    let ledger_directory = place.path().join("ledger");
    let (ours, theirs) = (place.path().join("ours"), place.path().join("theirs"));
    for point in [&ours, &theirs] {
        std::fs::create_dir(point).unwrap();
        let source = format!("fstrial-test-{}", std::process::id());
        run("mount", &["-t", "tmpfs", &source, point.to_str().unwrap()]);
    }
    let source = format!("fstrial-test-{}", std::process::id());
    // The entry of a process that is gone: this one's, rewritten.
    let ledger = Ledger::open(&ledger_directory).unwrap();
    let noted = ledger.note_mount(&ours, Path::new(&source)).unwrap();
    let [entry] = entries(place.path()).try_into().unwrap();
    let text = std::fs::read_to_string(&entry).unwrap();
    drop(noted);
    let text = text.replace(&format!("\"pid\": {}", std::process::id()), "\"pid\": 4194305");
    let name = format!("{}-000000.json", "0123456789abcdef".repeat(2));
    std::fs::write(ledger_directory.join(name), text).unwrap();
    let report = ledger.sweep().unwrap();
    assert_eq!((report.cleaned.len(), report.left.len()), (1, 0), "{report}");
    let table = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    assert!(!table.contains(ours.to_str().unwrap()));
    assert!(table.contains(theirs.to_str().unwrap()));
    drop(Mounted(theirs));
    Ok(())
}

pub(crate) fn a_ledger_that_others_can_write_is_not_believed() -> Ending {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = Ledger::open(place.path()).unwrap_err();
    assert_eq!(error.step, "trust");
    Ok(())
}

pub(crate) fn entries_that_cannot_be_read_are_left_and_named() -> Ending {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("ledger");
    let mut victim = Victim::at("directory", place.path(), false);
    victim.kill();
    drop(victim);
    let [entry] = entries(place.path()).try_into().unwrap();
    let text = std::fs::read_to_string(&entry).unwrap();
    let ledger = Ledger::open(&directory).unwrap();
    for spoiled in [&text[..text.len() / 2], &text.replace("\"version\": 1", "\"version\": 99")] {
        std::fs::write(&entry, spoiled).unwrap();
        let report = ledger.sweep().unwrap();
        assert_eq!((report.cleaned.len(), report.left.len()), (0, 1), "{report}");
        assert_eq!(names(place.path()).len(), 1);
    }
    std::fs::write(&entry, &text).unwrap();
    ledger.sweep().unwrap();
    nothing_left(place.path());
    Ok(())
}
