//! The published tables beside what was measured.

use stats::{Better, Settings, arithmetic_mean, compare_all, geometric_mean};

use crate::atom::CellName;
use crate::figures::Figures;
use crate::{Cell, Direction, MeasuredCell, Published, Row, RowResults, Study, TableResults};

/// Confidence of a cell's own interval.
const CONFIDENCE: f64 = 0.95;

/// A published table with the figures measured at one size.
pub(crate) fn of(study: &Study, table: &Published, figures: &Figures<'_>) -> TableResults {
    let rows = table.rows.iter().map(|row| row_results(study, table, row, figures));
    TableResults {
        id: table.id.clone(),
        part: table.part.clone(),
        title: table.title.clone(),
        columns: table.columns.clone(),
        rows: rows.collect(),
    }
}

fn row_results(study: &Study, table: &Published, row: &Row, figures: &Figures<'_>) -> RowResults {
    let found: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            if study.part(&table.part).is_none() {
                return Err("the study has no part for this table".to_owned());
            }
            figures.of_cell(&CellName { row: row.id.clone(), column: column.clone() })
        })
        .collect();
    let mut cells: Vec<MeasuredCell> = found
        .iter()
        .map(|found| match found {
            Err(reason) => {
                MeasuredCell { missing: Some(reason.clone()), ..MeasuredCell::default() }
            }
            Ok(series) => {
                let values: Vec<f64> = series.iter().map(|one| one.value).collect();
                let mean = geometric_mean(&values, CONFIDENCE)
                    .or_else(|_| arithmetic_mean(&values, CONFIDENCE));
                let mean = mean.ok();
                let interval = mean.and_then(|mean| mean.interval.ok());
                MeasuredCell {
                    mean: mean.map(|mean| mean.mean),
                    low: interval.map(|interval| interval.low),
                    high: interval.map(|interval| interval.high),
                    n: values.len(),
                    mark: None,
                    missing: None,
                    figures: values,
                }
            }
        })
        .collect();
    let better = match row.better {
        Direction::Lower => Some(Better::Lower),
        Direction::Higher => Some(Better::Higher),
        Direction::Neither => None,
    };
    if let Some(better) = better {
        let series: Vec<_> = found.into_iter().map(Result::unwrap_or_default).collect();
        let table = compare_all(&series, &Settings::new(better));
        for (at, cell) in cells.iter_mut().enumerate().filter(|(_, cell)| cell.n > 1) {
            cell.mark = match (table.is_best(at), table.is_worst(at)) {
                (true, false) => Some(report::Mark::Best),
                (false, true) => Some(report::Mark::Worst),
                _ => None,
            };
        }
    }
    RowResults { row: row.clone(), published_marks: published_marks(row), measured: cells }
}

/// Marks the best and the worst of the plain published figures, unless all are equal.
fn published_marks(row: &Row) -> Vec<Option<report::Mark>> {
    let value = |cell: &Cell| match cell {
        Cell::Value(value) => Some(*value),
        _ => None,
    };
    let plain: Vec<f64> = row.values.iter().filter_map(value).collect();
    let (low, high) = plain
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let (best, worst) = match row.better {
        Direction::Lower => (low, high),
        Direction::Higher => (high, low),
        Direction::Neither => (f64::NAN, f64::NAN),
    };
    let bounded = row.values.iter().any(|cell| matches!(cell, Cell::Above(_) | Cell::Below(_)));
    row.values
        .iter()
        .map(|cell| match value(cell) {
            Some(value) if low < high && value == best && !bounded => Some(report::Mark::Best),
            Some(value) if low < high && value == worst => Some(report::Mark::Worst),
            _ => None,
        })
        .collect()
}
