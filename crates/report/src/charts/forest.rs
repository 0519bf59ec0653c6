//! Means with their intervals on one axis, a strip for each contender, single trials as
//! small rings: what differs and what overlaps is seen at once.

use super::axis::Axis;
use super::{colour, percent};
use crate::analysis::{Cell, MetricTable, Unit};
use crate::wording::figure;

/// A chart in parts, so that each strip can stand in its contender's row.
pub(crate) struct Forest {
    /// A strip for each contender; `None` where it has no figure.
    pub(crate) strips: Vec<Option<String>>,
    /// The axis beneath them.
    pub(crate) axis: String,
    /// Whether the axis is logarithmic.
    pub(crate) logarithmic: bool,
}

/// Draws a table; `None` where it has no figure.
pub(crate) fn forest(table: &MetricTable, names: &[&str]) -> Option<Forest> {
    let shown = table.cells.iter().flat_map(|cell| {
        let ends = [cell.mean, cell.low, cell.high];
        ends.into_iter().flatten().chain(cell.figures.iter().map(|figure| figure.value))
    });
    // The wide interval of two scattered figures must not squeeze everything else into a point.
    let figures: Vec<f64> =
        table.cells.iter().flat_map(|cell| cell.figures.iter().map(|f| f.value)).collect();
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = (most - least).max(most.abs() * 0.2);
    let axis = Axis::of(
        shown
            .map(|value| value.clamp(least - room, most + room))
            .map(|value| if least > 0.0 { value.max(least / 3.0) } else { value }),
    )?;
    let ticks = axis.ticks(5);
    let unit = table.unit();
    let grid: String = ticks
        .iter()
        .map(|tick| {
            let x = percent(axis.place(*tick));
            format!(r#"<line class="grid" x1="{x}%" x2="{x}%" y2="100%"/>"#)
        })
        .collect();
    let strips = table
        .cells
        .iter()
        .enumerate()
        .map(|(index, cell)| strip(index, cell, names[index], unit, &axis, &grid))
        .collect();
    let labels: String = ticks
        .iter()
        .map(|tick| {
            let place = axis.place(*tick);
            // Labels at the ends stay inside.
            let anchor = match place {
                place if place < 6.0 => "start",
                place if place > 94.0 => "end",
                _ => "middle",
            };
            format!(
                r#"<text x="{}%" y="12" text-anchor="{anchor}">{}</text>"#,
                percent(place),
                text::html(&figure(*tick, unit))
            )
        })
        .collect();
    let axis_svg =
        format!(r#"<svg class="axis" width="100%" height="16" aria-hidden="true">{labels}</svg>"#);
    Some(Forest { strips, axis: axis_svg, logarithmic: axis.logarithmic })
}

/// One contender's strip. It is as high as its row; its marks keep their size around the
/// middle: mean and interval above, single trials beneath.
fn strip(
    index: usize,
    cell: &Cell,
    name: &str,
    unit: Unit,
    axis: &Axis,
    grid: &str,
) -> Option<String> {
    let mean = cell.mean?;
    let mut words = format!("{name}: {}", figure(mean, unit));
    let mut marks = String::new();
    if let (Some(low), Some(high)) = (cell.low, cell.high) {
        words += &format!(" ({} to {})", figure(low, unit), figure(high, unit));
        let (x1, x2) = (percent(axis.place(low)), percent(axis.place(high)));
        marks += &format!(r#"<line class="whisker" x1="{x1}%" x2="{x2}%" y1="-4" y2="-4"/>"#);
        for x in [x1, x2] {
            marks += &format!(r#"<line class="whisker" x1="{x}%" x2="{x}%" y1="-9" y2="1"/>"#);
        }
    }
    marks += &singles(cell, name, unit, axis);
    let x = percent(axis.place(mean));
    let words = text::html(&words);
    let colour = colour(index);
    marks += &format!(
        r#"<circle class="mean" cx="{x}%" cy="-4" r="5.5"><title>{words}</title></circle>"#
    );
    Some(format!(
        r#"<svg class="strip {colour}" width="100%" height="100%" role="img" aria-label="{words}">{grid}<svg y="50%" width="100%" height="1" overflow="visible">{marks}</svg></svg>"#
    ))
}

/// More rings than this overlap and cannot be pointed at: they get no tooltips then.
const POINTED_AT_MAX: usize = 10;

/// The rings of single trials.
fn singles(cell: &Cell, name: &str, unit: Unit, axis: &Axis) -> String {
    let place = |value: f64| percent(axis.place(value));
    if cell.figures.len() > POINTED_AT_MAX {
        let rings = cell.figures.iter().map(|it| format!(r#"<circle cx="{}%"/>"#, place(it.value)));
        return format!(r#"<g class="singles">{}</g>"#, rings.collect::<String>());
    }
    let ring = |single: &crate::analysis::TrialFigure| {
        let (trial, block) = (single.trial, single.block);
        let value = figure(single.value, unit);
        let title = text::html(&format!("{name}, trial {trial}, block {block}: {value}"));
        let x = place(single.value);
        format!(
            r#"<circle class="single" cx="{x}%" cy="9" r="2.6"><title>{title}</title></circle>"#
        )
    };
    cell.figures.iter().map(ring).collect()
}
