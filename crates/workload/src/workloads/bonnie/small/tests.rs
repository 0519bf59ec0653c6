//! The directory of Bonnie's small files; such files for the other tests.

use std::fs;

use rustix::fs::fcntl_getfl;
use rustix::io::{FdFlags, fcntl_getfd};

use super::*;
use crate::engine::file_io::open_target;

pub(super) fn small(manner: Manner, links: Links) -> Small {
    Small {
        manner,
        files: 1024,
        min: 10,
        max: 50,
        directories: 4,
        chunk: 8192,
        links,
        fsync: false,
    }
}

#[test]
fn a_tests_directory_is_opened_as_one_and_no_program_inherits_it() {
    // A single directory is the test's own; several are made in it.
    for (directories, within) in [(1, 0), (3, 3)] {
        let home = tempfile::tempdir().unwrap();
        let target = open_target(home.path()).unwrap();
        let asked = Small { directories, ..small(Manner::V200a, Links::None) };
        let own = asked.make_directories(target.as_fd()).unwrap();
        let flags = fcntl_getfl(&own).unwrap();
        assert!(flags.contains(OFlags::DIRECTORY), "{flags:?}");
        assert_eq!(flags & OFlags::ACCMODE, OFlags::RDONLY);
        assert_eq!(fcntl_getfd(&own), Ok(FdFlags::CLOEXEC));
        assert_eq!(fs::read_dir(home.path().join(DIRECTORY)).unwrap().count(), within);
    }
}
