//! How a trial ended.

use std::fmt;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Step;

/// The figure of a phase that gives the share of its time that the lab's transport to its disks took.
pub const OVERHEAD_SHARE: &str = "transport_tax_fraction";

/// The figure of a phase that gives the share of its measured time that was subtracted, because
/// the lab's transport used the processor during it.
pub const SUBTRACTED_SHARE: &str = "transport_subtracted_fraction";

/// The end of a trial, as data. Figures of a trial that is not [`Outcome::Done`] are kept but take
/// no part in comparisons. One exception: if a trial failed during its workloads, the phases
/// completed before that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Everything was done, and the filesystem was clean afterwards.
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
    /// Something outside of the trial ended it: its process or emulator was killed, the host ran
    /// out of room, a node was lost. This says nothing about the contender; `--resume` runs the
    /// trial again.
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
