//! The trees and what is done to them, by pieces.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::Cache;

/// A target with the directory that everything is below.
fn target() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

/// A process with one tree.
fn worker<'a>(target: BorrowedFd<'a>, plan: &'a Plan) -> Worker<'a> {
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
fn a_copy_has_the_contents_and_the_mode_of_its_source() {
    let (home, target) = target();
    let trees = home.path().join(DIRECTORY);
    let (from, to) = (trees.join("testdir1-1-1"), trees.join("testdir2-1-1"));
    fs::create_dir_all(from.join("d0")).unwrap();
    // More than a read takes, and nothing.
    let files = [("0", 0o600, vec![b'x'; 5000]), ("d0/1", 0o400, Vec::new())];
    for (name, mode, contents) in &files {
        fs::write(from.join(name), contents).unwrap();
        fs::set_permissions(from.join(name), Permissions::from_mode(*mode)).unwrap();
    }
    let plan = Plan::draw(1, 100);
    let mut recorder = Recorder::new(&COPY);
    copy(&worker(target.as_fd(), &plan), &ThreadGroup::default(), &mut recorder).unwrap();
    for (name, mode, contents) in &files {
        let copied = fs::metadata(to.join(name)).unwrap();
        assert_eq!(copied.permissions().mode() & 0o7777, *mode, "{name}");
        assert_eq!(fs::read(to.join(name)).unwrap(), *contents, "{name}");
    }
    // Two directories and two files.
    let (ops, read, written, _) = recorder.totals();
    assert_eq!((ops, read, written), (4, Bytes(5000), Bytes(5000)));
}

/// The digest of these facts.
fn digest(facts: &[u64]) -> u64 {
    let mut recorder = Recorder::new(&CREATE);
    facts.iter().for_each(|fact| recorder.digest(*fact));
    recorder.totals().3
}

#[test]
fn each_phase_puts_what_it_made_or_found_into_its_digest() {
    let (_home, target) = target();
    // A tree is a directory with files of 83 and 136 bytes, which are called 0 and 1.
    let plan = Plan::draw(2, 100);
    let worker = worker(target.as_fd(), &plan);
    let phases: [(&PhaseDescription, Work<'_>, &[u64]); 7] = [
        // 2^32 for the number 1.
        (&CREATE, &create, &[83, 4_294_967_296 + 136]),
        (&COPY, &copy, &[219]),
        (&SYMLINKS, &symlinks, &[2]),
        (&READ, &read_all, &[2 * 219]),
        // Beside the four files there are three directories and two links.
        (&STATS, &stats, &[4]),
        (&RENAME, &rename, &[2]),
        // Each tree with its own directory; the copy has no links.
        (&DELETE, &delete, &[5, 3]),
    ];
    for (phase, work, facts) in phases {
        let mut recorder = Recorder::new(phase);
        work(&worker, &ThreadGroup::default(), &mut recorder).unwrap();
        assert_eq!(recorder.totals().3, digest(facts), "{}", phase.name);
    }
}

#[test]
fn only_files_above_16_kib_of_the_named_trees_count_for_fragments() {
    // The directory for temporary files may lie on a filesystem that does not tell.
    let (home, target) = target();
    let place = |name: &str| home.path().join(DIRECTORY).join(name);
    let noted = || {
        let cache = Cache::Warm { why: "not asked for".to_owned() };
        let mut result = PhaseResult::empty("mongo", "create", cache);
        note_fragments(target.as_fd(), &["testdir1"], &mut result);
        result
    };
    fs::create_dir(place("testdir1-1-1")).unwrap();
    fs::create_dir(place("testdir2-1-1")).unwrap();
    // A hole is no piece: what should not count would lower the mean.
    for (name, bytes) in
        [("testdir1-1-1/0", 100), ("testdir1-1-1/1", 16_384), ("testdir2-1-1/2", 20_000)]
    {
        File::create(place(name)).unwrap().set_len(bytes).unwrap();
    }
    let none = noted();
    assert!(none.figures.is_empty() && none.notes.is_empty(), "{none:?}");

    let large = [place("testdir1-1-1/3"), place("testdir1-1-1/4")];
    fs::write(&large[0], vec![b'a'; 16_385]).unwrap();
    fs::write(&large[1], vec![b'a'; 40_000]).unwrap();
    let told = noted();
    let pieces = |path: &Path| fragments(File::open(path).unwrap().as_fd());
    let (Ok(one), Ok(other)) = (pieces(&large[0]), pieces(&large[1])) else {
        assert!(told.figures.is_empty(), "{told:?}");
        assert!(told.notes[0].contains("where files lie"), "{told:?}");
        return;
    };
    assert!(one + other >= 2);
    assert_eq!(told.figures["fragments_per_file"], (one + other) as f64 / 2.0);
}

#[test]
fn verification_finds_what_is_missing_and_what_is_not_as_written() {
    let (home, target) = target();
    let plan = Plan::draw(2, 100);
    let worker = worker(target.as_fd(), &plan);
    create(&worker, &ThreadGroup::default(), &mut Recorder::new(&CREATE)).unwrap();
    let said = || verify(target.as_fd(), &plan, 1, false).map_err(|failure| failure.to_string());
    assert_eq!(said(), Ok(()));

    let file = home.path().join("mongo/testdir1-1-1/1");
    let mut contents = fs::read(&file).unwrap();
    assert_eq!(contents, [b'a'; 136]);
    contents[135] = b'b';
    fs::write(&file, &contents).unwrap();
    let foreign = said().unwrap_err();
    assert!(foreign.contains("mongo/testdir1-1-1/1 has other contents"), "{foreign}");
    fs::write(&file, &contents[..135]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: 2 files of 218 bytes instead of 2 of 219");
    fs::remove_file(&file).unwrap();
    assert_eq!(said().unwrap_err(), "verification: 1 files of 83 bytes instead of 2 of 219");
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
