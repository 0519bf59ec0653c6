//! How a trial ended.

use std::fmt;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Step;

/// How the reason of a phase begins that is not comparable because the lab's own way to its
/// disks took too much of its time. What the disk was asked for is counted exactly all the same.
pub const OVERHEAD: &str = "the simulation's own transport took";

/// The figure of a phase that says which share of its time that is.
pub const OVERHEAD_SHARE: &str = "transport_tax_fraction";

/// The figure of a phase that says which share of its measured time was taken off it, because the
/// lab's transport had the processor meanwhile.
pub const SUBTRACTED_SHARE: &str = "transport_subtracted_fraction";

/// The end of a trial, as data. Figures of a trial that is not [`Outcome::Done`] are kept
/// but take no part in comparisons; save that of one that failed at work what was complete
/// before does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Everything was done and the filesystem was clean afterwards.
    Done,
    /// Not begun: a rule, a missing tool, too little room.
    Refused {
        /// The rule and the next step.
        reason: String,
    },
    /// It began and could not go on.
    Failed {
        /// Where.
        step: Step,
        /// What, on what, why.
        reason: String,
    },
    /// It took longer than allowed.
    TimedOut {
        /// Where.
        step: Step,
        /// The limit.
        after: Nanos,
    },
    /// The process or the guest that ran it is gone.
    GuestDied {
        /// Exit status or signal, panic message.
        reason: String,
        /// The guest kernel's last words; empty where there is no guest.
        kernel_log: String,
    },
    /// Something outside of the trial ended it: its process or emulator was killed, the host was
    /// full, a node was lost. It says nothing of the contender; `--resume` runs it again.
    Lost {
        /// What ended it.
        reason: String,
    },
}

impl Outcome {
    /// The word of [`Outcome::Lost`].
    pub const LOST: &'static str = "lost";

    /// The outcome's word in tables and in the store.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused { .. } => "refused",
            Outcome::Failed { .. } => "failed",
            Outcome::TimedOut { .. } => "timed out",
            Outcome::GuestDied { .. } => "guest died",
            Outcome::Lost { .. } => Outcome::LOST,
        }
    }

    /// Whether all its figures take part in comparisons.
    pub fn is_done(&self) -> bool {
        matches!(self, Outcome::Done)
    }
}

/// `failed at mkfs: mke2fs: No space left on device`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("done"),
            Outcome::Refused { reason } => write!(f, "refused: {reason}"),
            Outcome::Failed { step, reason } => write!(f, "failed at {step}: {reason}"),
            Outcome::TimedOut { step, after } => write!(f, "timed out at {step} after {after}"),
            Outcome::GuestDied { reason, .. } => write!(f, "died: {reason}"),
            Outcome::Lost { reason } => write!(f, "lost: {reason}"),
        }
    }
}
