//! Mongo's room and what it tries before its phases; a target and a process for the other tests.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A target with the directory that everything is below.
pub(super) fn target() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

/// A process with one tree.
pub(super) fn worker<'a>(target: BorrowedFd<'a>, plan: &'a Plan) -> Worker<'a> {
    Worker { target, plan, absolute: b"", trees: vec!["1-1".to_owned()] }
}

#[test]
fn the_room_is_that_of_two_trees_for_each_repetition_of_each_process() {
    let given = [("files", "2"), ("median", "100"), ("repetitions", "3"), ("processes", "2")];
    let given = BTreeMap::from(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let parameters = Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap();
    // A tree is a directory with files of 83 and 136 bytes, which takes 219 + 3 * 4096; there are
    // 12 of them. In half of them each file gets a link.
    let expected = Space { bytes: Bytes(150_084), inodes: 12 * 3 + 6 * 2 + 1 };
    assert_eq!(Mongo.space(&parameters, &InputFacts::default()), expected);
}

#[test]
fn symbolic_links_are_tried_and_only_an_unsupported_one_is_a_reason_to_skip() {
    let (home, target) = target();
    assert_eq!(probe_symlinks(target.as_fd()), Ok(()));
    assert!(!fs::exists(home.path().join("mongo/probe")).unwrap(), "nothing stays");
    // Any other error is for the phase to report.
    fs::remove_dir(home.path().join(DIRECTORY)).unwrap();
    assert_eq!(probe_symlinks(target.as_fd()), Ok(()));

    // Kernel filesystems that take no links; to some of them only root comes that far.
    let takes_none = |place: &str| -> bool {
        let link = Path::new(place).join(format!("fstrial-link-{}", std::process::id()));
        let made = symlink("x", &link);
        if made.is_ok() {
            fs::remove_file(&link).unwrap();
        }
        made.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    };
    let Some(place) =
        ["/dev/mqueue", "/dev/pts", "/sys"].into_iter().find(|place| takes_none(place))
    else {
        eprintln!("SKIPPED: no filesystem here refuses symbolic links to this user");
        return;
    };
    symlink(place, home.path().join(DIRECTORY)).unwrap();
    let reason = probe_symlinks(target.as_fd()).unwrap_err();
    assert!(reason.contains("takes no symbolic links"), "{reason}");
}
