//! Charts as SVG that needs no script and no scaling of text: horizontal positions are
//! percentages of the available width, so a chart is as readable at 400 pixels as at 1400.
//! Colours are the style sheet's classes `k0` to `k9`.

mod axis;
mod course;
mod curves;
mod forest;
mod traffic;

pub(crate) use course::course;
pub(crate) use curves::{Curve, curves};
pub(crate) use forest::forest;
pub(crate) use traffic::bar;

/// The class of a contender's colour.
pub(crate) fn colour(contender: usize) -> String {
    format!("k{}", contender % 10)
}

/// Whether a contender's line is dashed: five colours are told apart more easily than ten.
pub(crate) fn is_dashed(contender: usize) -> bool {
    contender % 10 >= 5
}

/// A coordinate with as many digits as a screen can show: charts are at most 1000 pixels wide.
fn percent(position: f64) -> String {
    format!("{:.1}", position.clamp(-1.0, 101.0))
}
