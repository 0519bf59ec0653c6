//! Times of which the lab's own transport took more than its limit. How much it took is known for
//! the phase as a whole, so a figure lies between what was measured and the same without it: its
//! interval holds both, and two contenders differ only where they do so with and without it.

use stats::{
    Comparison, Interval, Observation, Pair, RankInterval, Settings, Table, compare_all,
    rank_intervals,
};
use workload::PhaseResult;

use super::Measure;

/// Latencies are shown only if no more than this share of a phase's measured time was subtracted as
/// the transport's.
const SUBTRACTED_MOST: f64 = 0.05;

/// The share of the phase's time that was the transport's; `None` where it is not known, or all.
pub(super) fn share(result: &PhaseResult) -> Option<f64> {
    result.figures.get(trial::OVERHEAD_SHARE).copied().filter(|share| *share > 0.0 && *share < 1.0)
}

/// Why times of single ops of a phase are too long; `None` where they are not.
pub(super) fn of_single_ops(result: &PhaseResult) -> Option<String> {
    let share = result.figures.get(trial::SUBTRACTED_SHARE).copied().unwrap_or(0.0);
    (share > SUBTRACTED_MOST).then(|| {
        format!(
            "the simulation's own transport had the processor for {:.0} % of the measured time: that is \
             taken off the phase's time, and cannot be taken off the times of single ops",
            share * 100.0
        )
    })
}

impl Measure {
    /// Whether it may contain times that the workload measured itself; the transport's share of
    /// these is unknown.
    pub(super) fn is_of_single_ops(&self) -> bool {
        matches!(self, Measure::Latency(..) | Measure::Figure(_)) && !self.is_count()
    }

    /// Whether the transport's share of the phase's time is also its share of this figure.
    /// It is unknown which op of a phase was late, so this is never so for latencies.
    pub(super) fn is_of_whole_phase(&self) -> bool {
        matches!(self, Measure::Wall | Measure::OpsRate | Measure::ReadRate | Measure::WriteRate)
    }

    /// The figure as it would be without the transport's share of the time.
    pub(super) fn without(&self, value: f64, share: f64) -> f64 {
        if *self == Measure::Wall { value * (1.0 - share) } else { value / (1.0 - share) }
    }
}

/// Compares as [`compare_all`] does, and again with the transport's part subtracted: `without`
/// holds each contender's figures after that, equal to `series` where nothing is subtracted.
pub(super) fn compare_with_and_without(
    series: &[Vec<Observation>],
    without: &[Vec<Observation>],
    settings: &Settings,
) -> Table {
    if series == without {
        return compare_all(series, settings);
    }
    let count = series.len();
    let plain = compare_all(series, settings);
    // All of both in one table, so that its error rate covers every comparison made.
    let both = compare_all(&[series, without].concat(), settings);
    let pairs: Vec<Pair> = plain
        .pairs
        .iter()
        .filter_map(|pair| {
            let (a, b) = (pair.a, pair.b);
            let ways = [(a, b), (a, b + count), (a + count, b), (a + count, b + count)];
            let found: Option<Vec<(Comparison, &Pair, Interval)>> = ways
                .into_iter()
                .map(|(one, other)| {
                    let found = both.pair(one, other)?;
                    let turned = found.a != one;
                    let comparison =
                        if turned { found.comparison.inverse() } else { found.comparison };
                    Some((comparison, found, found.seen_from(one).1))
                })
                .collect();
            Some(joined(pair, &found?))
        })
        .collect();
    let estimates = plain
        .estimates
        .iter()
        .zip(&both.estimates[count..])
        .map(|(measured, less)| {
            let mut estimate = (*measured)?;
            if let (Ok(one), Ok(other)) = (&estimate.interval, less.as_ref().map(|it| it.interval))
                && let Ok(other) = other
            {
                estimate.interval = Ok(hull(*one, other));
            }
            Ok(estimate)
        })
        .collect();
    let present: Vec<usize> = (0..count).filter(|at| plain.ranks[*at].is_some()).collect();
    let place = |index: usize| present.iter().position(|at| *at == index);
    let separated: Vec<(usize, usize)> = pairs
        .iter()
        .filter(|pair| pair.separated)
        .filter_map(|pair| {
            let a_is_less = pair.comparison.log_ratio < 0.0;
            let a_is_better = a_is_less == (settings.better == stats::Better::Lower);
            let (better, worse) = if a_is_better { (pair.a, pair.b) } else { (pair.b, pair.a) };
            Some((place(better)?, place(worse)?))
        })
        .collect();
    let intervals = rank_intervals(present.len(), &separated);
    let ranks: Vec<Option<RankInterval>> =
        (0..count).map(|index| place(index).map(|at| intervals[at])).collect();
    Table { estimates, pairs, ranks, best: plain.best }
}

/// A result for a pair that holds whichever of the two ways of comparing it is the true one.
fn joined(plain: &Pair, ways: &[(Comparison, &Pair, Interval)]) -> Pair {
    let interval =
        ways.iter().map(|(_, _, interval)| *interval).reduce(hull).unwrap_or(plain.interval);
    let most = |of: &dyn Fn(&Pair) -> f64| ways.iter().map(|way| of(way.1)).fold(0.0, f64::max);
    let one_way = ways.iter().all(|way| way.0.log_ratio > 0.0)
        || ways.iter().all(|way| way.0.log_ratio < 0.0);
    Pair {
        p_adjusted: if one_way { most(&|pair| pair.p_adjusted) } else { 1.0 },
        interval,
        separated: one_way && ways.iter().all(|way| way.1.separated),
        equivalent: ways.iter().all(|way| way.1.equivalent),
        ..*plain
    }
}

fn hull(one: Interval, other: Interval) -> Interval {
    Interval { low: one.low.min(other.low), high: one.high.max(other.high) }
}
