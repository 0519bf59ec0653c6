//! Latency distributions as percentile curves: how slow is the slowest tenth, hundredth,
//! thousandth of the ops. Both axes are logarithmic, so that the tail has room.

use measure::Latencies;

use super::axis::Axis;
use super::{colour, is_dashed, percent};
use crate::analysis::{Quantile, Unit};
use crate::wording::figure;

/// One contender's distribution over all its trials.
pub(crate) struct Curve<'a> {
    /// Its index, which gives the colour.
    pub(crate) contender: usize,
    /// Its name.
    pub(crate) name: &'a str,
    /// Its latencies.
    pub(crate) latencies: Latencies,
}

const HEIGHT: u32 = 230;
const POINTS: usize = 48;
/// Of fewer ops no curve is drawn: it would end before the tenth of them that is the slowest.
const LEAST_OPS: u64 = 10;
/// With more curves than this the dots overlap and cannot be pointed at, so they get no tooltips:
/// the table beneath has the figures.
const POINTED_AT_MAX: usize = 10;

/// Draws the curves; `None` where too few ops were recorded for one.
pub(crate) fn curves(curves: &[Curve<'_>], what: &str) -> Option<String> {
    let most =
        curves.iter().map(|curve| curve.latencies.count()).max().filter(|n| *n >= LEAST_OPS)?;
    // The horizontal axis: how many nines, from none to one op of all.
    let nines_max = (most as f64).log10().max(1.0);
    let drawn: Vec<Line<'_>> = curves
        .iter()
        .filter(|curve| curve.latencies.count() > 0)
        .map(|curve| Line { curve, points: points(&curve.latencies) })
        .collect();
    let ends = drawn.iter().flat_map(|line| [line.points.first(), line.points.last()]).flatten();
    let ends = ends.map(|(_, latency)| *latency);
    let (low, high) = ends.map(|v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let field = Field { nines_max, axis: Axis::logarithmic(low, high.max(low * 2.0)) };
    let body = field.grid() + &field.lines(&drawn) + &field.dots(&drawn);
    let what = text::html(what);
    Some(format!(
        r#"<svg class="curves" width="100%" height="{HEIGHT}" role="img" aria-label="{what}">{body}</svg>"#
    ))
}

/// The area that curves are drawn in.
struct Field {
    /// Nines at the right end.
    nines_max: f64,
    axis: Axis,
}

impl Field {
    /// The place of these nines, in per cent from the left.
    fn x(&self, nines: f64) -> f64 {
        nines / self.nines_max * 100.0
    }

    /// The place of a latency in seconds, in per cent from the top.
    fn y(&self, latency: f64) -> f64 {
        100.0 - self.axis.place(latency)
    }

    fn grid(&self) -> String {
        let mut body = String::new();
        for tick in self.axis.ticks(6) {
            let y = percent(self.y(tick));
            let label = text::html(&figure(tick, Unit::Seconds));
            body += &format!(
                r#"<line class="grid" x1="0" x2="100%" y1="{y}%" y2="{y}%"/><text x="-8" y="{y}%" dy="4" text-anchor="end">{label}</text>"#
            );
        }
        for (quantile, label) in [
            (0.0, "fastest"),
            (0.5, "p50"),
            (0.9, "p90"),
            (0.99, "p99"),
            (0.999, "p99.9"),
            (0.9999, "p99.99"),
        ] {
            let nines = -(1.0f64 - quantile).log10();
            if nines > self.nines_max * 0.9 {
                break;
            }
            let x = percent(self.x(nines));
            let anchor = if quantile == 0.0 { r#"start" class="wide"# } else { "middle" };
            body += &format!(
                r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/><text x="{x}%" y="100%" dy="18" text-anchor="{anchor}">{label}</text>"#
            );
        }
        body + r#"<text x="100%" y="100%" dy="18" text-anchor="end">slowest</text>"#
    }

    /// Only the lines are stretched; dots and text keep their shape.
    fn lines(&self, drawn: &[Line<'_>]) -> String {
        let mut body =
            r#"<svg width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none">"#
                .to_owned();
        for line in drawn {
            let points = line.points.iter();
            let path = path(points.map(|(nines, latency)| (self.x(*nines), self.y(*latency))));
            let dash = if is_dashed(line.curve.contender) { " dashed" } else { "" };
            let colour = colour(line.curve.contender);
            body += &format!(r#"<path class="curve {colour}{dash}" d="{path}"/>"#);
        }
        body + "</svg>"
    }

    fn dots(&self, drawn: &[Line<'_>]) -> String {
        let mut body = String::new();
        let pointed_at = drawn.len() <= POINTED_AT_MAX;
        for Line { curve, .. } in drawn {
            body += &format!(r#"<g class="dots {}">"#, colour(curve.contender));
            for quantile in Quantile::ALL {
                let Ok(value) = quantile.of(&curve.latencies) else { continue };
                let nines = match quantile {
                    Quantile::Max => (curve.latencies.count() as f64).log10(),
                    _ => -(1.0 - quantile.share()).log10(),
                };
                let x = percent(self.x(nines));
                let y = percent(self.y(value.as_secs_f64().max(1e-9)));
                let words = format!("{} {}: {value}", curve.name, quantile.word());
                body += &match pointed_at {
                    true => {
                        let title = text::html(&words);
                        format!(r#"<circle cx="{x}%" cy="{y}%"><title>{title}</title></circle>"#)
                    }
                    false => format!(r#"<circle cx="{x}%" cy="{y}%"/>"#),
                };
            }
            body += "</g>";
        }
        body
    }
}

/// A path through points in per cent, in thousandths of the drawing: each step from the one
/// before, which takes half the letters of places.
pub(super) fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in points {
        let at = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
        match last {
            None => path += &format!("M{} {}l", at.0, at.1),
            // A sign parts two numbers as well as a space does.
            Some(from) => {
                for step in [at.0 - from.0, at.1 - from.1] {
                    if step >= 0 && !path.ends_with('l') {
                        path.push(' ');
                    }
                    path += &step.to_string();
                }
            }
        }
        last = Some(at);
    }
    path
}

struct Line<'a> {
    curve: &'a Curve<'a>,
    /// Nines and latency in seconds.
    points: Vec<(f64, f64)>,
}

/// The curve from the fastest op to the slowest, evenly along the nines. One pass over the
/// histogram: asking it for each quantile would be a pass each.
fn points(latencies: &Latencies) -> Vec<(f64, f64)> {
    let count = latencies.count() as f64;
    let nines_max = count.log10();
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(POINTS + 1);
    let mut below = 0;
    for (latency, ops) in latencies.buckets() {
        below += ops;
        let seconds = latency.as_secs_f64().max(1e-9);
        while points.len() < POINTS {
            let nines = nines_max * points.len() as f64 / POINTS as f64;
            if (1.0 - 10f64.powf(-nines)) * count > below as f64 {
                break;
            }
            points.push((nines, seconds));
        }
        if below as f64 >= count {
            points.push((nines_max, seconds));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_start_and_steps() {
        let points = [(0.0, 95.5), (2.1, 88.7), (4.2, 88.7), (100.0, 90.0)];
        assert_eq!(path(points.into_iter()), "M0 955l21-68 21 0 958 13");
        assert_eq!(path([(50.0, 0.0), (40.0, 0.04)].into_iter()), "M500 0l-100 0");
    }
}
