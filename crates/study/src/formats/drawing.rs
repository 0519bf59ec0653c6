//! Panels as self-contained SVG files for a Markdown page. Colours are attributes, so that a viewer
//! without style sheets shows them as they are; one with them changes to a dark page's. A hollow
//! square is a published figure, a dot with its interval a measured one.

use super::panel::Panel;
use crate::atom::digits;

/// Width of a column of panels.
const COLUMN: f64 = 480.0;
/// Where lines begin, after their labels.
const LEFT: f64 = 142.0;
const RIGHT: f64 = COLUMN - 26.0;
const LINE: f64 = 20.0;
/// Height of the key above all panels.
const KEY: f64 = 44.0;
/// A file is at most so many times as tall as wide; what does not fit is drawn in another.
const TALL_MAX: f64 = 1.5;
/// So many characters of a title fit into a column.
const TITLE_MAX: usize = 58;
const DARK: &str = "@media(prefers-color-scheme:dark){.paper{fill:#14181d}text{fill:#e8ebf0}\
.soft{fill:#9aa5b4}.grid{stroke:#3a424e}.one{stroke:#9aa5b4}.whisker{stroke:#6cb2ee}\
.now{fill:#6cb2ee}.then{stroke:#e8ebf0}.claimed{fill:#20364b}}";

/// As many files as their height needs; none where there is no panel.
pub(super) fn files(title: &str, panels: &[Panel]) -> Vec<String> {
    let mut files = Vec::new();
    let mut rest = panels;
    while !rest.is_empty() {
        let (columns, left) = columns(rest);
        files.push(file(title, &columns));
        rest = left;
    }
    files
}

/// The panels of the next file by column, and those that do not fit.
fn columns(panels: &[Panel]) -> (Vec<&[Panel]>, &[Panel]) {
    let total: f64 = panels.iter().map(height).sum();
    if total + KEY <= TALL_MAX * COLUMN {
        return (vec![panels], &[]);
    }
    let most = TALL_MAX * 2.0 * COLUMN - KEY;
    let (first, rest) = up_to(panels, most.min(total / 2.0));
    let (second, rest) = up_to(rest, most);
    (vec![first, second], rest)
}

/// The first panels until they are that high: at least one, and at most one file's.
fn up_to(panels: &[Panel], wanted: f64) -> (&[Panel], &[Panel]) {
    let (most, mut used, mut count) = (TALL_MAX * 2.0 * COLUMN - KEY, 0.0, 0);
    for panel in panels {
        if count > 0 && (used >= wanted || used + height(panel) > most) {
            break;
        }
        used += height(panel);
        count += 1;
    }
    panels.split_at(count)
}

fn height(panel: &Panel) -> f64 {
    52.0 + 16.0 * (titles(panel).len() - 1) as f64 + LINE * panel.lines.len() as f64
}

fn file(title: &str, columns: &[&[Panel]]) -> String {
    let heights = columns.iter().map(|column| column.iter().map(height).sum::<f64>());
    let (width, height) = (COLUMN * columns.len() as f64, KEY + heights.fold(0.0, f64::max));
    let mut body = String::new();
    for (nth, column) in columns.iter().enumerate() {
        let mut y = KEY;
        let mut drawn = String::new();
        for panel in *column {
            drawn += &self::panel(panel, &mut y);
        }
        body += &format!("<g transform=\"translate({} 0)\">\n{drawn}</g>\n", COLUMN * nth as f64);
    }
    let key = key(columns.iter().flat_map(|column| *column));
    let title = text::html(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\
         <title>{title}</title><style>{DARK}</style>\
         <rect class=\"paper\" fill=\"#fff\" width=\"100%\" height=\"100%\"/>\n{key}{body}</svg>\n"
    )
}

fn key<'p>(panels: impl Iterator<Item = &'p Panel> + Clone) -> String {
    let then = format!("{}{}", square(8.0, 18.0), soft(24.0, 22.0, "start", "published"));
    let now =
        format!("{}{}", dot("95", 18.0), soft(106.0, 22.0, "start", "measured, with its interval"));
    let claimed = match panels.clone().any(|panel| panel.claimed.is_some()) {
        true => {
            format!("{}{}", band("282", 24.0, 11.0, 14.0), soft(312.0, 22.0, "start", "as claimed"))
        }
        false => String::new(),
    };
    let factors = match panels.clone().any(|panel| panel.factors) {
        true => soft(
            8.0,
            38.0,
            "start",
            "1× is the best; at 2× it takes twice as long, or reaches half",
        ),
        false => String::new(),
    };
    format!("{then}{now}{claimed}{factors}\n")
}

fn soft(x: f64, y: f64, anchor: &str, said: &str) -> String {
    let said = text::html(said);
    format!(
        "<text class=\"soft\" fill=\"#667080\" font-size=\"12\" x=\"{x:.1}\" y=\"{y}\" \
         text-anchor=\"{anchor}\">{said}</text>"
    )
}

fn square(x: f64, middle: f64) -> String {
    format!(
        "<rect class=\"then\" fill=\"none\" stroke=\"#1d2430\" stroke-width=\"1.5\" x=\"{x:.1}\" \
         y=\"{}\" width=\"10\" height=\"10\"/>",
        middle - 5.0
    )
}

fn dot(x: &str, middle: f64) -> String {
    format!("<circle class=\"now\" fill=\"#1f6fb2\" cx=\"{x}\" cy=\"{middle}\" r=\"4.5\"/>")
}

fn band(x: &str, width: f64, y: f64, height: f64) -> String {
    format!(
        "<rect class=\"claimed\" fill=\"#dcebf8\" x=\"{x}\" width=\"{width:.1}\" y=\"{y}\" \
         height=\"{height}\"/>"
    )
}

/// A title in lines that fit.
fn titles(panel: &Panel) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in panel.title.split_whitespace() {
        let line = lines.last_mut().filter(|line| {
            line.is_empty() || line.chars().count() + word.chars().count() < TITLE_MAX
        });
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.push_str(&format!(" {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn panel(panel: &Panel, y: &mut f64) -> String {
    let mut drawn = String::new();
    *y += 4.0;
    for title in titles(panel) {
        *y += 16.0;
        let title = text::html(&title);
        drawn += &format!(
            "<text fill=\"#1d2430\" font-weight=\"600\" x=\"8\" y=\"{y}\">{title}</text>\n"
        );
    }
    *y += 8.0;
    let at = |figure: f64| LEFT + panel.axis.share(figure) * (RIGHT - LEFT);
    let place = |figure: f64| format!("{:.1}", at(figure));
    let lines = LINE * panel.lines.len() as f64;
    let bottom = *y + lines;
    if let Some([low, high]) = panel.claimed {
        let (low, high) = (low.map_or(LEFT, at), high.map_or(RIGHT, at));
        drawn += &band(&format!("{low:.1}"), (high - low).max(1.0), *y, lines);
    }
    let ticks = panel.axis.ticks();
    for tick in &ticks {
        let (class, colour) = if *tick == 1.0 { ("one", "#667080") } else { ("grid", "#dde1e7") };
        let x = place(*tick);
        drawn += &format!(
            "<line class=\"{class}\" stroke=\"{colour}\" x1=\"{x}\" x2=\"{x}\" y1=\"{y}\" \
             y2=\"{bottom}\"/>"
        );
    }
    for line in &panel.lines {
        let middle = *y + LINE / 2.0;
        let (said, label) = (text::html(&line.said(panel.factors)), text::html(&line.label));
        drawn += &format!(
            "\n<g><title>{said}</title><text fill=\"#1d2430\" x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{label}</text>",
            LEFT - 12.0,
            middle + 4.5
        );
        if let Some((low, high)) = line.interval {
            drawn += &format!(
                "<line class=\"whisker\" stroke=\"#1f6fb2\" stroke-width=\"2\" x1=\"{}\" x2=\"{}\" \
                 y1=\"{middle}\" y2=\"{middle}\"/>",
                place(low),
                place(high)
            );
        }
        drawn += &line.now.map_or(String::new(), |figure| dot(&place(figure), middle));
        drawn += &line.then.map_or(String::new(), |figure| square(at(figure) - 5.0, middle));
        drawn += "</g>";
        *y += LINE;
    }
    *y += 14.0;
    drawn += "\n";
    let mut free = 0.0;
    for tick in ticks {
        let label = format!("{}{}", digits(tick), if panel.factors { "×" } else { "" });
        // Labels that would touch the one before are left out; their line stays.
        let half = 3.6 * label.chars().count() as f64;
        if at(tick) - half >= free {
            drawn += &soft(at(tick), *y, "middle", &label);
            free = at(tick) + half + 4.0;
        }
    }
    *y += 10.0;
    drawn + "\n"
}
