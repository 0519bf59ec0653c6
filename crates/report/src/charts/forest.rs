//! Means with their intervals on one axis, a strip for each contender, single trials as
//! small rings: what differs and what overlaps is seen at once.

use super::axis::Axis;
use super::{colour, escaped, percent};
use crate::analysis::MetricTable;
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

const HEIGHT: u32 = 28;

/// Draws a table; `None` where it has no figure.
pub(crate) fn forest(table: &MetricTable, names: &[&str]) -> Option<Forest> {
    let shown = table.cells.iter().flat_map(|cell| {
        let ends = [cell.mean, cell.low, cell.high];
        ends.into_iter().flatten().chain(cell.figures.iter().map(|figure| figure.value))
    });
    // An interval of two wild figures must not squeeze everything else into a point.
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
            format!(r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="{HEIGHT}"/>"#)
        })
        .collect();
    let strips = table
        .cells
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let mean = cell.mean?;
            let middle = HEIGHT / 2;
            let mut words = format!("{}: {}", names[index], figure(mean, unit));
            let mut marks = String::new();
            if let (Some(low), Some(high)) = (cell.low, cell.high) {
                words += &format!(" ({} to {})", figure(low, unit), figure(high, unit));
                let (x1, x2) = (percent(axis.place(low)), percent(axis.place(high)));
                marks += &format!(
                    r#"<line class="whisker" x1="{x1}%" x2="{x2}%" y1="{middle}" y2="{middle}"/>"#
                );
                for x in [x1, x2] {
                    let (top, bottom) = (middle - 5, middle + 5);
                    marks += &format!(
                        r#"<line class="whisker" x1="{x}%" x2="{x}%" y1="{top}" y2="{bottom}"/>"#
                    );
                }
            }
            for single in &cell.figures {
                let x = percent(axis.place(single.value));
                let title = format!(
                    "{}, trial {}, block {}: {}",
                    names[index],
                    single.trial,
                    single.block,
                    figure(single.value, unit)
                );
                let title = escaped(&title);
                marks += &format!(
                    r#"<circle class="single" cx="{x}%" cy="{middle}" r="3"><title>{title}</title></circle>"#
                );
            }
            let x = percent(axis.place(mean));
            let words = escaped(&words);
            marks += &format!(
                r#"<circle class="mean" cx="{x}%" cy="{middle}" r="5"><title>{words}</title></circle>"#
            );
            Some(format!(
                r#"<svg class="strip {}" width="100%" height="{HEIGHT}" role="img" aria-label="{words}">{grid}{marks}</svg>"#,
                colour(index)
            ))
        })
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
                escaped(&figure(*tick, unit))
            )
        })
        .collect();
    let axis_svg =
        format!(r#"<svg class="axis" width="100%" height="16" aria-hidden="true">{labels}</svg>"#);
    Some(Forest { strips, axis: axis_svg, logarithmic: axis.logarithmic })
}
