//! The events that a run reports while it goes on.

use std::path::Path;
use std::time::Duration;

use stack::Refusal;
use testbed::Queue;
use trial::{Event, Outcome, TrialSpec};

use crate::Durations;

/// The interface between the runner and whoever shows or logs it.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// A trial of the plan cannot run here; its outcome says so. Reported once for each reason.
    LeftOut {
        /// Why.
        refusal: &'a Refusal,
    },
    /// The run begins, or goes on.
    Began {
        /// Its id.
        run: &'a str,
        /// Where its results are.
        store: &'a Path,
        /// The trials that remain, in their order.
        remain: Vec<TrialSpec>,
        /// How many run at the same time.
        lanes: usize,
        /// How long trials took here before.
        durations: Durations,
    },
    /// The figures leave it open who is first: repeats are added to those that were made.
    Further {
        /// How many were made.
        from: u32,
        /// How many there will be.
        to: u32,
    },
    /// Trials that something outside of them had ended are run again.
    Again {
        /// The run's id.
        run: &'a str,
        /// How many.
        trials: usize,
        /// How often each is run again at most.
        most: u32,
    },
    /// Other fstrials of this user run trials here; they take turns. Reported once for each run.
    TakesTurns {
        /// Who they are.
        queue: Queue,
    },
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
        /// How long it waited for its turn.
        waited: Duration,
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
        /// How much of the host's time it took, without the time for what later trials reuse.
        took: Duration,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Every trial has an outcome.
    Complete,
    /// It was stopped; the store has what was finished.
    Stopped,
    /// Its first trial ended before its work began, as the others would; the store has why.
    Hopeless,
}
