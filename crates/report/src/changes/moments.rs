//! A run on a real machine is one moment, which all its repeats share.

use serde::Serialize;
use store::StoredRun;

use crate::analysis::{PhaseAnalysis, Unit};
use crate::busy::{Load, busy_load};
use crate::wording::figure;

/// Shortest time of a trial, in seconds of a real clock, below which a run is no more than a moment.
const MOMENT: f64 = 0.1;

/// Why times are those of two moments of a real machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Moments {
    /// It had other work to do when one of the runs began.
    Busy {
        /// The load, the higher one of both.
        #[serde(flatten)]
        load: Load,
    },
    /// A trial's phase is over in a moment.
    Short {
        /// The shortest, in seconds.
        seconds: f64,
    },
}

impl Moments {
    pub(super) fn of(runs: [&StoredRun; 2], phase: &PhaseAnalysis) -> Option<Moments> {
        let real = runs.iter().any(|run| !run.header.is_simulated());
        let load = runs
            .iter()
            .filter_map(|run| busy_load(&run.header))
            .max_by(|a, b| a.load.total_cmp(&b.load));
        let seconds = phase.measured.map(|it| it.seconds_least).filter(|it| *it < MOMENT);
        load.map(|load| Moments::Busy { load })
            .or(seconds.map(|seconds| Moments::Short { seconds }))
            .filter(|_| real)
    }

    /// In words, for what a gate does not decide.
    pub fn words(self) -> String {
        match self {
            Moments::Busy { load } => format!("the machine was busy ({load})"),
            Moments::Short { seconds } => {
                format!("a trial of {} is a moment", figure(seconds, Unit::Seconds))
            }
        }
    }
}
