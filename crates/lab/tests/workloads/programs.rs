//! Real programs in the lab: each one's own check of its data passes, and repeats are identical.

use lab::Lab;

use crate::{Sequence, how, twice_the_same};

/// Each program with settings that make it small.
const SMALL: Sequence<'static> = &[
    ("sqlite", "rows=200 transactions=50"),
    ("postgresql", "scale_factor=1 transactions=60 clients=2"),
    ("git", "files=60 commits=3 changed=10"),
    ("rsync", "files=100 changed=10 days=2"),
];

/// A second trial of the same seed gives the same to the nanosecond and the last request.
pub(crate) fn real_programs(lab: &Lab) {
    for program in workload::PROGRAMS {
        let name = program.describe().name;
        assert!(SMALL.iter().any(|(listed, _)| *listed == name), "{name}: add it in {}", file!());
    }
    let filesystems = ["ext4", "xfs", "btrfs"];
    let seen = twice_the_same(lab, &filesystems, SMALL);
    for (filesystem, seen) in filesystems.iter().zip(&seen) {
        assert_eq!(seen.phases.len(), 17, "{filesystem}");
        for phase in &seen.phases {
            assert_eq!(how(phase), "completed", "{filesystem}: {} {}", phase.workload, phase.phase);
        }
    }
}
