//! Real programs in the lab: each one's own check of its data passes, and repeats are identical.

use lab::Lab;

use crate::{Seen, Sequence, how, twice_the_same};

/// Each program with settings that make it small.
const SMALL: Sequence<'static> = &[
    ("sqlite", "rows=200 transactions=50"),
    ("postgresql", "scale_factor=1 transactions=60 clients=2"),
    ("git", "files=60 commits=3 changed=10"),
    ("rsync", "files=100 changed=10 days=2"),
];

/// Whose start alone takes seconds in a guest: on one filesystem.
const SLOW: Sequence<'static> = &[("npm-tree", "packages=3 files=4")];

/// Which this lab does not have: tests of the command line run its jobs (`fio_jobs`).
const ELSEWHERE: [&str; 1] = ["fio"];

/// A second trial of the same seed gives the same to the nanosecond and the last request.
pub(crate) fn real_programs(lab: &Lab) {
    for program in workload::PROGRAMS {
        let name = program.describe().name;
        let mut listed = SMALL.iter().chain(SLOW).map(|(name, _)| *name).chain(ELSEWHERE);
        assert!(listed.any(|listed| listed == name), "{name}: add it in {}", file!());
    }
    let filesystems = ["ext4", "xfs", "btrfs"];
    let seen = twice_the_same(lab, &filesystems, SMALL);
    for (filesystem, seen) in filesystems.iter().zip(&seen) {
        all_completed(filesystem, seen, 17);
    }
    all_completed("ext4", &twice_the_same(lab, &["ext4"], SLOW)[0], 4);
}

fn all_completed(filesystem: &str, seen: &Seen, phases: usize) {
    assert_eq!(seen.phases.len(), phases, "{filesystem}");
    for phase in &seen.phases {
        assert_eq!(how(phase), "completed", "{filesystem}: {} {}", phase.workload, phase.phase);
    }
}
