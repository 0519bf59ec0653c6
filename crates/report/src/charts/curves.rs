//! Latency distributions as percentile curves: how slow is the slowest tenth, hundredth,
//! thousandth of the ops. Both axes are logarithmic, so that the tail has room.

use measure::Latencies;

use super::axis::Axis;
use super::{colour, percent};
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

impl Curve<'_> {
    /// Whether its line is dashed: five colours are told apart more easily than ten.
    pub(crate) fn dashed(&self) -> bool {
        self.contender % 10 >= 5
    }
}

const HEIGHT: u32 = 230;
const POINTS: usize = 48;

/// Draws the curves; `None` where nothing was recorded.
pub(crate) fn curves(curves: &[Curve<'_>], what: &str) -> Option<String> {
    let most = curves.iter().map(|curve| curve.latencies.count()).max().filter(|n| *n > 0)?;
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
    let axis = Axis::logarithmic(low, high.max(low * 2.0));
    let place = |value: f64| 100.0 - axis.place(value);

    let mut body = String::new();
    for tick in axis.ticks(6) {
        let y = percent(place(tick));
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
        if nines > nines_max * 0.9 {
            break;
        }
        let x = percent(nines / nines_max * 100.0);
        let anchor = if quantile == 0.0 { r#"start" class="wide"# } else { "middle" };
        body += &format!(
            r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/><text x="{x}%" y="100%" dy="18" text-anchor="{anchor}">{label}</text>"#
        );
    }
    body += r#"<text x="100%" y="100%" dy="18" text-anchor="end">slowest</text>"#;

    // The lines alone are stretched; what has a shape of its own is not.
    body += r#"<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">"#;
    for line in &drawn {
        let points: Vec<String> = line
            .points
            .iter()
            .map(|(nines, latency)| (nines / nines_max * 100.0, place(*latency)))
            .map(|(x, y)| format!("{x:.1} {y:.1}"))
            .collect();
        let dash = if line.curve.dashed() { " dashed" } else { "" };
        body += &format!(
            r#"<polyline class="curve {}{dash}" points="{}"/>"#,
            colour(line.curve.contender),
            points.join(" ")
        );
    }
    body += "</svg>";

    for Line { curve, .. } in &drawn {
        for quantile in Quantile::ALL {
            let Ok(value) = quantile.of(&curve.latencies) else { continue };
            let nines = match quantile {
                Quantile::Max => (curve.latencies.count() as f64).log10(),
                _ => -(1.0 - quantile.share()).log10(),
            };
            let x = percent(nines / nines_max * 100.0);
            let y = percent(place(value.as_secs_f64().max(1e-9)));
            let title = text::html(&format!("{} {}: {value}", curve.name, quantile.word()));
            body += &format!(
                r#"<circle class="dot {}" cx="{x}%" cy="{y}%" r="3.5"><title>{title}</title></circle>"#,
                colour(curve.contender)
            );
        }
    }
    let what = text::html(what);
    Some(format!(
        r#"<svg class="curves" width="100%" height="{HEIGHT}" role="img" aria-label="{what}">{body}</svg>"#
    ))
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
