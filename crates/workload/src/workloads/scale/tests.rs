//! Emptying, counting and reading entries, without a whole run.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;

use tempfile::TempDir;

use super::*;
use crate::Seed;
use crate::engine::file_io::tests::{PIPED, watch_reader};

const DIRECTORIES: [&str; 3] = ["shared", "own0", "own1"];

/// A target with the directories of two threads.
fn target() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    for name in DIRECTORIES {
        fs::create_dir_all(home.path().join(DIRECTORY).join(name)).unwrap();
    }
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

#[test]
fn only_the_directories_of_the_failed_phase_are_emptied() {
    // Whether it was the shared one, and how many entries are left then in each.
    for (shared, expected) in [(true, [0, 2, 2]), (false, [2, 0, 0])] {
        let (home, target) = target();
        let places = DIRECTORIES.map(|name| home.path().join(DIRECTORY).join(name));
        for place in &places {
            fs::create_dir(place.join("dir.mdtest.0.0")).unwrap();
            fs::write(place.join("file.mdtest.0.0"), "x").unwrap();
        }
        clear(target.as_fd(), shared, 2).unwrap();
        let left = places.map(|place| fs::read_dir(place).unwrap().count());
        assert_eq!(left, expected, "{shared}");
    }
}

#[test]
fn verification_counts_the_entries_of_all_threads() {
    let (home, target) = target();
    let said = |shared| verify(target.as_fd(), shared, 2, 3).map_err(|error| error.to_string());
    let place = home.path().join(DIRECTORY);
    // Three of each thread.
    for thread in 0..2 {
        for number in 0..3 {
            let name = format!("file.mdtest.{thread}.{number}");
            fs::write(place.join("shared").join(&name), "").unwrap();
            fs::write(place.join(format!("own{thread}")).join(&name), "").unwrap();
        }
    }
    for (shared, lost) in [(true, "shared/file.mdtest.0.1"), (false, "own1/file.mdtest.1.2")] {
        assert_eq!(said(shared), Ok(()), "{shared}");
        fs::remove_file(place.join(lost)).unwrap();
        let message = "verification: 5 entries below scale, not 6".to_owned();
        assert_eq!(said(shared), Err(message), "{shared}");
    }
}

#[test]
fn no_program_inherits_a_file_that_is_read() {
    let (home, target) = target();
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    let mut worker = Worker {
        of: 1,
        entries: 8,
        contents: vec![0; PIPED],
        marker: Marker::new(Seed(1), "scale marks 1", Filling::of(&parameters)),
        buffer: vec![0; 4_096],
        path: PathBuffer::new(),
    };
    let mut recorder = Recorder::for_thread(&READ_OWN);
    let pipe = home.path().join("scale/own1/file.mdtest.1.7");
    let (done, flags) = watch_reader(&pipe, || {
        worker.perform(target.as_fd(), Act::ReadFile, false, 7, &mut recorder)
    });
    assert!(done.is_ok(), "{done:?}");
    assert_eq!((recorder.ops_done(), recorder.read_bytes), (1, PIPED as u64));
    assert_eq!(flags.len(), 1);
    assert!(flags[0].contains(OFlags::CLOEXEC), "{flags:?}");
}
