//! Upkeep in the lab: everything that a filesystem has is measured, what it lacks is said, and
//! repeats are identical.

use lab::Lab;
use units::{Bytes, Nanos};

use crate::{Sequence, carry_out_all, how, spec};

const SMALL: Sequence<'static> =
    &[("upkeep", "size=448M full=0.3 changes=40 snapshots=3 changes_between=5")];

/// What each cannot do, with a word of the reason.
const LACKS: &[(&str, &[(&str, &str)])] = &[
    (
        "ext4",
        &[
            ("reflink-copy", "share blocks"),
            ("snapshot", "ext4 has no snapshots"),
            ("snapshot-delete", "ext4 has no snapshots"),
        ],
    ),
    ("xfs", &[("snapshot", "xfs has no snapshots"), ("snapshot-delete", "xfs has no snapshots")]),
    ("btrfs", &[]),
    (
        "f2fs",
        &[
            ("reflink-copy", "share blocks"),
            ("snapshot", "f2fs has no snapshots"),
            ("snapshot-delete", "f2fs has no snapshots"),
            // Its check goes on with the copy, and leaves the first one lost.
            ("repair", "f2fs has no program"),
        ],
    ),
];

/// A second trial of the same seed gives the same to the nanosecond and the last request.
pub(crate) fn upkeep(lab: &Lab) {
    let specs: Vec<_> = LACKS
        .iter()
        .map(|(filesystem, _)| spec(filesystem, SMALL, Bytes::from_mib(512)))
        .flat_map(|spec| [spec.clone(), spec])
        .collect();
    let seen = carry_out_all(lab, &specs);
    for ((filesystem, lacks), pair) in LACKS.iter().zip(seen.chunks(2)) {
        let (first, second) = (&pair[0], &pair[1]);
        // Verified after the repair: every file but those that the lost power took is whole.
        assert!(first.outcome.is_done(), "{filesystem}: {}", first.outcome);
        assert_eq!(first.phases.len(), 12, "{filesystem}");
        let mut lacking = lacks.iter();
        for (phase, again) in first.phases.iter().zip(&second.phases) {
            let name = format!("{filesystem}: {}", phase.phase);
            assert!(phase == again, "{name}: other figures");
            if how(phase) == "completed" {
                assert!(phase.wall > Nanos::ZERO, "{name}: {phase:?}");
                assert!(phase.notes.is_empty(), "{name}: {:?}", phase.notes);
                let device = phase.device.expect("it is on a disk");
                assert!(device.reads + device.writes > 0, "{name}");
                continue;
            }
            let expected = lacking.next().unwrap_or_else(|| panic!("{name}: {}", how(phase)));
            assert_eq!(phase.phase, expected.0, "{name}: {}", how(phase));
            assert!(how(phase).contains(expected.1), "{name}: {}", how(phase));
            assert_eq!(phase.ops, 0, "{name}: what is missing is not 0 of something");
        }
        assert_eq!(lacking.next(), None, "{filesystem}");
        assert!(first.log == second.log, "{filesystem}: another log of requests");
        // A log is replayed: more is written than a mount after a clean unmount writes.
        let written = |name| first.phase("upkeep", name).device.expect("a disk").write_bytes;
        if *filesystem == "ext4" || *filesystem == "xfs" {
            assert!(written("mount-after-power-loss") > written("mount"), "{filesystem}");
        }
    }
}
