//! Real programs in the lab: each one's own check of its data passes, and repeats are identical.

use lab::Lab;
use units::Bytes;

use crate::{Sequence, carry_out_all, how, spec};

/// Each program with settings that make it small.
const SMALL: Sequence<'static> = &[
    ("sqlite", "rows=200 transactions=50"),
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
    let specs: Vec<_> = filesystems
        .iter()
        .map(|filesystem| spec(filesystem, SMALL, Bytes::from_mib(512)))
        .flat_map(|spec| [spec.clone(), spec])
        .collect();
    let seen = carry_out_all(lab, &specs);
    for (filesystem, pair) in filesystems.iter().zip(seen.chunks(2)) {
        let (first, second) = (&pair[0], &pair[1]);
        assert!(first.outcome.is_done(), "{filesystem}: {}", first.outcome);
        assert_eq!(first.phases.len(), 12, "{filesystem}");
        for (phase, again) in first.phases.iter().zip(&second.phases) {
            let name = format!("{filesystem}: {} {}", phase.workload, phase.phase);
            assert_eq!(how(phase), "completed", "{name}");
            assert_eq!(phase.wall, again.wall, "{name}");
            assert!(phase == again, "{name}: other figures");
        }
        assert!(first.log == second.log, "{filesystem}: another log of requests");
    }
}
