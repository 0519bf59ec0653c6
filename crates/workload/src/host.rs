//! What a workload gets from its surroundings, and what they do to a filesystem for it.

use units::{DeviceNumber, Nanos};

use crate::{Cache, PhaseEvent};

/// The services that a workload gets from its surroundings. Implemented by the trial's executor,
/// and by a small fake in tests.
pub trait Host {
    /// Empties the target's cache if that can be done and proved. No file of the target may
    /// be open. The target's path stays valid.
    fn make_cold(&self) -> Cache;

    /// Whether `target` is (still) on the filesystem under test.
    ///
    /// # Errors
    /// With what was found instead.
    fn check_target(&self) -> Result<(), String>;

    /// The block devices under the target whose counters belong to each phase.
    fn devices(&self) -> Vec<DeviceNumber>;

    /// How long the last [`Host::make_cold`] took to mount the target, if it mounted it.
    fn mount_took(&self) -> Option<Nanos> {
        None
    }

    /// Does an operation on the filesystem under test itself, and returns how long its programs
    /// and system calls took.
    ///
    /// # Errors
    /// When this filesystem or testbed does not support it, or when it failed.
    fn care(&self, _what: &Care) -> Result<Nanos, Uncared> {
        Err(Uncared::Missing("the filesystem is not the trial's own".to_owned()))
    }

    /// Receives what happens. Called between phases, and a few times a second within.
    fn emit(&self, event: PhaseEvent);
}

/// One operation on a filesystem. Each says in which state it leaves the filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Care {
    /// Unmounted and made again, with the same commands as before. Not mounted afterwards.
    Make,
    /// Mounted after it was made.
    FirstMount,
    /// Mounted, with nothing of it in memory.
    Mount,
    /// Unmounted.
    Unmount,
    /// The power fails while it is mounted: nothing reaches the disks from now on, and it is not
    /// mounted then.
    LosePower,
    /// Checked while it is not mounted, with nothing of it in memory.
    Check,
    /// Its first superblock is overwritten while it is not mounted.
    Damage,
    /// That superblock is restored.
    Repair,
    /// The snapshot of this number is taken of the mounted filesystem.
    TakeSnapshot(u64),
    /// It is removed.
    RemoveSnapshot(u64),
    /// Until the room of removed snapshots is free again.
    FreeSnapshots,
}

/// Why an operation was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncared {
    /// This filesystem or testbed does not support it; nothing was touched.
    Missing(String),
    /// It was tried and failed.
    Failed(String),
}
