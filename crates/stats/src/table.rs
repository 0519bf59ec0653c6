//! One table: every contender's mean, every pair compared, ranks.

use crate::comparison::first_of_blocks;
use crate::holm::{confidences, holm};
use crate::{
    Comparison, Estimate, Interval, Missing, Observation, RankInterval, Resolution,
    arithmetic_mean, equivalence_p, geometric_mean, paired, rank_intervals, welch,
};

/// Which figures are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Small ones: times, latencies.
    Lower,
    /// Large ones: rates.
    Higher,
}

/// How a table is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which figures are better.
    pub better: Better,
    /// How finely they are measured.
    pub resolution: Resolution,
    /// Error rate for the whole table.
    pub alpha: f64,
    /// Confidence of each contender's own interval.
    pub confidence: f64,
    /// Ratios up to 1 + this count as equal, if they can be shown to be.
    pub equivalence_margin: f64,
}

impl Settings {
    /// 5 % for the table, 95 % intervals, an equivalence margin of 5 %.
    pub fn new(better: Better) -> Settings {
        Settings {
            better,
            resolution: Resolution::Fine,
            alpha: 0.05,
            confidence: 0.95,
            equivalence_margin: 0.05,
        }
    }
}

/// Two contenders of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Index of the contender in the numerator.
    pub a: usize,
    /// Index of the contender in the denominator.
    pub b: usize,
    /// The ratio of a to b.
    pub comparison: Comparison,
    /// p after Holm's correction over the table.
    pub p_adjusted: f64,
    /// Interval of the ratio a to b at the confidence of this pair's step of Holm's
    /// procedure: it excludes 1 exactly when the pair is separated. The confidence is never below
    /// the table's 1 − α.
    pub interval: Interval,
    /// Whether they differ, after correction.
    pub separated: bool,
    /// Whether they are equal within the margin, after correction over the table's pairs.
    pub equivalent: bool,
}

impl Pair {
    /// Ratio and interval of contender `index` to the other one of the pair.
    pub fn seen_from(&self, index: usize) -> (f64, Interval) {
        if index == self.a {
            (self.comparison.ratio(), self.interval)
        } else {
            (1.0 / self.comparison.ratio(), self.interval.inverse())
        }
    }
}

/// A table of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Each contender's mean: geometric, or arithmetic where a figure is 0.
    pub estimates: Vec<Result<Estimate, Missing>>,
    /// Every pair that could be compared, a before b.
    pub pairs: Vec<Pair>,
    /// Each contender's ranks; `None` where it has no figure. A contender that has figures
    /// but cannot be compared may hold any rank.
    pub ranks: Vec<Option<RankInterval>>,
    /// The contender with the best mean, whether or not it is separated from the others.
    pub best: Option<usize>,
}

impl Table {
    /// The pair of these two, whichever way round.
    pub fn pair(&self, one: usize, other: usize) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| (pair.a == one && pair.b == other) || (pair.a == other && pair.b == one))
    }

    /// Contenders that have a figure.
    pub fn present(&self) -> usize {
        self.ranks.iter().flatten().count()
    }

    /// Whether `index` is among the best: no contender is shown to be better, and at least one is
    /// shown to be worse.
    pub fn is_best(&self, index: usize) -> bool {
        let present = self.present();
        self.ranks[index].is_some_and(|rank| rank.best == 1 && rank.worst < present)
    }

    /// Whether `index` is among the worst: no contender is shown to be worse, and at least one is
    /// shown to be better.
    pub fn is_worst(&self, index: usize) -> bool {
        let present = self.present();
        self.ranks[index].is_some_and(|rank| rank.worst == present && rank.best > 1)
    }
}

/// Compares every contender with every other: paired by block where they share at least
/// two blocks, else as independent samples. Contenders that cannot be compared (one repeat, a
/// figure of 0) have no pair, which widens the rank intervals.
pub fn compare_all(series: &[Vec<Observation>], settings: &Settings) -> Table {
    let values: Vec<Vec<f64>> = series
        .iter()
        .map(|observations| first_of_blocks(observations).iter().map(|o| o.value).collect())
        .collect();
    let estimates: Vec<Result<Estimate, Missing>> =
        values.iter().map(|values| mean(values, settings.confidence)).collect();

    let mut compared: Vec<(usize, usize, Comparison)> = Vec::new();
    for a in 0..series.len() {
        for b in a + 1..series.len() {
            let found = paired(&series[a], &series[b], settings.resolution)
                .or_else(|_| welch(&values[a], &values[b], settings.resolution));
            if let Ok(comparison) = found {
                compared.push((a, b, comparison));
            }
        }
    }
    let p_values: Vec<f64> = compared.iter().map(|(_, _, found)| found.p()).collect();
    let equal: Vec<f64> = compared
        .iter()
        .map(|(_, _, found)| equivalence_p(found, settings.equivalence_margin))
        .collect();
    let (adjusted, equal) = (holm(&p_values), holm(&equal));
    let levels = confidences(&p_values, settings.alpha);
    let pairs: Vec<Pair> = compared
        .into_iter()
        .enumerate()
        .map(|(index, (a, b, comparison))| Pair {
            a,
            b,
            comparison,
            p_adjusted: adjusted[index],
            interval: comparison.interval(levels[index]),
            separated: adjusted[index] <= settings.alpha,
            equivalent: equal[index] <= settings.alpha,
        })
        .collect();

    let ranks = ranks(&estimates, &pairs, settings.better);
    let best = best(&estimates, settings.better);
    Table { estimates, pairs, ranks, best }
}

fn mean(values: &[f64], confidence: f64) -> Result<Estimate, Missing> {
    match geometric_mean(values, confidence) {
        Err(Missing::NotPositive { .. }) => arithmetic_mean(values, confidence),
        found => found,
    }
}

fn ranks(
    estimates: &[Result<Estimate, Missing>],
    pairs: &[Pair],
    better: Better,
) -> Vec<Option<RankInterval>> {
    let present: Vec<usize> =
        (0..estimates.len()).filter(|index| estimates[*index].is_ok()).collect();
    let place = |index: usize| present.iter().position(|other| *other == index);
    let separated: Vec<(usize, usize)> = pairs
        .iter()
        .filter(|pair| pair.separated)
        .filter_map(|pair| {
            let a_is_smaller = pair.comparison.log_ratio < 0.0;
            let a_is_better = a_is_smaller == (better == Better::Lower);
            let (a, b) = (place(pair.a)?, place(pair.b)?);
            Some(if a_is_better { (a, b) } else { (b, a) })
        })
        .collect();
    let ranked = rank_intervals(present.len(), &separated);
    (0..estimates.len()).map(|index| place(index).map(|at| ranked[at])).collect()
}

fn best(estimates: &[Result<Estimate, Missing>], better: Better) -> Option<usize> {
    let means = estimates.iter().enumerate().filter_map(|(index, estimate)| {
        estimate.as_ref().ok().map(|estimate| (index, estimate.mean))
    });
    match better {
        Better::Lower => means.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Higher => means.max_by(|a, b| a.1.total_cmp(&b.1)),
    }
    .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Vec<Observation> {
        (0..).zip(values).map(|(block, value)| Observation { block, value: *value }).collect()
    }

    fn shown(table: &Table) -> Vec<String> {
        table
            .ranks
            .iter()
            .map(|rank| rank.map_or("–".to_owned(), |rank| rank.to_string()))
            .collect()
    }

    #[test]
    fn a_leader_two_alike_a_last_and_one_that_failed() {
        let contenders = [
            series(&[1.00, 1.01, 0.99, 1.00, 1.01]),
            series(&[1.30, 1.32, 1.29, 1.31, 1.30]),
            series(&[1.31, 1.30, 1.30, 1.30, 1.32]),
            series(&[2.00, 2.05, 1.95, 2.02, 1.99]),
            series(&[]),
        ];
        let table = compare_all(&contenders, &Settings::new(Better::Lower));
        assert_eq!(shown(&table), ["1", "2–3", "2–3", "4", "–"]);
        assert!(table.is_best(0) && table.is_worst(3) && !table.is_worst(1));
        assert!(table.pair(2, 1).unwrap().equivalent && !table.pair(0, 1).unwrap().equivalent);
        let (ratio, interval) = table.pair(0, 3).unwrap().seen_from(3);
        assert!((ratio - 2.0).abs() < 0.01 && interval.low > 1.9 && interval.high < 2.1);
        let higher = compare_all(&contenders, &Settings::new(Better::Higher));
        assert_eq!(shown(&higher), ["4", "2–3", "2–3", "1", "–"]);
        assert_eq!((table.best, higher.best), (Some(0), Some(3)));
    }

    #[test]
    fn one_repeat_ranks_nothing() {
        let table = compare_all(&[series(&[1.0]), series(&[9.0])], &Settings::new(Better::Lower));
        assert!(table.pairs.is_empty());
        assert_eq!(shown(&table), ["1–2", "1–2"]);
        assert!(!table.is_best(0) && !table.is_worst(1));
        assert!(compare_all(&[], &Settings::new(Better::Lower)).ranks.is_empty());
    }

    #[test]
    fn a_figure_of_nothing_is_shown_and_not_compared() {
        let table = compare_all(
            &[series(&[0.0, 0.0]), series(&[5.0, 5.0]), series(&[50.0, 50.0])],
            &Settings::new(Better::Lower),
        );
        assert_eq!(table.estimates[0].unwrap().mean, 0.0);
        assert_eq!(table.pairs.len(), 1);
        assert_eq!(shown(&table), ["1–3", "1–2", "2–3"]);
    }

    #[test]
    fn without_shared_blocks_the_samples_are_independent() {
        let later: Vec<Observation> = (10..)
            .zip([2.0, 2.1, 1.9, 2.0])
            .map(|(block, value)| Observation { block, value })
            .collect();
        let table =
            compare_all(&[series(&[1.0, 1.02, 0.99, 1.01]), later], &Settings::new(Better::Lower));
        assert_eq!(table.pairs[0].comparison.design, crate::Design::Independent);
        assert_eq!(shown(&table), ["1", "2"]);
    }

    proptest::proptest! {
        #[test]
        fn intervals_agree_with_separation_and_ranks_with_both(
            values in proptest::collection::vec(
                proptest::collection::vec(0.5f64..2.0, 4), 2..6),
        ) {
            let contenders: Vec<_> = values.iter().map(|values| series(values)).collect();
            let table = compare_all(&contenders, &Settings::new(Better::Lower));
            for pair in &table.pairs {
                proptest::prop_assert_eq!(pair.separated, !pair.interval.contains(1.0));
            }
            for rank in table.ranks.iter().flatten() {
                proptest::prop_assert!(1 <= rank.best && rank.best <= rank.worst);
                proptest::prop_assert!(rank.worst <= contenders.len());
            }
        }
    }
}
