//! The picture above the page: uses × machines, coloured by who is best. Colours are attributes, so
//! that a viewer without style sheets shows them; one with them changes to a dark page's.

use crate::Guide;
use crate::overview::Short;

const LEFT: usize = 200;
const COLUMN: usize = 104;
const LINE: usize = 40;
const TOP: usize = 44;

/// A filesystem, its colour on a light page and on a dark one.
const COLOURS: [(&str, &str, &str); 5] = [
    ("ext4", "#cfe3f7", "#1e4163"),
    ("xfs", "#d3efd3", "#1f4d2b"),
    ("btrfs", "#f9dfc4", "#6b431c"),
    ("f2fs", "#e6d8f5", "#4b3270"),
    ("zfs", "#f6d0d8", "#6a2a3a"),
];

impl Guide {
    /// The picture as a file of its own.
    pub fn picture(&self) -> String {
        let (machines, _) = self.machines_by_run();
        let width = LEFT + COLUMN * machines.len().max(5) + 8;
        let height = TOP + LINE * self.uses.len() + 44;
        let dark: String =
            COLOURS.iter().map(|(name, _, dark)| format!(".{name}{{fill:{dark}}}")).collect();
        let title = "The fastest filesystem for each use on each machine";
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\"><title>{title}</title>\
             <style>@media(prefers-color-scheme:dark){{.paper{{fill:#14181d}}text{{fill:#e8ebf0}}\
             .soft{{fill:#9aa5b4}}.none{{fill:#242a32}}{dark}}}</style>\
             <rect class=\"paper\" fill=\"#fff\" width=\"100%\" height=\"100%\"/>\n"
        );
        for (at, machine) in machines.iter().enumerate() {
            out += &said(LEFT + COLUMN * at + COLUMN / 2, TOP - 14, "middle", true, &machine.id);
        }
        for (nth, used) in self.uses.iter().enumerate() {
            let y = TOP + LINE * nth;
            out += &said(LEFT - 10, y + 24, "end", false, &used.title);
            for (at, machine) in machines.iter().enumerate() {
                out += &square(LEFT + COLUMN * at, y, &Short::of(self.cell(used, machine)));
            }
            out.push('\n');
        }
        let y = TOP + LINE * self.uses.len();
        out += &soft(
            8,
            y + 18,
            "below: the next, and how many times slower; a/b: level, with ? not told apart",
        );
        out += &soft(
            8,
            y + 34,
            "*: with an option; °: nothing reached the disk; –: no figures; <5%: slower by less",
        );
        out + "</svg>\n"
    }
}

fn square(x: usize, y: usize, short: &Short) -> String {
    let named = |name: &str| short.best.starts_with(name);
    let known = COLOURS.iter().find(|(name, ..)| named(name));
    let (class, colour) = known.map_or(("none", "#eceff3"), |(name, light, _)| (*name, *light));
    let mut out = format!(
        "<rect class=\"{class}\" fill=\"{colour}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>",
        x + 2,
        y + 2,
        COLUMN - 4,
        LINE - 4
    );
    let middle = x + COLUMN / 2;
    out += &said(middle, y + 18, "middle", true, &short.best);
    if !short.next.is_empty() {
        out += &said(middle, y + 33, "middle", false, &short.next);
    }
    out
}

fn said(x: usize, y: usize, anchor: &str, strong: bool, said: &str) -> String {
    let weight = if strong { " font-weight=\"600\"" } else { "" };
    let said = text::html(said);
    format!(
        "<text fill=\"#1d2430\"{weight} x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{said}</text>"
    )
}

fn soft(x: usize, y: usize, said: &str) -> String {
    let said = text::html(said);
    format!(
        "<text class=\"soft\" fill=\"#667080\" font-size=\"12\" x=\"{x}\" y=\"{y}\">{said}</text>"
    )
}
