//! Going on after a failed phase, where the next phases do not depend on it.

use crate::{Context, Failure, NotComparable, PhaseResult};

/// The first failure of a workload that goes on.
#[derive(Debug, Default)]
pub(crate) struct KeepGoing {
    first: Option<Failure>,
}

impl KeepGoing {
    /// What a phase yielded, or nothing when an op of it failed: the failure is kept for the
    /// end.
    ///
    /// # Errors
    /// When nothing may follow because the target is lost.
    pub(crate) fn take<R>(&mut self, ended: Result<R, Failure>) -> Result<Option<R>, Failure> {
        match ended {
            Ok(value) => Ok(Some(value)),
            Err(lost @ Failure::TargetLost(_)) => Err(lost),
            Err(failure) => {
                self.first.get_or_insert(failure);
                Ok(None)
            }
        }
    }

    /// The first failure, if there was one.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.first.map_or(Ok(()), Err)
    }
}

/// Why figures of the next phase must not be compared: an earlier phase failed and left the
/// filesystem in another state.
pub(crate) fn after_failure(context: &Context<'_>) -> Option<NotComparable> {
    let phase = context.phases_failed().first()?.to_string();
    Some(NotComparable::AfterPhase { phase })
}

/// Keeps the first reason not to compare a result.
pub(crate) fn not_comparable(result: &mut PhaseResult, reason: Option<NotComparable>) {
    if let Some(reason) = reason {
        result.not_comparable.get_or_insert(reason);
    }
}
