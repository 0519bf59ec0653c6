//! The course of a phase: ops a second over its time, a line for each contender, and its stalls as
//! marks on the time.

use super::axis::Axis;
use super::curves::path;
use super::{colour, is_dashed, percent};
use crate::analysis::{DrawnCourse, Unit};
use crate::wording::figure;

const HEIGHT: u32 = 190;

/// As many points as a line shows on a screen.
const POINTS_MAX: usize = 200;

/// More marks than this cannot be pointed at: they get no tooltips.
const POINTED_AT_MAX: usize = 20;

/// Draws the courses of these contenders; `None` where there is none.
pub(crate) fn course(drawn: &[(usize, &str, &DrawnCourse)], what: &str) -> Option<String> {
    let rates: Vec<Vec<(f64, f64)>> =
        drawn.iter().map(|(.., course)| course.rates(POINTS_MAX)).collect();
    let most = rates.iter().flatten().map(|(_, rate)| *rate).reduce(f64::max)?;
    let end = drawn.iter().map(|(.., course)| course.wall.as_secs_f64()).reduce(f64::max)?;
    let field = Field { end, axis: Axis::of([0.0, most].into_iter())? };
    let mut body = field.grid();
    body +=
        r#"<svg width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none">"#;
    for ((contender, ..), rates) in drawn.iter().zip(&rates) {
        let path = path(rates.iter().map(|(at, rate)| (field.x(*at), field.y(*rate))));
        let dash = if is_dashed(*contender) { " dashed" } else { "" };
        body += &format!(r#"<path class="curve thin {}{dash}" d="{path}"/>"#, colour(*contender));
    }
    body += "</svg>";
    for (contender, name, course) in drawn {
        body += &field.marks(*contender, name, course);
    }
    let what = text::html(what);
    Some(format!(
        r#"<svg class="curves" width="100%" height="{HEIGHT}" role="img" aria-label="{what}">{body}</svg>"#
    ))
}

/// The area that is drawn in.
struct Field {
    /// Seconds at the right end.
    end: f64,
    axis: Axis,
}

impl Field {
    /// The place of a time in seconds, in per cent from the left.
    fn x(&self, seconds: f64) -> f64 {
        if self.end > 0.0 { seconds / self.end * 100.0 } else { 0.0 }
    }

    /// The place of a rate, in per cent from the top.
    fn y(&self, rate: f64) -> f64 {
        100.0 - self.axis.place(rate)
    }

    fn grid(&self) -> String {
        let mut body = String::new();
        for tick in self.axis.ticks(4) {
            let y = percent(self.y(tick));
            let label = text::html(&figure(tick, Unit::PerSecond));
            body += &format!(
                r#"<line class="grid" x1="0" x2="100%" y1="{y}%" y2="{y}%"/><text x="-8" y="{y}%" dy="4" text-anchor="end">{label}</text>"#
            );
        }
        let ticks = Axis::of([0.0, self.end].into_iter()).map(|axis| axis.ticks(5));
        for tick in ticks.into_iter().flatten().filter(|tick| *tick <= self.end * 0.94) {
            let x = percent(self.x(tick));
            let label = text::html(&figure(tick, Unit::Seconds));
            let anchor = if tick == 0.0 { "start" } else { "middle" };
            body += &format!(
                r#"<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/><text x="{x}%" y="100%" dy="18" text-anchor="{anchor}">{label}</text>"#
            );
        }
        body
    }

    /// A mark for each stall, in the contender's row beneath the lines.
    fn marks(&self, contender: usize, name: &str, course: &DrawnCourse) -> String {
        let mut body = String::new();
        let pointed_at = course.stalls.len() <= POINTED_AT_MAX;
        for stall in &course.stalls {
            let (begins, ends) = (stall.begins, stall.begins + stall.lasts);
            let (x1, x2) = (self.x(begins.as_secs_f64()), self.x(ends.as_secs_f64()));
            let (x1, x2) = (percent(x1), percent(x2));
            let words = format!("{name}: nothing finished for {} at {begins}", stall.lasts);
            let title = match pointed_at {
                true => format!("<title>{}</title>", text::html(&words)),
                false => String::new(),
            };
            let colour = colour(contender);
            body += &format!(
                r#"<line class="stall {colour}" x1="{x1}%" x2="{x2}%" y1="100%" y2="100%">{title}</line>"#
            );
        }
        body
    }
}
