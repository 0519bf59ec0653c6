//! Whether a run may pass: nothing is slower than before by more than was allowed, and that is shown.

use super::{Change, Changes, PhaseChange, Verdict};

/// Error rate of all phases together with which a gate finds something slower. Smaller than that of
/// the table: a gate is asked every day, and a false alarm costs somebody a day.
const ALPHA: f64 = 0.01;

/// Two runs of 20 ops of 0.1 ms at a load of 38 differed by 1.22 to 1.82 times with nothing changed,
/// while the repeats within each agreed: they share their moment. So a time of such a moment is only
/// known within this factor. That a quiet machine has such moments too is assumed
/// (docs/decisions/statistics.md).
const MOMENTS_DIFFER: f64 = 2.0;

/// How a phase stands to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtLimit {
    /// Shown to take less than the limit longer, and not shown to ask more of the disk.
    Within,
    /// Shown to take longer, or to ask more of the disk, by at least the limit at the best estimate.
    Beyond,
    /// Neither is shown, or there is no figure.
    Open,
}

/// What follows for the whole comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Every phase is within the limit.
    Passed,
    /// At least one is beyond it.
    Slower,
    /// None is beyond it, and of at least one neither is shown.
    Open,
}

impl Changes {
    /// What follows from a limit: a share, 0.05 for 5 %.
    pub fn gate(&self, limit: f64) -> Gate {
        let standings = || self.phases.iter().map(|phase| phase.at_limit(limit));
        match () {
            () if standings().any(|it| it == AtLimit::Beyond) => Gate::Slower,
            () if standings().any(|it| it == AtLimit::Open) => Gate::Open,
            () => Gate::Passed,
        }
    }
}

impl PhaseChange {
    /// How it stands to a limit. A phase is within it if the upper end of its own 95 % interval is,
    /// which may be narrower than the interval that answers all questions at once: for all phases
    /// together this is wrong in at most 2.5 of 100 comparisons, since the error would have to
    /// happen in the very phase that is beyond (an intersection-union test: Berger, Technometrics 24,
    /// 1982).
    pub fn at_limit(&self, limit: f64) -> AtLimit {
        let beyond = |change: &Change| {
            change.verdict == Verdict::More
                && change.p_adjusted.is_some_and(|p| p < ALPHA)
                && change.ratio.is_some_and(|it| it >= 1.0 + limit)
        };
        let moments = if self.of_moments.is_some() { MOMENTS_DIFFER } else { 1.0 };
        let of_time = beyond(&self.time) && self.time.low.is_some_and(|low| low >= moments);
        if of_time || self.counts.iter().any(|count| beyond(&count.change)) {
            return AtLimit::Beyond;
        }
        let within = match self.time.verdict {
            Verdict::Missing => false,
            Verdict::Same => true,
            _ => {
                let mut ways = self.time.ways.iter().peekable();
                ways.peek().is_some()
                    && ways.all(|way| way.interval(0.95).high * moments < 1.0 + limit)
            }
        };
        if within { AtLimit::Within } else { AtLimit::Open }
    }
}
