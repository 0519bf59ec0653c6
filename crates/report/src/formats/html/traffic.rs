//! What the device was asked for in a phase, as bars.

use serde::Serialize;

use crate::analysis::{Conditions, PhaseAnalysis};
use crate::charts::{bar, colour};
use crate::wording::{figure, shown};

#[derive(Serialize)]
pub(super) struct Traffic {
    name: String,
    colour: String,
    written: String,
    read: String,
    written_words: String,
    read_words: String,
}

/// A row for each contender whose device counts its requests; no rows if there was no traffic.
pub(super) fn traffic(
    phase: &PhaseAnalysis,
    order: &[usize],
    contenders: &[Conditions],
) -> Vec<Traffic> {
    let mean = |id: &str, index: usize| phase.table(id).and_then(|t| t.cells[index].mean);
    let most = |id: &str| {
        phase.table(id).map_or(0.0, |table| {
            table.cells.iter().filter_map(|cell| cell.mean).fold(0.0, f64::max)
        })
    };
    let scale = most("device_write_bytes").max(most("device_read_bytes"));
    if scale <= 0.0 {
        return Vec::new();
    }
    order
        .iter()
        .filter_map(|index| {
            let written = mean("device_write_bytes", *index)?;
            let read = mean("device_read_bytes", *index)?;
            // What the workload itself moved: rate times wall time.
            let own = |id: &str| Some(mean(id, *index)? * mean("wall", *index)?);
            let (own_written, own_read) = (own("write_rate"), own("read_rate"));
            let count = |id: &str, what: &str| {
                let cell = phase.table(id).map(|table| &table.cells[*index]);
                let counted = cell.and_then(|cell| shown(cell, crate::Unit::Count));
                counted.map_or_else(String::new, |n| format!(" · {n} {what}"))
            };
            let share = |moved: f64, own: Option<f64>| match own {
                Some(own) if own > 0.0 => {
                    format!(" ({} × own)", units::significant(moved / own, 3))
                }
                _ => String::new(),
            };
            let bytes = |value: f64| figure(value, crate::Unit::Bytes);
            let written_words = format!(
                "{} written{}{}{}",
                bytes(written),
                share(written, own_written),
                count("device_writes", "requests"),
                count("device_flushes", "flushes")
            );
            let read_words = format!(
                "{} read{}{}",
                bytes(read),
                share(read, own_read),
                count("device_reads", "requests")
            );
            let name = &contenders[*index].name;
            let class = colour(*index);
            Some(Traffic {
                written: bar(written, scale, own_written, &class),
                read: bar(read, scale, own_read, &format!("{class} light")),
                name: name.clone(),
                colour: class,
                written_words,
                read_words,
            })
        })
        .collect()
}
