//! One phase: its tables, their statistics and their footnotes.

use stats::{Better, Observation, Pair, Plan, Settings, compare_all};
use workload::{Cache, PhaseResult, PhaseStatus};

use super::arrange::{Phase, Task};
use super::{
    AgainstBest, CacheUse, Cell, Conditions, Footnote, Mark, Measure, MetricTable, OpKind,
    PairResult, PhaseAnalysis, Rank, TrialFigure, verdict,
};

pub(super) const ALPHA: f64 = 0.05;
pub(super) const CONFIDENCE: f64 = 0.95;
pub(super) const EQUIVALENCE_MARGIN: f64 = 0.05;

pub(super) fn phase(
    task: &Task<'_>,
    phase: &Phase<'_>,
    contenders: &[Conditions],
) -> PhaseAnalysis {
    let described = task
        .describes()
        .and_then(|workload| workload.phases.iter().find(|known| known.name == phase.name));
    let usable: Vec<&PhaseResult> =
        phase.trials.iter().flatten().filter_map(|entry| entry.usable()).collect();
    let mut footnotes = Footnotes::default();
    let unusable: Vec<Vec<usize>> =
        (0..phase.trials.len()).map(|contender| footnotes.of_unusable(phase, contender)).collect();
    let counted: Vec<&PhaseResult> =
        phase.trials.iter().flatten().filter_map(|entry| entry.counted()).collect();
    let compared = Measure::of_all(&usable);
    let tables: Vec<MetricTable> = Measure::of_all(&counted)
        .into_iter()
        .filter(|measure| measure.is_count() || compared.contains(measure))
        .map(|measure| table(&measure, phase, &unusable, &mut footnotes))
        .collect();
    footnotes.of_notes(phase);
    let ops = described.map_or_else(Vec::new, |known| {
        known
            .ops
            .iter()
            .map(|op| OpKind { name: op.name.to_owned(), span: op.span.to_owned() })
            .collect()
    });
    let smallest_difference = tables.first().and_then(smallest_difference);
    let mut analysed = PhaseAnalysis {
        name: phase.name.clone(),
        summary: described.map(|known| known.summary.to_owned()).unwrap_or_default(),
        clock: described.map(|known| known.clock.to_owned()).unwrap_or_default(),
        ops,
        cache: cache(phase),
        verdict: String::new(),
        tables,
        footnotes: footnotes.0,
        smallest_difference,
    };
    analysed.verdict = verdict::of_phase(&analysed, contenders);
    analysed
}

fn table(
    measure: &Measure,
    phase: &Phase<'_>,
    unusable: &[Vec<usize>],
    footnotes: &mut Footnotes,
) -> MetricTable {
    let metric = measure.metric();
    let mut cells: Vec<Cell> = Vec::new();
    for (contender, entries) in phase.trials.iter().enumerate() {
        let mut cell = Cell { footnotes: unusable[contender].clone(), ..Cell::default() };
        for entry in entries {
            let shown = if measure.is_count() { entry.counted() } else { entry.usable() };
            let Some(result) = shown else { continue };
            match measure.figure(result) {
                Ok(value) => cell.figures.push(TrialFigure {
                    trial: entry.trial.ordinal,
                    block: entry.trial.spec.block,
                    value,
                }),
                Err(reason) => cell.footnotes.push(footnotes.add(contender, reason)),
            }
        }
        if entries.is_empty() {
            cell.footnotes.push(footnotes.add(contender, "not part of this run".to_owned()));
        }
        cell.footnotes.sort_unstable();
        cell.footnotes.dedup();
        cells.push(cell);
    }
    let better = match metric.higher_is_better {
        Some(true) => Better::Higher,
        _ => Better::Lower,
    };
    let settings = Settings {
        resolution: measure.resolution(),
        alpha: ALPHA,
        confidence: CONFIDENCE,
        equivalence_margin: EQUIVALENCE_MARGIN,
        ..Settings::new(better)
    };
    let pairs = fill(&mut cells, &settings, metric.higher_is_better.is_some());
    MetricTable { metric, cells, pairs }
}

/// Computes the cells' statistics; ranks and pairs only where one end is better.
fn fill(cells: &mut [Cell], settings: &Settings, ranked: bool) -> Vec<PairResult> {
    let series: Vec<Vec<Observation>> = cells
        .iter()
        .map(|cell| {
            cell.figures.iter().map(|f| Observation { block: f.block, value: f.value }).collect()
        })
        .collect();
    let table = compare_all(&series, settings);
    for (index, cell) in cells.iter_mut().enumerate() {
        let Ok(estimate) = &table.estimates[index] else { continue };
        cell.mean = finite(estimate.mean);
        if let Ok(interval) = estimate.interval {
            (cell.low, cell.high) = (finite(interval.low), finite(interval.high));
        }
        cell.spread = estimate.spread.ok().and_then(finite);
        if !ranked {
            continue;
        }
        cell.rank = table.ranks[index].map(|rank| Rank { best: rank.best, worst: rank.worst });
        cell.against_best = table.best.filter(|best| *best != index).and_then(|best| {
            let best_mean = table.estimates[best].as_ref().ok()?.mean;
            against_best(settings.better, table.pair(index, best), index, estimate.mean, best_mean)
        });
    }
    if !ranked {
        return Vec::new();
    }
    mark(cells, &table, settings.better);
    table.pairs.iter().map(pair_result).collect()
}

/// Marks from the best mean on while they are among the best, and from the worst mean on
/// likewise: a steady contender is not marked where a faster one is too noisy to be.
fn mark(cells: &mut [Cell], table: &stats::Table, better: Better) {
    let mut order: Vec<usize> = (0..cells.len()).filter(|at| cells[*at].mean.is_some()).collect();
    order.sort_by(|a, b| cells[*a].mean.unwrap_or(0.0).total_cmp(&cells[*b].mean.unwrap_or(0.0)));
    if better == Better::Higher {
        order.reverse();
    }
    for index in order.iter().take_while(|index| table.is_best(**index)) {
        cells[*index].mark = Some(Mark::Best);
    }
    for index in order.iter().rev().take_while(|index| table.is_worst(**index)) {
        cells[*index].mark = Some(Mark::Worst);
    }
}

fn against_best(
    better: Better,
    pair: Option<&Pair>,
    index: usize,
    mean: f64,
    best_mean: f64,
) -> Option<AgainstBest> {
    let worse = |ratio: f64| if better == Better::Lower { ratio } else { 1.0 / ratio };
    let Some(pair) = pair else {
        // Too few repeats for an interval: the bare ratio of the means, where there is one.
        let ratio = finite(worse(mean / best_mean))?;
        return Some(AgainstBest {
            ratio,
            low: None,
            high: None,
            separated: false,
            equivalent: false,
        });
    };
    let (ratio, interval) = pair.seen_from(index);
    let interval = if better == Better::Lower { interval } else { interval.inverse() };
    Some(AgainstBest {
        ratio: finite(worse(ratio))?,
        low: finite(interval.low),
        high: finite(interval.high),
        separated: pair.separated,
        equivalent: pair.equivalent,
    })
}

fn pair_result(pair: &Pair) -> PairResult {
    PairResult {
        a: pair.a,
        b: pair.b,
        ratio: pair.comparison.ratio(),
        low: finite(pair.interval.low),
        high: finite(pair.interval.high),
        p: pair.comparison.p(),
        p_adjusted: pair.p_adjusted,
        effect: pair.comparison.effect,
        paired: pair.comparison.design == stats::Design::Paired,
        n: pair.comparison.n,
        separated: pair.separated,
        equivalent: pair.equivalent,
    }
}

/// What these repeats would show at the spread seen.
fn smallest_difference(table: &MetricTable) -> Option<f64> {
    let present: Vec<&Cell> = table.cells.iter().filter(|cell| cell.mean.is_some()).collect();
    let spreads: Vec<(f64, usize)> =
        present.iter().filter_map(|cell| Some((cell.spread?, cell.figures.len()))).collect();
    let spread = stats::coefficient_of_variation(&spreads)?;
    let repeats = present.iter().map(|cell| cell.figures.len()).min()?;
    let plan = Plan { alpha: ALPHA, ..Plan::new(present.len(), repeats, spread) };
    plan.smallest_difference().ok().and_then(finite)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn cache(phase: &Phase<'_>) -> Vec<CacheUse> {
    let mut uses: Vec<CacheUse> = Vec::new();
    for (contender, entries) in phase.trials.iter().enumerate() {
        // Also of phases whose figures are not comparable: a warm cache is often why.
        let completed = |result: &&PhaseResult| matches!(result.status, PhaseStatus::Completed);
        for result in entries.iter().filter_map(|entry| entry.reported).filter(completed) {
            let (cold, words) = match &result.cache {
                Cache::Cold { how } => (true, format!("cold ({how})")),
                Cache::Warm { why } => (false, format!("warm ({why})")),
            };
            let at = uses.iter().position(|known| known.words == words).unwrap_or_else(|| {
                uses.push(CacheUse { words, cold, contenders: Vec::new() });
                uses.len() - 1
            });
            if !uses[at].contenders.contains(&contender) {
                uses[at].contenders.push(contender);
            }
        }
    }
    uses
}

/// Remarks of a phase; a text that comes again has one number.
#[derive(Default)]
struct Footnotes(Vec<Footnote>);

impl Footnotes {
    /// The remark's number, from 1.
    fn add(&mut self, contender: usize, text: String) -> usize {
        let at = self.0.iter().position(|known| known.text == text).unwrap_or_else(|| {
            self.0.push(Footnote { contenders: Vec::new(), text });
            self.0.len() - 1
        });
        if !self.0[at].contenders.contains(&contender) {
            self.0[at].contenders.push(contender);
        }
        at + 1
    }

    /// Why trials of this contender take no part: `2 of 5 trials: failed at mkfs: …`.
    fn of_unusable(&mut self, phase: &Phase<'_>, contender: usize) -> Vec<usize> {
        let entries = &phase.trials[contender];
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for reason in entries.iter().filter_map(|entry| entry.unusable.as_deref()) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        reasons
            .into_iter()
            .map(|(reason, count)| {
                let text = if count == entries.len() {
                    reason.to_owned()
                } else {
                    format!("{count} of {} trials: {reason}", entries.len())
                };
                self.add(contender, text)
            })
            .collect()
    }

    /// The phase's own remarks, which concern no single cell.
    fn of_notes(&mut self, phase: &Phase<'_>) {
        for (contender, entries) in phase.trials.iter().enumerate() {
            for result in entries.iter().filter_map(|entry| entry.usable()) {
                for note in &result.notes {
                    self.add(contender, note.clone());
                }
            }
        }
    }
}
