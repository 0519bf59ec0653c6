//! How much was measured: a rate of few ops, or of a moment, is one of a beginning.

use serde::Serialize;
use store::StoredRun;

use super::Headline;
use crate::analysis::Measured;
use crate::sentences;

/// How much a workload's answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MeasuredWork {
    #[serde(flatten)]
    pub(crate) work: Measured,
    /// What an op is; `ops` where the workload has no word for it.
    pub(crate) things: &'static str,
    /// `virtual` or `real`.
    pub(crate) clock: &'static str,
    /// Whether it is enough for a rate and a percentile.
    pub(crate) enough: bool,
    /// All of it in words.
    pub(crate) words: String,
}

/// Below this many ops a rate and a percentile may be those of the beginning.
pub(crate) const OPS_ENOUGH: u64 = 3000;

/// The same in seconds of the clock it is measured by.
pub(crate) const SECONDS_ENOUGH: f64 = 1.0;

pub(super) fn of(headline: &Headline<'_>, run: &StoredRun) -> Option<MeasuredWork> {
    let work = headline.phase.measured?;
    // A phase that is a single program counts no ops.
    let ops = work.ops_most == 0 || work.ops_least >= OPS_ENOUGH;
    let mut measured = MeasuredWork {
        work,
        things: if headline.things.is_empty() { "ops" } else { headline.things },
        clock: if run.header.is_simulated() { "virtual" } else { "real" },
        enough: ops && work.seconds_least >= SECONDS_ENOUGH,
        words: String::new(),
    };
    measured.words = sentences::of_work(&work, measured.things, measured.clock);
    // A program's own figures are of a part of that time.
    if work.ops_most > 0 && headline.is_own {
        measured.words +=
            "; the time is that of the whole program, its figures leave some of it out";
    }
    Some(measured)
}
