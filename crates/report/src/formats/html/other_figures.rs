//! Rows of figures beside the time: a cell for each metric.

use serde::Serialize;

use crate::analysis::{Conditions, Mark, MetricTable};
use crate::charts::colour;
use crate::wording::{shown, spread};

/// A contender's other figures.
#[derive(Serialize)]
pub(super) struct OtherRow {
    name: String,
    colour: String,
    cells: Vec<OtherCell>,
}

#[derive(Serialize)]
struct OtherCell {
    value: String,
    spread: String,
    mark: Option<Mark>,
    notes: Vec<usize>,
}

/// A row for each contender with a cell for each table.
pub(super) fn other_rows(
    order: &[usize],
    tables: &[&MetricTable],
    contenders: &[Conditions],
) -> Vec<OtherRow> {
    if tables.is_empty() {
        return Vec::new();
    }
    order
        .iter()
        .map(|index| OtherRow {
            name: contenders[*index].name.clone(),
            colour: colour(*index),
            cells: tables
                .iter()
                .map(|table| {
                    let cell = &table.cells[*index];
                    OtherCell {
                        value: shown(cell, table.unit()).unwrap_or_else(|| "–".to_owned()),
                        spread: spread(cell).unwrap_or_default(),
                        mark: cell.mark,
                        notes: cell.footnotes.clone(),
                    }
                })
                .collect(),
        })
        .collect()
}
