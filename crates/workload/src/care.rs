//! Operations on a filesystem itself, not on its files: making, mounting, checking, repairing. The
//! trial's executor does them, if the filesystem is the trial's own, and reports how long the
//! programs and system calls took, without the trial's own safety checks around them.

use crate::{Cache, Care, Context, Failure, PhaseDescription, PhaseResult, Uncared};
use measure::ProcessCpu;

/// The result if nothing failed: the reason why it is not supported, if so.
pub(crate) type Cared = Option<String>;

impl Context<'_> {
    /// Does an operation on the filesystem outside any clock. No file of it may be open.
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

    /// Does an operation on the filesystem as a phase. No file of it may be open. If the operation
    /// is not supported, the phase is missing with the reason; if it is done, `annotate` may look
    /// at the filesystem and add to the result.
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

/// A cache that is empty because the filesystem was not mounted.
pub(crate) fn unmounted() -> Cache {
    Cache::Cold { how: "not mounted, the devices' buffers dropped".to_owned() }
}
