//! Which links are tried, and which are refused.

use std::fs;
use std::os::fd::AsFd;
use std::time::UNIX_EPOCH;

use super::*;
use crate::engine::file_io::open_target;
use crate::workloads::bonnie::Manner;
use crate::workloads::bonnie::small::tests::small;

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
