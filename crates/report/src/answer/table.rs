//! The contenders at what matters, in the order of rank.

use store::StoredRun;
use trial::Outcome;

use super::{Headline, Row};
use crate::analysis::{
    Cell, Conditions, MetricTable, PhaseAnalysis, Reason, Unit, WorkloadAnalysis,
};
use crate::numbers::number;
use crate::wording::{against, figure, shown, spread};

/// Columns after the headline's own and the factor: metric and head.
const COUNTS: [(&str, &str); 3] = [
    ("device_read_bytes", "read"),
    ("device_write_bytes", "written"),
    ("device_flushes", "flushes"),
];

/// What a phase asked of the disk, each with its head, as far as anybody asked for any.
pub(super) fn counts(phase: &PhaseAnalysis) -> Vec<(&MetricTable, &'static str)> {
    let tables = COUNTS.iter().filter_map(|(id, head)| Some((phase.table(id)?, *head)));
    let any = |table: &MetricTable| table.cells.iter().any(|cell| cell.mean > Some(0.0));
    tables.filter(|(table, _)| any(table)).collect()
}

/// Heads and rows.
pub(super) fn of(
    headline: &Headline<'_>,
    workload: &WorkloadAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> (Vec<String>, Vec<Row>) {
    let table = headline.table;
    let tail = tail(headline.phase);
    let counts = counts(headline.phase);
    let others = own_figures(headline);
    let several = contenders.len() > 1;
    let mut columns = vec![head(headline)];
    columns.extend(several.then(|| "vs best".to_owned()));
    columns.extend(others.iter().map(|table| table.metric.label.clone()));
    columns.extend(tail.map(|(op, _)| format!("p99 {op}")));
    columns.extend(counts.iter().map(|(_, head)| (*head).to_owned()));

    let means = table.cells.iter().filter_map(|cell| cell.mean);
    let largest = means.fold(0.0_f64, f64::max);
    let share = |figure: f64| figure / largest * 100.0;
    let order = table.order();
    let absent = (0..contenders.len()).filter(|at| !order.contains(at));
    let rows = order.iter().copied().chain(absent).map(|at| {
        let cell = &table.cells[at];
        let of = |table: &MetricTable| match shown(&table.cells[at], table.unit()) {
            Some(figure) => figure,
            None if cell.mean.is_some() => "–".to_owned(),
            None => String::new(),
        };
        let mut cells = vec![main_figure(cell, table)];
        cells.extend(several.then(|| against(cell, 2).with_sign()));
        cells.extend(others.iter().map(|table| of(table)));
        cells.extend(tail.map(|(_, table)| of(table)));
        cells.extend(counts.iter().map(|(table, _)| of(table)));
        Row {
            rank: cell.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            name: contenders[at].name.clone(),
            flag: contenders[at].durability_word(),
            share: cell.mean.filter(|_| largest > 0.0).map(share),
            interval: cell
                .mean
                .filter(|_| largest > 0.0)
                .and_then(|_| Some([share(cell.low?), share(cell.high?)])),
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

/// The other figures of its own that a program prints in the headline's phase, as far as there is
/// room.
fn own_figures<'a>(headline: &Headline<'a>) -> Vec<&'a MetricTable> {
    const ROOM: usize = 3;
    let own = headline.phase.tables.iter().filter(|table| is_own(table));
    own.filter(|table| table.metric.id != headline.table.metric.id).take(ROOM).collect()
}

/// Whether it is a figure that a program printed itself, and by which contenders are ranked.
pub(super) fn is_own(table: &MetricTable) -> bool {
    table.metric.higher_is_better.is_some()
        && table.unit() == Unit::Named
        && table.cells.iter().any(|cell| cell.mean.is_some())
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
    let text = match table.unit() {
        // The head says what is counted a second.
        Unit::PerSecond => number(mean),
        unit => figure(mean, unit),
    };
    match spread(cell) {
        Some(spread) => format!("{text} {spread}"),
        None => text,
    }
}

/// The tail latency of the kind of op that the phase names first and that has one.
fn tail(phase: &PhaseAnalysis) -> Option<(&str, &MetricTable)> {
    phase.ops.iter().find_map(|op| {
        let table = phase.table(&format!("latency.{}.p99", op.name))?;
        table.cells.iter().any(|cell| cell.mean.is_some()).then_some((op.name.as_str(), table))
    })
}

/// The contenders of a workload with nothing measured, each with the reason. One that all share is
/// longer than a row of the table, which then refers to it: it is what is told beside them.
pub(super) fn without_figures(
    workload: &WorkloadAnalysis,
    contenders: &[Conditions],
    run: &StoredRun,
) -> (Vec<Row>, Option<String>) {
    let ends: Vec<Option<String>> =
        contenders.iter().map(|contender| ended(workload, contender, run)).collect();
    let shared = match ends.split_first() {
        Some((Some(first), others)) if others.iter().all(|it| it.as_ref() == Some(first)) => {
            Some(first.clone())
        }
        _ => None,
    };
    let row = |(contender, end): (&Conditions, Option<String>)| Row {
        rank: String::new(),
        name: contender.name.clone(),
        flag: contender.durability_word(),
        share: None,
        interval: None,
        cells: Vec::new(),
        mark: None,
        missing: Some(match &shared {
            Some(_) => "no figure: see below".to_owned(),
            None => end.unwrap_or_else(|| Reason::NotRunYet.words()),
        }),
    };
    (contenders.iter().zip(ends).map(row).collect(), shared)
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
        .unwrap_or_else(|| note.map_or(Reason::NotRunYet.words(), |note| note.text.clone()))
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
