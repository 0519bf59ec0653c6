//! Bonnie's small files: their names and sizes, their directories, and which links are refused.

use std::fs;
use std::time::UNIX_EPOCH;

use rustix::fs::fcntl_getfl;
use rustix::io::{FdFlags, fcntl_getfd};

use super::*;
use crate::engine::file_io::open_target;

fn small(manner: Manner, links: Links) -> Small {
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
fn names_have_the_shape_of_each_version() {
    for (manner, digits) in [(Manner::V103a, 7), (Manner::V200a, 10)] {
        for random in [false, true] {
            let files = small(manner, Links::None).draw(Seed(1), random);
            let mut longest = 0;
            for (number, file) in files.iter().enumerate() {
                let name = std::str::from_utf8(file.name()).unwrap();
                assert!((10..50).contains(&file.bytes));
                longest = longest.max(name.len());
                let counter = if random { &name[name.len() - digits..] } else { &name[..digits] };
                let radix = if digits == 10 { 16 } else { 10 };
                assert_eq!(usize::from_str_radix(counter, radix).unwrap(), number);
            }
            assert_eq!(longest, digits + 12);
        }
    }
    let (small, mut path) = (small(Manner::V200a, Links::None), PathBuffer::new());
    let files = small.draw(Seed(1), false);
    small.path(&files[256], &mut path);
    assert!(path.to_string().starts_with("00001/0000000100"), "{path}");
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

/// Nothing is left of a probe, but the time at which its directory was last changed shows whether
/// there was one.
#[test]
fn links_are_tried_before_the_phases_that_make_them() {
    for (links, tried) in [(Links::None, false), (Links::Hard, true), (Links::Symbolic, true)] {
        let home = tempfile::tempdir().unwrap();
        let target = open_target(home.path()).unwrap();
        fs::File::open(home.path()).unwrap().set_modified(UNIX_EPOCH).unwrap();
        assert_eq!(small(Manner::V200a, links).probe_links(target.as_fd()), Ok(()));
        let changed = fs::metadata(home.path()).unwrap().modified().unwrap();
        assert_eq!(changed != UNIX_EPOCH, tried, "{links:?}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{links:?}");
    }
}

/// A directory in the link's place is an error that has nothing to do with what the filesystem
/// supports.
#[test]
fn a_link_that_failed_for_another_reason_is_left_to_the_phase() {
    for links in [Links::Hard, Links::Symbolic] {
        let home = tempfile::tempdir().unwrap();
        let target = open_target(home.path()).unwrap();
        fs::create_dir(home.path().join("Bonnie-probe-link")).unwrap();
        assert_eq!(small(Manner::V200a, links).probe_links(target.as_fd()), Ok(()));
    }
}

#[test]
fn a_filesystem_without_links_is_told_from_one_without_room() {
    for (links, refused) in [
        (Links::Hard, "this filesystem takes no hard links: "),
        (Links::Symbolic, "this filesystem takes no symbolic links: "),
    ] {
        let small = small(Manner::V200a, links);
        let why = small.refusal(Err(Errno::PERM)).unwrap_err();
        assert!(why.starts_with(refused), "{why}");
        for left in [Ok(()), Err(Errno::NOSPC), Err(Errno::EXIST)] {
            assert_eq!(small.refusal(left), Ok(()), "{left:?}");
        }
    }
}
