//! A panel as strips as wide as the page allows: a published figure is a hollow square, a
//! measured one a dot with its interval.

use crate::atom::digits;
use crate::formats::panel::Panel;
use crate::formats::words;

/// A panel's picture in parts.
pub(super) struct Drawn {
    /// Column, label and strip of every line.
    pub(super) strips: Vec<(usize, String, String)>,
    /// The axis beneath.
    pub(super) axis: String,
}

/// Draws a panel.
pub(super) fn strips(panel: &Panel) -> Drawn {
    let ticks = panel.axis.ticks();
    let place = |figure: f64| format!("{:.2}", panel.axis.share(figure) * 100.0);
    let grid: String = ticks
        .iter()
        .map(|tick| {
            let x = place(*tick);
            format!(r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>"#)
        })
        .collect();
    let strips = panel.lines.iter().map(|line| {
        let mut marks = String::new();
        if let Some((low, high)) = line.interval {
            let (x1, x2) = (place(low), place(high));
            marks += &format!(r#"<line class="whisker" x1="{x1}%" x2="{x2}%" y1="0" y2="0"/>"#);
        }
        if let Some(figure) = line.now {
            let x = place(figure);
            marks += &format!(r#"<circle class="mean" cx="{x}%" cy="0" r="5"/>"#);
        }
        if let Some(figure) = line.then {
            let x = place(figure);
            marks += &format!(
                r#"<svg x="{x}%" overflow="visible"><rect class="then" x="-5" y="-5" width="10" height="10"/></svg>"#
            );
        }
        let said = text::html(&line.said(panel.factors));
        let strip = format!(
            r#"<svg class="strip" width="100%" height="100%" role="img" aria-label="{said}"><title>{said}</title>{grid}<svg y="50%" width="100%" height="1" overflow="visible">{marks}</svg></svg>"#
        );
        (line.at, line.label.clone(), strip)
    });
    let labels: String = ticks
        .iter()
        .map(|tick| {
            let anchor = match panel.axis.share(*tick) {
                place if place < 0.06 => "start",
                place if place > 0.94 => "end",
                _ => "middle",
            };
            let text = match panel.factors {
                true => words::factor(Some(*tick)),
                false => digits(*tick),
            };
            format!(r#"<text x="{}%" y="12" text-anchor="{anchor}">{text}</text>"#, place(*tick))
        })
        .collect();
    let axis =
        format!(r#"<svg class="axis" width="100%" height="16" aria-hidden="true">{labels}</svg>"#);
    Drawn { strips: strips.collect(), axis }
}
