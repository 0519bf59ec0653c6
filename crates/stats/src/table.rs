//! One table: every contender's mean, every pair compared, ranks.

use crate::blocks::in_shared_blocks;
use crate::comparison::first_of_blocks;
use crate::judging::{Shown, judge};
use crate::standing::{Behind, Relation, Standing};
use crate::{
    Comparison, Estimate, FirstPlace, Interval, Missing, Observation, RankInterval, Resolution,
    arithmetic_mean, geometric_mean, paired, rank_intervals, welch,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Index of the contender in the numerator.
    pub a: usize,
    /// Index of the contender in the denominator.
    pub b: usize,
    /// The ratio of a to b as measured, and in the other ways in which it may be true.
    pub ways: Vec<Comparison>,
    /// What is shown of the ratio of a to b, with all pairs of the table as one family.
    pub shown: Shown,
}

impl Pair {
    /// The ratio as measured.
    pub fn comparison(&self) -> &Comparison {
        &self.ways[0]
    }

    /// Ratio and interval of contender `index` to the other one of the pair.
    fn seen_from(&self, index: usize) -> (f64, Interval) {
        let (ratio, interval) = (self.comparison().ratio(), self.shown.interval);
        if index == self.a { (ratio, interval) } else { (1.0 / ratio, interval.inverse()) }
    }
}

/// A table of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Each contender's mean: geometric, or arithmetic where a figure is 0.
    pub estimates: Vec<Result<Estimate, Missing>>,
    /// Every pair that could be compared, a before b.
    pub pairs: Vec<Pair>,
    /// Each contender's ranks; `None` where it cannot be compared with any other: it has no
    /// figure, fewer than two, or one of 0.
    pub ranks: Vec<Option<RankInterval>>,
    /// Who is first and how the others stand to it; `None` where nobody can be compared.
    pub standing: Option<Standing>,
}

impl Table {
    /// The pair of these two, whichever way round.
    pub fn pair(&self, one: usize, other: usize) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| (pair.a == one && pair.b == other) || (pair.a == other && pair.b == one))
    }

    /// What the table shows of the first place. A contender that has figures, but too few to be
    /// compared, leaves it open.
    pub fn first_place(&self) -> FirstPlace {
        let figures = self.estimates.iter().filter(|it| it.is_ok()).count();
        let Some(standing) = &self.standing else {
            return if figures > 1 { FirstPlace::Open } else { FirstPlace::Level };
        };
        if standing.behind.len() + 1 < figures {
            return FirstPlace::Open;
        }
        FirstPlace::of(standing.behind.iter().map(|it| it.relation))
    }

    /// Contenders that have ranks.
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
/// figure of 0) have no pair and no rank.
pub fn compare_all(series: &[Vec<Observation>], settings: &Settings) -> Table {
    let variants: Vec<Vec<Vec<Observation>>> = series.iter().map(|one| vec![one.clone()]).collect();
    compare_variants(&variants, settings)
}

/// The same for contenders whose figures may be true in one of several variants, the first of which
/// is what was measured: two of them differ only where they do so with every variant of both, and a
/// mean's interval holds those of all its variants.
///
/// Where contenders have figures of different blocks, as in a run that was cut off, all that have
/// most of them are judged by the blocks that they share: the means of different blocks may stand
/// the other way round than the contenders do in each block.
pub fn compare_variants(contenders: &[Vec<Vec<Observation>>], settings: &Settings) -> Table {
    let contenders = &in_shared_blocks(contenders);
    let values = |observations: &[Observation]| -> Vec<f64> {
        first_of_blocks(observations).iter().map(|o| o.value).collect()
    };
    let estimates: Vec<Result<Estimate, Missing>> = contenders
        .iter()
        .map(|variants| {
            let mut all = variants.iter().map(|one| mean(&values(one), settings.confidence));
            let mut measured = all.next().unwrap_or(Err(Missing::TooFew { have: 0, need: 1 }))?;
            for other in all.flatten() {
                measured.interval =
                    measured.interval.and_then(|known| Ok(known.hull(other.interval?)));
            }
            Ok(measured)
        })
        .collect();
    let mut compared: Vec<(usize, usize)> = Vec::new();
    let mut questions: Vec<Vec<Comparison>> = Vec::new();
    for a in 0..contenders.len() {
        for b in a + 1..contenders.len() {
            let both = contenders[a]
                .iter()
                .flat_map(|one| contenders[b].iter().map(move |other| (one, other)));
            let ways: Result<Vec<Comparison>, Missing> = both
                .map(|(one, other)| {
                    paired(one, other, settings.resolution)
                        .or_else(|_| welch(&values(one), &values(other), settings.resolution))
                })
                .collect();
            if let Ok(ways) = ways {
                compared.push((a, b));
                questions.push(ways);
            }
        }
    }
    let shown = judge(&questions, settings.alpha, settings.equivalence_margin);
    let pairs: Vec<Pair> = compared
        .into_iter()
        .zip(questions)
        .zip(shown)
        .map(|(((a, b), ways), shown)| Pair { a, b, ways, shown })
        .collect();
    let ranks = ranks(contenders.len(), &pairs, settings.better);
    let mut table = Table { estimates, pairs, ranks, standing: None };
    table.standing = standing(&table, settings.better);
    table
}

fn mean(values: &[f64], confidence: f64) -> Result<Estimate, Missing> {
    match geometric_mean(values, confidence) {
        Err(Missing::NotPositive { .. }) => arithmetic_mean(values, confidence),
        found => found,
    }
}

fn ranks(count: usize, pairs: &[Pair], better: Better) -> Vec<Option<RankInterval>> {
    let compared = |index: &usize| pairs.iter().any(|pair| pair.a == *index || pair.b == *index);
    let present: Vec<usize> = (0..count).filter(compared).collect();
    let place = |index: usize| present.iter().position(|other| *other == index);
    let separated: Vec<(usize, usize)> = pairs
        .iter()
        .filter(|pair| pair.shown.separated)
        .filter_map(|pair| {
            let a_is_smaller = pair.shown.interval.high < 1.0;
            let a_is_better = a_is_smaller == (better == Better::Lower);
            let (a, b) = (place(pair.a)?, place(pair.b)?);
            Some(if a_is_better { (a, b) } else { (b, a) })
        })
        .collect();
    let ranked = rank_intervals(present.len(), &separated);
    (0..count).map(|index| place(index).map(|at| ranked[at])).collect()
}

/// Who leads and how the others stand to it; `None` where nobody can be compared.
fn standing(table: &Table, better: Better) -> Option<Standing> {
    let figure = |index: usize| table.estimates[index].as_ref().ok().map(|it| it.mean);
    let mut order: Vec<(usize, f64)> = (0..table.ranks.len())
        .filter(|index| table.ranks[*index].is_some())
        .filter_map(|index| Some((index, figure(index)?)))
        .collect();
    order.sort_by(|a, b| match better {
        Better::Lower => a.1.total_cmp(&b.1),
        Better::Higher => b.1.total_cmp(&a.1),
    });
    let may_lead =
        |(index, _): &&(usize, f64)| table.ranks[*index].is_some_and(|rank| rank.best == 1);
    // How many times worse one is than another, in the blocks that both have.
    let worse = |index: usize, than: usize| {
        let pair = table.pair(index, than)?;
        let (ratio, interval) = pair.seen_from(index);
        Some(match better {
            Better::Lower => (pair, ratio, interval),
            Better::Higher => (pair, 1.0 / ratio, interval.inverse()),
        })
    };
    let beaten = |index: usize| {
        order.iter().filter_map(|(other, _)| worse(*other, index)).any(|(_, ratio, _)| ratio < 1.0)
    };
    let leader = order
        .iter()
        .filter(may_lead)
        .find(|(index, _)| !beaten(*index))
        .or_else(|| order.iter().find(may_lead))?
        .0;
    let others = order.iter().map(|(index, _)| *index).filter(|index| *index != leader);
    let behind = others.filter_map(|index| {
        let (pair, ratio, interval) = worse(index, leader)?;
        let relation = match (pair.shown.separated, pair.shown.equivalent) {
            (true, false) => Relation::Worse,
            (true, true) => Relation::LittleWorse,
            (false, true) => Relation::Level,
            (false, false) => Relation::Open,
        };
        Some(Behind { index, ratio, interval, relation })
    });
    let mut behind: Vec<Behind> = behind.collect();
    behind.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    Some(Standing { leader, behind })
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
        let equal = |a, b| table.pair(a, b).unwrap().shown.equivalent;
        assert!(equal(2, 1) && !equal(0, 1));
        let (ratio, interval) = table.pair(0, 3).unwrap().seen_from(3);
        assert!((ratio - 2.0).abs() < 0.01 && interval.low > 1.9 && interval.high < 2.1);
        let higher = compare_all(&contenders, &Settings::new(Better::Higher));
        assert_eq!(shown(&higher), ["4", "2–3", "2–3", "1", "–"]);
        let leader = |table: &Table| table.standing.as_ref().unwrap().leader;
        assert_eq!((leader(&table), leader(&higher)), (0, 3));
    }

    /// The second contender lacks the slow block, and so would have the best mean.
    #[test]
    fn contenders_of_different_blocks_stand_as_they_do_in_the_blocks_they_share() {
        let contenders =
            [series(&[1.0, 1.5, 9.0, 9.1]), series(&[1.3, 1.4]), series(&[1.2, 1.9, 8.0])];
        let table = compare_all(&contenders, &Settings::new(Better::Lower));
        let standing = table.standing.as_ref().unwrap();
        assert_eq!(standing.leader, 0, "{standing:?}");
        assert!(standing.behind.iter().all(|it| it.ratio >= 1.0), "{standing:?}");
        let of = |at: usize| table.estimates[at].as_ref().unwrap();
        assert_eq!(of(0).n, 3, "the blocks that the first and the third share");
        assert_eq!(of(1).n, 2);
    }

    #[test]
    fn one_repeat_ranks_nothing() {
        let table = compare_all(&[series(&[1.0]), series(&[9.0])], &Settings::new(Better::Lower));
        assert!(table.pairs.is_empty());
        assert_eq!(shown(&table), ["–", "–"]);
        assert_eq!(table.standing, None);
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
        assert_eq!(shown(&table), ["–", "1", "2"]);
    }

    #[test]
    fn without_shared_blocks_the_samples_are_independent() {
        let later: Vec<Observation> = (10..)
            .zip([2.0, 2.1, 1.9, 2.0])
            .map(|(block, value)| Observation { block, value })
            .collect();
        let table =
            compare_all(&[series(&[1.0, 1.02, 0.99, 1.01]), later], &Settings::new(Better::Lower));
        assert_eq!(table.pairs[0].comparison().design, crate::Design::Independent);
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
                proptest::prop_assert_eq!(pair.shown.separated, !pair.shown.interval.contains(1.0));
            }
            for rank in table.ranks.iter().flatten() {
                proptest::prop_assert!(1 <= rank.best && rank.best <= rank.worst);
                proptest::prop_assert!(rank.worst <= contenders.len());
            }
        }
    }

    #[test]
    fn of_a_block_that_occurs_twice_the_first_figure_counts() {
        let mut twice = series(&[2.0, 2.0]);
        twice.push(Observation { block: 1, value: 200.0 });
        let table = compare_all(&[twice, series(&[3.0, 3.0])], &Settings::new(Better::Lower));
        let mean = table.estimates[0].as_ref().unwrap();
        assert!((mean.mean - 2.0).abs() < 1e-9 && mean.n == 2, "{mean:?}");
    }
}
