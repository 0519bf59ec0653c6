//! Panels as one self-contained SVG file for a Markdown page, in light and dark mode. A hollow
//! square is a published figure, a dot with its interval a measured one.

use super::panel::Panel;
use super::words;
use crate::atom::digits;

const WIDTH: f64 = 720.0;
/// Where lines begin, after their labels.
const LEFT: f64 = 150.0;
const RIGHT: f64 = WIDTH - 24.0;
const LINE: f64 = 20.0;
const STYLE: &str = "\
svg{font:13px system-ui,sans-serif;--ink:#1d2430;--soft:#667080;--line:#dde1e7;--now:#1f6fb2;--paper:#fff}\
@media(prefers-color-scheme:dark){svg{--ink:#e8ebf0;--soft:#9aa5b4;--line:#3a424e;--now:#6cb2ee;--paper:#14181d}}\
.paper{fill:var(--paper)}text{fill:var(--ink)}.head{font-weight:600}.soft{fill:var(--soft);font-size:12px}\
.grid{stroke:var(--line)}.one{stroke:var(--soft)}.whisker{stroke:var(--now);stroke-width:2}\
.now{fill:var(--now)}.then{fill:none;stroke:var(--ink);stroke-width:1.5}";

/// The file; nothing where there is no panel.
pub(super) fn file(title: &str, panels: &[Panel]) -> Option<String> {
    if panels.is_empty() {
        return None;
    }
    let mut y = 26.0;
    let mut body = key(y - 8.0);
    for panel in panels {
        body += &self::panel(panel, &mut y);
    }
    let title = text::html(title);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y}\" \
         viewBox=\"0 0 {WIDTH} {y}\" role=\"img\" aria-label=\"{title}\">\
         <title>{title}</title><style>{STYLE}</style>\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    ))
}

fn key(y: f64) -> String {
    let text = y + 4.0;
    format!(
        "<rect class=\"then\" x=\"{LEFT}\" y=\"{}\" width=\"9\" height=\"9\"/>\
         <text class=\"soft\" x=\"{}\" y=\"{text}\">published</text>\
         <circle class=\"now\" cx=\"{}\" cy=\"{y}\" r=\"5\"/>\
         <text class=\"soft\" x=\"{}\" y=\"{text}\">measured, with its interval</text>\n",
        y - 4.5,
        LEFT + 16.0,
        LEFT + 94.0,
        LEFT + 105.0
    )
}

fn panel(panel: &Panel, y: &mut f64) -> String {
    *y += 20.0;
    let title = text::html(&panel.title);
    let mut drawn = format!("<text class=\"head\" x=\"8\" y=\"{y}\">{title}</text>\n");
    *y += 8.0;
    let place = |figure: f64| format!("{:.1}", LEFT + panel.axis.share(figure) * (RIGHT - LEFT));
    let bottom = *y + LINE * panel.lines.len() as f64;
    let ticks = panel.axis.ticks();
    for tick in &ticks {
        let class = if *tick == 1.0 { "one" } else { "grid" };
        let x = place(*tick);
        drawn +=
            &format!("<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"{y}\" y2=\"{bottom}\"/>");
    }
    for line in &panel.lines {
        let middle = *y + LINE / 2.0;
        let label = text::html(&line.label);
        drawn += &format!(
            "\n<g><title>{}</title><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>",
            text::html(&line.said(panel.factors)),
            LEFT - 12.0,
            middle + 4.5
        );
        if let Some((low, high)) = line.interval {
            let (low, high) = (place(low), place(high));
            drawn += &format!(
                "<line class=\"whisker\" x1=\"{low}\" x2=\"{high}\" y1=\"{middle}\" y2=\"{middle}\"/>"
            );
        }
        if let Some(figure) = line.now {
            let x = place(figure);
            drawn += &format!("<circle class=\"now\" cx=\"{x}\" cy=\"{middle}\" r=\"4.5\"/>");
        }
        if let Some(figure) = line.then {
            let x = LEFT + panel.axis.share(figure) * (RIGHT - LEFT) - 5.0;
            drawn += &format!(
                "<rect class=\"then\" x=\"{x:.1}\" y=\"{}\" width=\"10\" height=\"10\"/>",
                middle - 5.0
            );
        }
        drawn += "</g>";
        *y += LINE;
    }
    *y += 14.0;
    drawn += "\n";
    for tick in ticks {
        let label = match panel.factors {
            true => words::factor(Some(tick)),
            false => digits(tick),
        };
        drawn += &format!(
            "<text class=\"soft\" x=\"{}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>",
            place(tick)
        );
    }
    *y += 10.0;
    drawn + "\n"
}
