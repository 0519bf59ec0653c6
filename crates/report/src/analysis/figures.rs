//! One phase: its tables, their statistics and their footnotes.

use stats::{Better, Observation, Pair, Plan, Settings};
use workload::{Cache, PhaseResult, PhaseStatus};

use super::arrange::{Phase, Task};
use super::{
    About, AgainstBest, CacheUse, Cell, Conditions, Footnote, Group, Mark, Measure, Metric,
    MetricTable, OpKind, PairResult, PhaseAnalysis, Rank, TrialFigure, overhead, verdict,
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
        .map(|measure| table(&measure, measure.metric(&task.own), phase, &unusable, &mut footnotes))
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
    metric: Metric,
    phase: &Phase<'_>,
    unusable: &[Vec<usize>],
    footnotes: &mut Footnotes,
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
                    overhead: entry.overhead.filter(|_| measure.is_of_whole_phase()),
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
    let pairs = fill(&mut cells, measure, &settings, &metric);
    MetricTable { metric, cells, pairs }
}

/// Computes the cells' statistics; ranks only where low or high is better. Disk counts are compared
/// too: they often differ with certainty where times do not.
fn fill(
    cells: &mut [Cell],
    measure: &Measure,
    settings: &Settings,
    metric: &Metric,
) -> Vec<PairResult> {
    let series = |of: &dyn Fn(&TrialFigure) -> f64| -> Vec<Vec<Observation>> {
        let observed = |f: &TrialFigure| Observation { block: f.block, value: of(f) };
        cells.iter().map(|cell| cell.figures.iter().map(observed).collect()).collect()
    };
    let without = |f: &TrialFigure| f.overhead.map_or(f.value, |it| measure.without(f.value, it));
    let (measured, without) = (series(&|figure| figure.value), series(&without));
    let table = overhead::compare_with_and_without(&measured, &without, settings);
    let ranked = metric.higher_is_better.is_some();
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
    if ranked {
        mark(cells, &table, settings.better);
    } else if metric.group != Group::Device {
        return Vec::new();
    }
    table.pairs.iter().map(pair_result).collect()
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

/// Remarks of a phase; a text that comes again has one number.
#[derive(Default)]
struct Footnotes(Vec<Footnote>);

impl Footnotes {
    /// The remark's number, from 1.
    fn add(&mut self, contender: usize, text: String) -> usize {
        let at = self.0.iter().position(|known| known.text == text).unwrap_or_else(|| {
            self.0.push(Footnote { contenders: Vec::new(), text, about: About::Missing });
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
        let reasons = entries.iter().filter_map(|entry| entry.unusable.as_deref());
        self.of_reasons(reasons, entries.len(), contender)
    }

    /// The same for figures of the whole phase: time taken by the lab's transport is no reason to
    /// leave them out, but is noted.
    fn of_timed(&mut self, phase: &Phase<'_>, contender: usize) -> Vec<usize> {
        let entries = &phase.trials[contender];
        let reasons = entries.iter().filter(|entry| entry.timed().is_none());
        let mut numbers = self.of_reasons(
            reasons.filter_map(|entry| entry.unusable.as_deref()),
            entries.len(),
            contender,
        );
        let shares: Vec<f64> = entries.iter().filter_map(|entry| entry.overhead).collect();
        if let Some(most) = shares.iter().copied().reduce(f64::max) {
            let text = format!(
                "up to {:.1} % of the time is the simulation's own transport; the interval holds \
                 the figure with and without it",
                most * 100.0
            );
            let number = self.add(contender, text);
            self.0[number - 1].about = About::Transport;
            numbers.push(number);
        }
        numbers
    }

    /// A remark for each kind of reason. Reasons that differ only in words with numbers, such as a
    /// file's name or a share, are of one kind.
    fn of_reasons<'t>(
        &mut self,
        reasons: impl Iterator<Item = &'t str>,
        trials: usize,
        contender: usize,
    ) -> Vec<usize> {
        let mut kinds: Vec<(String, &str, usize, bool)> = Vec::new();
        for reason in reasons {
            let kind = without_numbers(reason);
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((_, first, count, same)) => {
                    *count += 1;
                    *same &= *first == reason;
                }
                None => kinds.push((kind, reason, 1, true)),
            }
        }
        kinds
            .into_iter()
            .map(|(_, reason, count, same)| {
                let text = match (count == trials, same) {
                    (true, true) => reason.to_owned(),
                    (true, false) => format!("all {count} trials alike: {reason}"),
                    (false, true) => format!("{count} of {trials} trials: {reason}"),
                    (false, false) => format!("{count} of {trials} trials alike: {reason}"),
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
                    let number = self.add(contender, note.clone());
                    self.0[number - 1].about = About::Work;
                }
            }
        }
    }
}

/// A text with every word that holds a digit left blank.
fn without_numbers(text: &str) -> String {
    text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'))
        .map(|word| {
            let end = word.chars().next_back().filter(|c| !c.is_alphanumeric());
            match (word.contains(|c: char| c.is_ascii_digit()), end) {
                (true, Some(end)) => format!("0{end}"),
                (true, None) => "0".to_owned(),
                (false, _) => word.to_owned(),
            }
        })
        .collect()
}
