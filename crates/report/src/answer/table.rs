//! The contenders at what matters, in the order of rank.

use store::StoredRun;
use trial::Outcome;

use super::{Headline, Row};
use crate::analysis::{Cell, Conditions, MetricTable, PhaseAnalysis, Unit, WorkloadAnalysis};
use crate::wording::{factor as significant, figure, range, spread};

/// Below this share (0.02: 2 %) the two ends of a factor are one figure: more digits would
/// promise more than anybody needs.
const SAME_FACTOR: f64 = 0.02;

/// Larger factors are shown as larger than this.
const FACTOR_MAX: f64 = 1000.0;

/// If the ends of a factor are farther apart than this, only the lower one is shown.
const RANGE_MAX: f64 = 20.0;

/// Columns after the headline's own and the factor: metric and head.
const COUNTS: [(&str, &str); 3] = [
    ("device_read_bytes", "read"),
    ("device_write_bytes", "written"),
    ("device_flushes", "flushes"),
];

/// Heads and rows.
pub(super) fn of(
    headline: Option<&Headline<'_>>,
    workload: &WorkloadAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> (Vec<String>, Vec<Row>) {
    let Some(headline) = headline else {
        return (Vec::new(), without_figures(workload, contenders, run));
    };
    let table = headline.table;
    let tail = tail(headline.phase);
    let counts: Vec<(&MetricTable, &str)> = COUNTS
        .iter()
        .filter_map(|(id, head)| Some((headline.phase.table(id)?, *head)))
        .filter(|(table, _)| table.cells.iter().any(|cell| cell.mean.is_some_and(|it| it > 0.0)))
        .collect();
    let mut columns = vec![head(headline), "vs best".to_owned()];
    columns.extend(tail.map(|(op, _)| format!("p99 {op}")));
    columns.extend(counts.iter().map(|(_, head)| (*head).to_owned()));

    let means = table.cells.iter().filter_map(|cell| cell.mean);
    let largest = means.fold(0.0_f64, f64::max);
    let order = table.order();
    let absent = (0..contenders.len()).filter(|at| !order.contains(at));
    let rows = order.iter().copied().chain(absent).map(|at| {
        let cell = &table.cells[at];
        let of = |table: &MetricTable| match table.cells[at].mean {
            Some(mean) => figure(mean, table.unit()),
            None if cell.mean.is_some() => "–".to_owned(),
            None => String::new(),
        };
        let mut cells = vec![main_figure(cell, table), factor(cell)];
        cells.extend(tail.map(|(_, table)| of(table)));
        cells.extend(counts.iter().map(|(table, _)| of(table)));
        Row {
            rank: cell.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            name: contenders[at].name.clone(),
            flag: contenders[at].durability_word(),
            share: cell.mean.filter(|_| largest > 0.0).map(|mean| mean / largest * 100.0),
            cells,
            mark: cell.mark,
            missing: cell
                .mean
                .is_none()
                .then(|| reason(headline, workload, &contenders[at], at, run)),
        }
    });
    (columns, rows.collect())
}

fn head(headline: &Headline<'_>) -> String {
    match (headline.table.unit(), headline.things) {
        (Unit::Named, _) => headline.table.metric.label.clone(),
        (_, "") => "time".to_owned(),
        (Unit::PerSecond, things) => format!("{things}/s"),
        (_, things) => things.to_owned(),
    }
}

fn main_figure(cell: &Cell, table: &MetricTable) -> String {
    let Some(mean) = cell.mean else { return String::new() };
    let text = figure(mean, table.unit());
    // The head says what is counted a second.
    let text = text.strip_suffix(" /s").unwrap_or(&text);
    match spread(cell) {
        Some(spread) => format!("{text} {spread}"),
        None => text.to_owned(),
    }
}

/// `1`, `1.32×`, `4.2–4.3×`; empty without a figure.
pub(super) fn factor(cell: &Cell) -> String {
    if cell.mean.is_none() {
        return String::new();
    }
    let Some(against) = cell.against_best else { return "1".to_owned() };
    let text = match (against.low, against.high) {
        (Some(low), Some(_)) if low >= FACTOR_MAX => "over 1,000".to_owned(),
        (Some(low), Some(high)) if low > 1.0 && high / low > RANGE_MAX => {
            format!("over {}", significant(low, 2))
        }
        (Some(low), Some(high)) if high / low - 1.0 > SAME_FACTOR => range(low, high, 2),
        _ => significant(against.ratio, 3),
    };
    format!("{text}×")
}

/// The tail latency of the kind of op that the phase names first and that has one.
fn tail(phase: &PhaseAnalysis) -> Option<(&str, &MetricTable)> {
    phase.ops.iter().find_map(|op| {
        let table = phase.table(&format!("latency.{}.p99", op.name))?;
        table.cells.iter().any(|cell| cell.mean.is_some()).then_some((op.name.as_str(), table))
    })
}

/// The contenders of a workload with nothing measured, each with the reason.
fn without_figures(
    workload: &WorkloadAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> Vec<Row> {
    let row = |contender: &Conditions| Row {
        rank: String::new(),
        name: contender.name.clone(),
        flag: contender.durability_word(),
        share: None,
        cells: Vec::new(),
        mark: None,
        missing: Some(ended(workload, contender, run).unwrap_or_else(|| NOT_YET.to_owned())),
    };
    contenders.iter().map(row).collect()
}

/// Shown in place of a figure that a run has not reached yet.
const NOT_YET: &str = "not run yet";

/// The reason why no contender has a figure, if it is the same for all. It is longer than a row of
/// the table, which then refers to it.
pub(super) fn told_once(rows: &mut [Row]) -> Option<String> {
    let reason = rows.first()?.missing.clone().filter(|reason| reason != NOT_YET)?;
    if rows.iter().any(|row| row.missing.as_ref() != Some(&reason)) {
        return None;
    }
    for row in rows {
        row.missing = Some("no figure: see below".to_owned());
    }
    Some(reason)
}

/// Why a contender has no figure: its footnote, or how its trials ended.
fn reason(
    headline: &Headline<'_>,
    workload: &WorkloadAnalysis,
    contender: &Conditions,
    at: usize,
    run: &StoredRun,
) -> String {
    let numbers = &headline.table.cells[at].footnotes;
    let note = numbers.first().and_then(|number| headline.phase.footnotes.get(number - 1));
    if contender.done > 0
        && let Some(note) = note
    {
        return note.text.clone();
    }
    ended(workload, contender, run)
        .unwrap_or_else(|| note.map_or(NOT_YET.to_owned(), |note| note.text.clone()))
}

/// How the first of a contender's trials of a workload ended that did not end well.
fn ended(workload: &WorkloadAnalysis, contender: &Conditions, run: &StoredRun) -> Option<String> {
    let trials = run
        .trials
        .iter()
        .filter(|trial| trial.spec.contender.name == contender.name)
        .filter(|trial| trial.spec.workloads.iter().any(|choice| choice.name == workload.name));
    let mut outcomes = trials.filter_map(|trial| trial.outcome.as_ref());
    outcomes.find(|outcome| !matches!(outcome, Outcome::Done)).map(Outcome::to_string)
}
