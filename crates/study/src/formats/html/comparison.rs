//! Published beside measured as one picture: how many times worse than the best of its row
//! each contender was then (a hollow square) and is now (a dot with its interval). Factors
//! can be compared where seconds cannot.

use crate::formats::words;
use crate::{Direction, RowResults};

/// A row's picture in parts.
pub(super) struct Drawn {
    /// Column and strip, for every column that has something to show.
    pub(super) strips: Vec<(usize, String)>,
    /// The axis beneath.
    pub(super) axis: String,
}

/// Draws a row; nothing where fewer than two columns have a figure.
pub(super) fn strips(row: &RowResults, columns: &[String]) -> Option<Drawn> {
    let then = words::factors(row.row.better, &words::published_values(row));
    let means: Vec<Option<f64>> = row.measured.iter().map(|cell| cell.mean).collect();
    let now = words::factors(row.row.better, &means);
    if now.iter().flatten().count() < 2 {
        return None;
    }
    let best = means
        .iter()
        .zip(&now)
        .find_map(|(mean, factor)| (*factor == Some(1.0)).then_some(*mean))??;
    let interval = |at: usize| {
        let (low, high) = (row.measured[at].low?, row.measured[at].high?);
        match row.row.better {
            Direction::Higher if low > 0.0 => Some((best / high, best / low)),
            Direction::Lower => Some((low / best, high / best)),
            _ => None,
        }
    };
    let most = then
        .iter()
        .chain(&now)
        .flatten()
        .copied()
        .chain((0..columns.len()).filter_map(|at| interval(at).map(|(_, high)| high)))
        .fold(1.25f64, f64::max)
        .min(1e6);
    let axis = Axis { low: 1.0 / 1.06, high: most * 1.06 };
    let ticks = axis.ticks();
    let grid: String = ticks
        .iter()
        .map(|tick| {
            let x = axis.place(*tick);
            format!(r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>"#)
        })
        .collect();
    let strips = (0..columns.len())
        .filter(|at| then[*at].is_some() || now[*at].is_some())
        .map(|at| {
            let mut said = Vec::new();
            let mut marks = String::new();
            if let Some((low, high)) = interval(at).filter(|_| now[at].is_some()) {
                let (x1, x2) = (axis.place(low), axis.place(high));
                marks += &format!(r#"<line class="whisker" x1="{x1}%" x2="{x2}%" y1="0" y2="0"/>"#);
            }
            if let Some(factor) = now[at] {
                let x = axis.place(factor);
                said.push(format!("measured {}", words::factor(Some(factor))));
                marks += &format!(r#"<circle class="mean" cx="{x}%" cy="0" r="5"/>"#);
            }
            if let Some(factor) = then[at] {
                let x = axis.place(factor);
                said.push(format!("published {}", words::factor(Some(factor))));
                marks += &format!(
                    r#"<svg x="{x}%" overflow="visible"><rect class="then" x="-5" y="-5" width="10" height="10"/></svg>"#
                );
            }
            let said = text::html(&format!("{}: {}", columns[at], said.join(", ")));
            let strip = format!(
                r#"<svg class="strip" width="100%" height="100%" role="img" aria-label="{said}"><title>{said}</title>{grid}<svg y="50%" width="100%" height="1" overflow="visible">{marks}</svg></svg>"#
            );
            (at, strip)
        })
        .collect();
    let labels: String = ticks
        .iter()
        .map(|tick| {
            let place = axis.share(*tick);
            let anchor = match place {
                place if place < 6.0 => "start",
                place if place > 94.0 => "end",
                _ => "middle",
            };
            let text = if *tick == 1.0 { "best".to_owned() } else { format!("× {tick}") };
            format!(
                r#"<text x="{}%" y="12" text-anchor="{anchor}">{text}</text>"#,
                axis.place(*tick)
            )
        })
        .collect();
    let axis =
        format!(r#"<svg class="axis" width="100%" height="16" aria-hidden="true">{labels}</svg>"#);
    Some(Drawn { strips, axis })
}

/// Factors on a logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn share(&self, factor: f64) -> f64 {
        let low = self.low.ln();
        ((factor.max(self.low).ln() - low) / (self.high.ln() - low) * 100.0).clamp(0.0, 100.0)
    }

    fn place(&self, factor: f64) -> String {
        format!("{:.2}", self.share(factor))
    }

    /// Round factors with room for their labels.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = match self.high {
            high if high < 1.6 => &[1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
            high if high < 3.5 => &[1.0, 1.5, 2.0, 3.0],
            high if high < 25.0 => &[1.0, 2.0, 5.0, 10.0, 20.0],
            _ => &[1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0],
        };
        steps.iter().copied().filter(|tick| *tick <= self.high).collect()
    }
}
