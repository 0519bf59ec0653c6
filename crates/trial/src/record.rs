//! The record of a trial: collected from its events, stored, and read back in this one shape.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use workload::{PhaseEvent, PhaseResult};

use crate::{Event, Made, Outcome, SpaceUse};

/// Everything recorded about a trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrialRecord {
    /// How it ended; `None` while it has not.
    pub outcome: Option<Outcome>,
    /// What it actually ran on; `None` when it never got that far.
    pub made: Option<Made>,
    /// What its workloads left; `None` when it never got that far, or was made by a version
    /// that did not look.
    #[serde(default)]
    pub space: Option<SpaceUse>,
    /// What it cost the machine that ran it; `None` where that was not measured.
    #[serde(default)]
    pub host: Option<Duration>,
    /// Its phases, in order.
    pub phases: Vec<PhaseResult>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl TrialRecord {
    /// A trial of which only the end is known.
    pub fn ended(outcome: Outcome) -> TrialRecord {
        TrialRecord { outcome: Some(outcome), ..TrialRecord::default() }
    }

    /// Adds the contents of an event; events that only report progress are ignored.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Made(made) => self.made = Some(*made),
            Event::Space(space) => self.space = Some(space),
            Event::Phase(PhaseEvent::Finished(result)) => self.phases.push(*result),
            Event::Took(host) => self.host = Some(host),
            Event::Note(note) => self.notes.push(note),
            Event::Ended(outcome) => self.outcome = Some(outcome),
            Event::Step(_) | Event::Phase(_) | Event::Found(_) | Event::Crash(_) => {}
        }
    }
}
