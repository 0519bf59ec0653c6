//! Which metrics have a row in the terminal, and what stands in its cells.

use crate::analysis::{Cell, Group, Mark, MetricTable, PhaseAnalysis};
use crate::wording::{factors, figure, spread};

/// Latencies in the terminal; the other formats have all of them.
const LATENCIES: [&str; 3] = ["p50", "p99", "max"];

/// How a piece of text is emphasised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Strong,
    Faint,
    Best,
    Worst,
}

impl Style {
    pub(super) fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Strong => "\x1b[1m",
            Style::Faint => "\x1b[2m",
            Style::Best => "\x1b[1;32m",
            Style::Worst => "\x1b[31m",
        }
    }
}

/// One row of a table: its label and a text for each contender.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) cells: Vec<(String, Style)>,
}

/// The phase's rows in order.
pub(super) fn rows(phase: &PhaseAnalysis) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in phase.tables.iter().filter(|table| is_shown(table)) {
        rows.push(Row {
            label: table.metric.label.clone(),
            cells: table.cells.iter().map(|cell| shown(cell, table)).collect(),
        });
        if table.metric.id == "wall" && table.cells.iter().any(|cell| cell.rank.is_some()) {
            rows.extend(ranks(table));
        }
    }
    // A contender that has no figure anywhere is shown with its reason.
    if rows.is_empty() && !phase.footnotes.is_empty() {
        let contenders = phase.footnotes.iter().flat_map(|note| &note.contenders).max();
        let count = contenders.map_or(0, |last| last + 1);
        let cell = |at: usize| {
            let notes: String = phase
                .footnotes
                .iter()
                .enumerate()
                .filter(|(_, note)| note.contenders.contains(&at))
                .map(|(index, _)| format!(" [{}]", index + 1))
                .collect();
            (format!("–{notes}"), Style::Faint)
        };
        rows.push(Row { label: "wall time".to_owned(), cells: (0..count).map(cell).collect() });
    }
    rows
}

/// Prefix of the figures of the lab's transport overhead. Only developers of the lab need them, so
/// only the other formats show them; if the overhead is too large the phase says so.
const TRANSPORT: &str = "transport ";

/// Whether the metric has a row here.
fn is_shown(table: &MetricTable) -> bool {
    if table.metric.label.starts_with(TRANSPORT) {
        return false;
    }
    let word = table.metric.label.rsplit(' ').next().unwrap_or_default();
    table.metric.group != Group::Latency || LATENCIES.contains(&word)
}

/// Numbers of footnotes that only concern metrics without a row.
pub(super) fn unseen_footnotes(phase: &PhaseAnalysis) -> Vec<usize> {
    let numbers = |shown: bool| -> Vec<usize> {
        phase
            .tables
            .iter()
            .filter(|table| is_shown(table) == shown)
            .flat_map(|table| &table.cells)
            .flat_map(|cell| cell.footnotes.iter().copied())
            .collect()
    };
    let seen = numbers(true);
    numbers(false).into_iter().filter(|number| !seen.contains(number)).collect()
}

fn shown(cell: &Cell, table: &MetricTable) -> (String, Style) {
    let notes: String = cell.footnotes.iter().map(|number| format!(" [{number}]")).collect();
    let Some(mean) = cell.mean else { return (format!("–{notes}"), Style::Faint) };
    let (sign, style) = match cell.mark {
        Some(Mark::Best) => ("▲ ", Style::Best),
        Some(Mark::Worst) => ("▼ ", Style::Worst),
        None => ("", Style::Plain),
    };
    let spread = spread(cell).map(|spread| format!(" {spread}")).unwrap_or_default();
    (format!("{sign}{}{spread}{notes}", figure(mean, table.unit())), style)
}

fn ranks(table: &MetricTable) -> [Row; 2] {
    let of = |label: &str, text: &dyn Fn(&Cell) -> Option<String>| Row {
        label: label.to_owned(),
        cells: table
            .cells
            .iter()
            .map(|cell| (text(cell).unwrap_or_else(|| "–".to_owned()), Style::Plain))
            .collect(),
    };
    [
        of("  times the best", &|cell| {
            cell.mean?;
            let Some(against) = cell.against_best else { return Some("1".to_owned()) };
            Some(match (against.low, against.high) {
                (Some(low), Some(high)) => factors(low, high),
                _ => factors(against.ratio, against.ratio),
            })
        }),
        of("  rank", &|cell| cell.rank.map(|rank| rank.to_string())),
    ]
}
