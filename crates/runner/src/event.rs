//! What a run tells while it goes on.

use trial::{Event, Outcome, TrialSpec};

/// The interface between the runner and whoever shows or logs it.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A trial begins.
    TrialStarted {
        /// Its place in the order of execution, from 0.
        ordinal: u32,
        /// Trials of the run that have ended.
        done: usize,
        /// All trials of the run.
        total: usize,
        /// What it is.
        spec: &'a TrialSpec,
    },
    /// Something within a trial.
    Trial {
        /// Which.
        ordinal: u32,
        /// What.
        event: &'a Event,
    },
    /// A trial has ended and is in the store.
    TrialStored {
        /// Which.
        ordinal: u32,
        /// What it was.
        spec: &'a TrialSpec,
        /// How it ended.
        outcome: &'a Outcome,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial has an outcome.
    Complete,
    /// It was stopped; the store has what was finished.
    Stopped,
}
