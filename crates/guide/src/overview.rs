//! All uses and machines in one table: who is best, and by how much the next is slower.

use report::{Decision, Relation};
use unicode_width::UnicodeWidthStr;

use crate::standing::Standing;
use crate::{Cell, Guide, Use};

/// Width of a machine's column, and of that of the uses.
const COLUMN: usize = 9;
const USES: usize = 10;

/// What stands for a cell, in two lines of [`COLUMN`] letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) best: String,
    pub(crate) next: String,
}

/// Behind a name that stands for options.
const WITH_OPTIONS: char = '*';
/// Behind a best that nothing of the disk decided.
const PROCESSOR: char = '°';

impl Short {
    pub(crate) fn of(cell: Option<&Cell>) -> Short {
        let nothing = |said: &str| Short { best: said.to_owned(), next: String::new() };
        let Some(cell) = cell else { return nothing("–") };
        let Some(standing) = cell.standing.as_ref().filter(|it| it.leader.is_some()) else {
            return nothing("–");
        };
        let mut short = of_standing(standing, COLUMN - usize::from(!cell.disk_reached));
        if !cell.disk_reached {
            short.best.push(PROCESSOR);
        }
        short
    }
}

/// With so many letters for the best.
fn of_standing(standing: &Standing, room: usize) -> Short {
    let open = standing.decision == Decision::Open;
    let best: Vec<String> = standing.best().into_iter().map(brief).collect();
    let end = if open { "?" } else { "" };
    let joined = best.join("/") + end;
    let next = standing.next().map_or(String::new(), |next| {
        let times = match next.relation {
            Relation::LittleWorse => "<5%".to_owned(),
            _ => times(next.ratio),
        };
        format!("{} {times}", brief(&next.name))
    });
    if joined.width() <= room {
        return Short { best: joined, next };
    }
    match standing.behind.len() + 1 {
        all if all == best.len() && open => Short { best: "open".to_owned(), next },
        all if all == best.len() => Short { best: "all level".to_owned(), next },
        _ => {
            let (first, rest) = best.split_at(1);
            let second = format!("/{}{end}", rest.join("/"));
            match second.width() <= COLUMN {
                true => Short { best: first[0].clone(), next: second },
                false => Short {
                    best: format!("{} {}", best.len(), if open { "open" } else { "level" }),
                    next,
                },
            }
        }
    }
}

/// A name without its options.
fn brief(name: &str) -> String {
    match name.split_once('-') {
        Some((filesystem, _)) => format!("{filesystem}{WITH_OPTIONS}"),
        None => name.to_owned(),
    }
}

/// A factor in three letters at most.
fn times(ratio: f64) -> String {
    match ratio {
        _ if ratio < 9.95 => format!("{ratio:.1}"),
        _ if ratio < 999.5 => format!("{ratio:.0}"),
        _ => ">99".to_owned(),
    }
}

impl Guide {
    /// The table of these uses, or of all.
    pub fn overview(&self, uses: Option<&[&Use]>) -> String {
        let all: Vec<&Use> = self.uses.iter().collect();
        let uses = uses.unwrap_or(&all);
        let (machines, not_run) = self.machines_by_run();
        let mut out = String::from(
            "Which filesystem is fastest, and below it the next and how many times slower:\n\n",
        );
        for line in 0..2 {
            // A long name stands in two lines.
            let head = |id: &str| match (id.split_once('-'), line) {
                (Some((first, _)), 0) => format!("{first}-"),
                (Some((_, second)), _) => second.to_owned(),
                (None, 0) => String::new(),
                (None, _) => id.to_owned(),
            };
            let heads = machines.iter().map(|machine| head(&machine.id));
            out += row("", heads).trim_start_matches('\n');
        }
        for used in uses {
            let shorts: Vec<Short> =
                machines.iter().map(|machine| Short::of(self.cell(used, machine))).collect();
            out += &row(&used.id, shorts.iter().map(|short| short.best.clone()));
            out += &row("", shorts.iter().map(|short| short.next.clone()));
        }
        out += "\na/b: level, or with ? not told apart; <5%: slower by less; *: with an option;\n\
                °: processors were compared, since nothing reached the disk; –: no figures";
        let not_run: Vec<&str> = not_run.iter().map(|machine| machine.id.as_str()).collect();
        if !not_run.is_empty() {
            out += &format!(".\nNot run yet: {}", not_run.join(", "));
        }
        let mut made = self.cells.iter().map(|cell| &cell.made);
        if let Some(made) = made.find(|made| !made.kernel.is_empty()) {
            let kernel = made.kernel.split(['-', '+']).next().unwrap_or_default();
            out += &format!(".\nMeasured in the lab (Linux {kernel}, {})", made.date);
        }
        out += ".\nOne of them: fstrial guide mail --on ssd\n";
        out
    }
}

fn row(first: &str, cells: impl Iterator<Item = String>) -> String {
    let mut line = format!("{first:<USES$}");
    for cell in cells {
        line += &format!(" {cell}{}", " ".repeat(COLUMN.saturating_sub(cell.width())));
    }
    format!("{}\n", line.trim_end())
}
