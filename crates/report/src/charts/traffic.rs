//! Bars for what the device was asked for.

use super::percent;

/// A bar of `value` on a scale from 0 to `most`, with a tick at `mark` (what the workload
/// itself moved). It has no text of its own: that is shown beside it.
pub(crate) fn bar(value: f64, most: f64, mark: Option<f64>, class: &str) -> String {
    let share =
        |value: f64| if most > 0.0 { (value / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    let tick = mark.filter(|mark| *mark > 0.0).map_or_else(String::new, |mark| {
        let x = percent(share(mark));
        format!(r#"<line class="own" x1="{x}%" x2="{x}%" y1="0" y2="14"/>"#)
    });
    format!(
        r#"<svg class="bar {class}" width="100%" height="14" aria-hidden="true"><rect class="track" width="100%" height="14"/><rect class="fill" width="{}%" height="14"/>{tick}</svg>"#,
        percent(share(value))
    )
}
