//! What is done to a filesystem itself and not on it: made, mounted, checked, repaired. The
//! trial's executor does it, where the filesystem is the trial's own, and tells how long the
//! programs and system calls took, without what the trial does around them for safety.

use crate::{Cache, Context, Failure, PhaseDescription, PhaseResult};
use measure::ProcessCpu;

/// One thing done to a filesystem. Which of them can follow which is said at each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Care {
    /// Unmounted and made anew, by the very commands it was made with. Not mounted then.
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
    /// Brought back.
    Repair,
    /// The snapshot of this number is taken of the mounted filesystem.
    TakeSnapshot(u64),
    /// It is removed.
    RemoveSnapshot(u64),
    /// Until the room of removed snapshots is free again.
    FreeSnapshots,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncared {
    /// There is no such thing for this filesystem or testbed; nothing was touched.
    Missing(String),
    /// It was tried.
    Failed(String),
}

/// What became of it where nothing failed: why it is not offered, if so.
pub(crate) type Cared = Option<String>;

impl Context<'_> {
    /// Does something to the filesystem outside any clock. No file of it may be open.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn care(&self, what: &Care) -> Result<Cared, Failure> {
        match self.host().care(what) {
            Ok(_) => Ok(None),
            Err(Uncared::Missing(why)) => Ok(Some(why)),
            Err(Uncared::Failed(why)) => Err(Failure::Care(why)),
        }
    }

    /// Does something to the filesystem as a phase. No file of it may be open. Where
    /// it is not offered the phase is missing with the reason; where it is done, `annotate` may
    /// look at the filesystem and add to the result.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn care_phase(
        &mut self,
        phase: &'static PhaseDescription,
        what: &Care,
        cache: Cache,
        annotate: impl FnOnce(&mut PhaseResult),
    ) -> Result<Cared, Failure> {
        let begun = self.begin_anywhere(phase, 0, cache);
        let before = ProcessCpu::read();
        let done = self.host().care(what);
        let cpu = ProcessCpu::read().since(before);
        let mut result: PhaseResult = begun.result(self.description().name);
        result.cpu = cpu;
        let ended = match done {
            Err(Uncared::Missing(why)) => {
                self.skip(phase, why.as_str());
                return Ok(Some(why));
            }
            Err(Uncared::Failed(why)) => Err(Failure::Care(why)),
            Ok(took) => {
                result.wall = took;
                Ok(())
            }
        };
        self.conclude(&begun, result, ended, |(), result| annotate(result)).map(|()| None)
    }
}

/// A cache of which nothing is left, since the filesystem was not mounted.
pub(crate) fn unmounted() -> Cache {
    Cache::Cold { how: "not mounted, the devices' buffers dropped".to_owned() }
}
