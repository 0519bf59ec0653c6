//! Which metrics have a row in the terminal, and what stands in its cells.

use crate::analysis::{Cell, DrawnCourse, Mark, Measure, MetricTable, PhaseAnalysis, Quantile};
use crate::wording::{self, against, spread};

/// Latencies in the terminal; the other formats have all of them.
const LATENCIES: [Quantile; 3] = [Quantile::P50, Quantile::P99, Quantile::Max];

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
    rows.extend(course(phase));
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

/// Columns of the course of a phase.
const COURSE: usize = 16;

/// Ops over the time of each contender's first trial, against its own highest rate. A dot is a time
/// in which none ended.
fn course(phase: &PhaseAnalysis) -> Option<Row> {
    phase.courses.iter().flatten().next()?;
    let cell = |drawn: &Option<DrawnCourse>| match drawn {
        Some(drawn) => (sparkline(drawn), Style::Plain),
        None => ("–".to_owned(), Style::Faint),
    };
    let cells = phase.courses.iter().map(cell).collect();
    Some(Row { label: "ops over time".to_owned(), cells })
}

fn sparkline(drawn: &DrawnCourse) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let wall = drawn.wall.as_secs_f64();
    let rates = drawn.rates(usize::MAX);
    let mut columns = [(0.0, 0u32); COURSE];
    for (at, rate) in rates {
        let column = (at / wall * COURSE as f64) as usize;
        let (sum, count) = &mut columns[column.min(COURSE - 1)];
        (*sum, *count) = (*sum + rate, *count + 1);
    }
    let means = columns.map(|(sum, count)| sum / f64::from(count.max(1)));
    let most = means.into_iter().fold(0.0, f64::max);
    let block = |mean: f64| match mean > 0.0 {
        true => BLOCKS[((mean / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
        false => '·',
    };
    means.into_iter().map(block).collect()
}

/// Whether the metric has a row here. Only the other formats show the figures of the lab's transport:
/// if it took too much, the phase says so.
fn is_shown(table: &MetricTable) -> bool {
    match &table.metric.measure {
        Measure::Latency(_, quantile) => LATENCIES.contains(quantile),
        other => !other.is_of_transport(),
    }
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
    let Some(figure) = wording::shown(cell, table.unit()) else {
        return (format!("–{notes}"), Style::Faint);
    };
    let (sign, style) = match cell.mark {
        Some(Mark::Best) => ("▲ ", Style::Best),
        Some(Mark::Worst) => ("▼ ", Style::Worst),
        None => ("", Style::Plain),
    };
    let spread = spread(cell).map(|spread| format!(" {spread}")).unwrap_or_default();
    (format!("{sign}{figure}{spread}{notes}"), style)
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
        of("  times the best", &|cell| Some(against(cell, 3).plain()).filter(|it| !it.is_empty())),
        of("  rank", &|cell| cell.rank.map(|rank| rank.to_string())),
    ]
}
