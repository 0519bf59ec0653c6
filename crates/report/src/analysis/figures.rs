//! One phase: its tables, their statistics and their footnotes.

use stats::{Better, Observation, Pair, Plan, Settings};
use workload::{Cache, PhaseResult, PhaseStatus};

use super::arrange::{Phase, Task};
use super::footnotes::Footnotes;
use super::{
    AgainstBest, CacheUse, Cell, Conditions, EQUIVALENCE_MARGIN, Group, Mark, Measure, Measured,
    Metric, MetricTable, OpKind, PairResult, PhaseAnalysis, Rank, Reason, Standing, TrialFigure,
    course, overhead,
};

pub(super) const ALPHA: f64 = 0.05;
pub(super) const CONFIDENCE: f64 = 0.95;

pub(super) fn phase(
    task: &Task<'_>,
    phase: &Phase<'_>,
    contenders: &[Conditions],
    alpha: f64,
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
    let timed: Vec<&PhaseResult> =
        phase.trials.iter().flatten().filter_map(|entry| entry.timed()).collect();
    let compared = Measure::of_all(&usable);
    let of_whole_phase = Measure::of_all(&timed);
    let is_shown = |measure: &Measure| {
        measure.is_count()
            || compared.contains(measure)
            || measure.is_of_whole_phase() && of_whole_phase.contains(measure)
    };
    let tables: Vec<MetricTable> = Measure::of_all(&counted)
        .into_iter()
        .filter(is_shown)
        .map(|measure| {
            let metric = measure.metric(&task.own);
            table((&measure, metric), phase, &unusable, &mut footnotes, alpha)
        })
        .collect();
    footnotes.of_notes(phase);
    let ops = described.map_or_else(Vec::new, |known| {
        known
            .ops
            .iter()
            .map(|op| OpKind { name: op.name.to_owned(), span: op.span.to_owned() })
            .collect()
    });
    let smallest_difference = tables.first().and_then(|table| smallest_difference(table, alpha));
    let mut analysed = PhaseAnalysis {
        name: phase.name.clone(),
        summary: described.map(|known| known.summary.to_owned()).unwrap_or_default(),
        clock: described.map(|known| known.clock.to_owned()).unwrap_or_default(),
        ops,
        cache: cache(phase),
        verdict: String::new(),
        tables,
        footnotes: footnotes.0,
        measured: measured(&timed),
        smallest_difference,
        courses: course::drawn(phase),
        stalls: course::of_all(phase),
    };
    analysed.verdict = crate::sentences::of_phase(&analysed, contenders);
    analysed
}

fn table(
    (measure, metric): (&Measure, Metric),
    phase: &Phase<'_>,
    unusable: &[Vec<usize>],
    footnotes: &mut Footnotes,
    alpha: f64,
) -> MetricTable {
    let mut cells: Vec<Cell> = Vec::new();
    for (contender, entries) in phase.trials.iter().enumerate() {
        let mut cell = Cell { footnotes: unusable[contender].clone(), ..Cell::default() };
        if measure.is_of_whole_phase() {
            cell.footnotes = footnotes.of_timed(phase, contender);
        }
        for entry in entries {
            let shown = match measure {
                _ if measure.is_count() => entry.counted(),
                _ if measure.is_of_whole_phase() => entry.timed(),
                _ => entry.usable(),
            };
            let Some(result) = shown else { continue };
            let misleads = overhead::of_single_ops(result).filter(|_| measure.is_of_single_ops());
            match misleads.map_or_else(|| measure.figure(result), Err) {
                Ok(value) => cell.figures.push(TrialFigure {
                    trial: entry.trial.ordinal,
                    block: entry.trial.spec.block,
                    value,
                    overhead: entry.overhead().filter(|_| measure.is_of_whole_phase()),
                }),
                Err(reason) => cell.footnotes.push(footnotes.add(contender, reason)),
            }
        }
        if entries.is_empty() {
            cell.footnotes.push(footnotes.add(contender, Reason::NotPlanned));
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
        alpha,
        confidence: CONFIDENCE,
        equivalence_margin: EQUIVALENCE_MARGIN,
        ..Settings::new(better)
    };
    fill(cells, measure, &settings, metric)
}

/// Computes the cells' statistics; ranks only where low or high is better. Disk counts are compared
/// too: they often differ with certainty where times do not.
fn fill(
    mut cells: Vec<Cell>,
    measure: &Measure,
    settings: &Settings,
    metric: Metric,
) -> MetricTable {
    let series = |cell: &Cell, of: &dyn Fn(&TrialFigure) -> f64| -> Vec<Observation> {
        let observed = |f: &TrialFigure| Observation { block: f.block, value: of(f) };
        cell.figures.iter().map(observed).collect()
    };
    let without = |f: &TrialFigure| f.overhead.map_or(f.value, |it| measure.without(f.value, it));
    let variants: Vec<Vec<Vec<Observation>>> = cells
        .iter()
        .map(|cell| match cell.overhead() {
            None => vec![series(cell, &|figure| figure.value)],
            Some(_) => vec![series(cell, &|figure| figure.value), series(cell, &without)],
        })
        .collect();
    let table = stats::compare_variants(&variants, settings);
    for (cell, estimate) in cells.iter_mut().zip(&table.estimates) {
        let Ok(estimate) = estimate else { continue };
        cell.mean = finite(estimate.mean);
        if let Ok(interval) = estimate.interval {
            (cell.low, cell.high) = (finite(interval.low), finite(interval.high));
        }
        cell.spread = estimate.spread.ok().and_then(finite);
    }
    let mut filled =
        MetricTable { metric, cells, pairs: Vec::new(), ways: Vec::new(), standing: None };
    let ranked = filled.metric.higher_is_better.is_some();
    if ranked {
        let figures: Vec<usize> = filled.cells.iter().map(|cell| cell.figures.len()).collect();
        let standing = Standing::of(&table, &figures, settings.better);
        for (cell, rank) in filled.cells.iter_mut().zip(&table.ranks) {
            cell.rank = rank.map(|rank| Rank { best: rank.best, worst: rank.worst });
        }
        if let Some(leader) = standing.leader {
            filled.cells[leader].leads = true;
        }
        for behind in &standing.behind {
            filled.cells[behind.contender].against_best = Some(AgainstBest {
                ratio: behind.ratio,
                low: behind.low,
                high: behind.high,
                separated: behind.relation.is_worse(),
                equivalent: behind.relation.is_near(),
            });
        }
        mark(&mut filled.cells, &table, settings.better);
        filled.standing = Some(standing);
    }
    if ranked || filled.metric.group == Group::Device {
        filled.pairs = table.pairs.iter().map(pair_result).collect();
        filled.ways = table.pairs.into_iter().map(|pair| pair.ways).collect();
    }
    filled
}

/// Marks best contenders from the best mean on, as long as each is among the best, and likewise
/// from the worst mean: a steady contender is not marked if a faster one is too noisy to be.
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

fn pair_result(pair: &Pair) -> PairResult {
    PairResult {
        a: pair.a,
        b: pair.b,
        ratio: pair.comparison().ratio(),
        low: finite(pair.shown.interval.low),
        high: finite(pair.shown.interval.high),
        p: pair.shown.p,
        p_adjusted: pair.shown.p_adjusted,
        effect: pair.comparison().effect,
        paired: pair.comparison().design == stats::Design::Paired,
        n: pair.comparison().n,
        separated: pair.shown.separated,
        equivalent: pair.shown.equivalent,
    }
}

/// How much was measured in these trials.
fn measured(timed: &[&PhaseResult]) -> Option<Measured> {
    let ops = || timed.iter().map(|result| result.ops);
    let seconds = || timed.iter().map(|result| result.wall.as_secs_f64());
    Some(Measured {
        trials: timed.len(),
        ops_least: ops().min()?,
        ops_most: ops().max()?,
        seconds_least: seconds().reduce(f64::min)?,
        seconds_most: seconds().reduce(f64::max)?,
    })
}

/// What these repeats would show at the spread seen.
fn smallest_difference(table: &MetricTable, alpha: f64) -> Option<f64> {
    let present: Vec<&Cell> = table.cells.iter().filter(|cell| cell.mean.is_some()).collect();
    let spreads: Vec<(f64, usize)> =
        present.iter().filter_map(|cell| Some((cell.spread?, cell.figures.len()))).collect();
    let repeats: Vec<usize> = present.iter().map(|cell| cell.figures.len()).collect();
    shown_by(&repeats, &spreads, alpha)
}

/// What contenders with so many repeats would show at these spreads, each with its repeats: as much
/// as the one with the fewest.
fn shown_by(repeats: &[usize], spreads: &[(f64, usize)], alpha: f64) -> Option<f64> {
    let spread = stats::coefficient_of_variation(spreads)?;
    let plan = Plan::new(repeats.len(), *repeats.iter().min()?, spread);
    Plan { alpha, ..plan }.smallest_difference().ok().and_then(finite)
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn cache(phase: &Phase<'_>) -> Vec<CacheUse> {
    let mut uses: Vec<CacheUse> = Vec::new();
    for (contender, entries) in phase.trials.iter().enumerate() {
        // Includes phases whose figures are not comparable: a warm cache is often the reason.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contender_with_the_fewest_repeats_decides_what_can_be_shown() {
        let spreads = [(0.05, 3), (0.05, 10)];
        let shown = |repeats: [usize; 2]| shown_by(&repeats, &spreads, 0.05).unwrap();
        assert_eq!(shown([3, 10]), shown([3, 3]));
        assert!(shown([3, 10]) > shown([10, 10]));
    }
}
