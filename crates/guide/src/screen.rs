//! The answer for one use: on one machine, or on all in a few lines each. A screen of 80 columns and
//! 40 lines.

use report::{Decision, fitted, folded};
use unicode_width::UnicodeWidthStr;

use crate::cell::Row;
use crate::{Cell, Guide, Machine, Use, features};

/// Columns of a screen, and its lines.
pub(crate) const WIDTH: usize = 80;
pub(crate) const LINES: usize = 40;

/// Width of the words in front: `Changes  `.
const LABEL: usize = 9;

/// A text behind a label has at most so many lines.
const TEXT_LINES: usize = 3;

/// What is known of the reader's machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Here {
    /// Its kernel's release.
    pub kernel: Option<String>,
}

impl Guide {
    /// The answer for a use on a machine.
    pub fn screen(&self, used: &Use, machine: &Machine, here: &Here) -> String {
        let Some(cell) = self.cell(used, machine) else {
            return self.nothing(used, machine, "it was not run yet");
        };
        if let Some(said) = &cell.failed {
            return self.nothing(used, machine, said);
        }
        // The other phases are what can be left out.
        let attempts = [4, 2, 0].map(|others| self.lines(used, machine, cell, here, others));
        let [full, shorter, least] = attempts;
        let fitting = [full, shorter].into_iter().find(|lines| lines.len() <= LINES);
        fitting.unwrap_or(least).join("\n") + "\n"
    }

    fn lines(
        &self,
        used: &Use,
        machine: &Machine,
        cell: &Cell,
        here: &Here,
        others: usize,
    ) -> Vec<String> {
        let mut out = folded(&sentence(used, machine, cell), WIDTH, TEXT_LINES);
        out.extend(table(cell));
        if let Some(work) = &cell.work {
            let little = if work.enough { "" } else { "; figures of a beginning" };
            out.extend(labelled("Work", &format!("{}{little}", used.size), TEXT_LINES));
            out.extend(labelled("", &work.words, 1));
        }
        out.extend(
            cell.why.as_ref().map(|why| labelled("Why", why, TEXT_LINES)).into_iter().flatten(),
        );
        for (nth, other) in cell.others.iter().take(others).enumerate() {
            let said = format!("{}: {}", other.phase, other.ahead);
            out.extend(labelled(if nth == 0 { "Also" } else { "" }, &said, 2));
        }
        out.extend(labelled("Costs", &costs(used, cell), TEXT_LINES));
        out.extend(labelled("Changes", &used.changes, TEXT_LINES));
        out.extend(labelled("Else", &self.elsewhere(used, machine), 2));
        out.extend(labelled("Measured", &measured(cell, here), TEXT_LINES));
        out.push(String::new());
        out.extend(self.again(used, machine));
        out
    }

    /// Who is best on the other machines.
    fn elsewhere(&self, used: &Use, machine: &Machine) -> String {
        let others = self.machines.iter().filter(|other| other.id != machine.id);
        let said = others.filter_map(|other| {
            let standing = self.cell(used, other)?.standing.as_ref()?;
            let best = standing.best().join("/");
            let open = if standing.decision == Decision::Open { "?" } else { "" };
            (!best.is_empty()).then(|| format!("{}: {best}{open}", other.id))
        });
        let mut said = said.collect::<Vec<_>>().join("; ");
        let related: Vec<&str> = self.related(used).collect();
        if !related.is_empty() {
            said += &format!("; see also `fstrial guide {}`", related.join("`, `"));
        }
        said
    }

    fn again(&self, used: &Use, machine: &Machine) -> Vec<String> {
        let mut out = vec!["The same in the lab, without root (the first line once):".to_owned()];
        out.extend(typed(&self.lab.command()));
        out.extend(typed(&used.command(machine, &self.lab)));
        out.push("On a disk of yours, as root, in files below DIR:".to_owned());
        out.extend(typed(&used.command_on_a_disk()));
        out
    }

    fn nothing(&self, used: &Use, machine: &Machine, why: &str) -> String {
        let said = format!("For {} on {}: no figures: {why}.", used.question, machine.title);
        let mut out = folded(&said, WIDTH, 8);
        out.push(String::new());
        out.extend(self.again(used, machine));
        out.join("\n") + "\n"
    }

    /// The answers for several uses on one machine.
    pub fn on_machine(&self, uses: &[&Use], machine: &Machine) -> String {
        let mut out = folded(&format!("On {}:", machine.title), WIDTH, 1);
        let width = self.uses.iter().map(|used| used.id.width()).max().unwrap_or(0) + 2;
        for used in uses {
            out.extend(line(&used.id, width, self.cell(used, machine)));
        }
        out.push(format!("\nOne of them with its figures: fstrial guide mail --on {}", machine.id));
        out.join("\n") + "\n"
    }

    /// The answer for a use on every machine.
    pub fn on_all_machines(&self, used: &Use) -> String {
        let mut out = folded(&format!("For {}:", used.question), WIDTH, 2);
        let width = self.machines.iter().map(|machine| machine.id.width()).max().unwrap_or(0) + 2;
        let (known, missing): (Vec<&Machine>, Vec<&Machine>) =
            self.machines.iter().partition(|machine| self.cell(used, machine).is_some());
        for machine in known {
            out.extend(line(&machine.id, width, self.cell(used, machine)));
        }
        let missing: Vec<&str> = missing.iter().map(|machine| machine.id.as_str()).collect();
        if !missing.is_empty() {
            out.push(format!("  not run yet: {}", missing.join(", ")));
        }
        out.push(String::new());
        out.extend(labelled("Work", &used.size, TEXT_LINES));
        let cells = self.machines.iter().filter_map(|machine| self.cell(used, machine));
        if let Some(cell) = cells.into_iter().find(|cell| cell.failed.is_none()) {
            out.extend(labelled("Costs", &costs(used, cell), TEXT_LINES));
        }
        out.extend(labelled("Changes", &used.changes, TEXT_LINES));
        let related: Vec<&str> = self.related(used).collect();
        if !related.is_empty() {
            out.extend(labelled("Else", &format!("fstrial guide {}", related.join(", ")), 1));
        }
        let known = |machine: &&Machine| self.cell(used, machine).is_some();
        let one = self.machines.iter().find(known).or(self.machines.first());
        let one = one.map_or("", |machine| machine.id.as_str());
        out.push(format!("{:<LABEL$}fstrial guide {} --on {one}", "Figures", used.id));
        out.join("\n") + "\n"
    }
}

/// An answer among others, behind what it is for.
fn line(id: &str, width: usize, cell: Option<&Cell>) -> Vec<String> {
    let said = match cell {
        None => "not run yet".to_owned(),
        Some(Cell { failed: Some(said), .. }) => format!("no figures: {said}"),
        Some(cell) => cell.verdict.clone(),
    };
    let lines = folded(&said, WIDTH - width - 2, 2);
    let start = |nth: usize| if nth == 0 { id } else { "" };
    lines.iter().enumerate().map(|(nth, line)| format!("  {:<width$}{line}", start(nth))).collect()
}

/// The sentence that answers, for a use on a machine.
fn sentence(used: &Use, machine: &Machine, cell: &Cell) -> String {
    let comma = if used.question.contains(", ") { "," } else { "" };
    format!("For {}{comma} on {}: {}", used.question, machine.title, verdict(cell))
}

/// The run's own verdict; where it decides nothing, that something else does.
fn verdict(cell: &Cell) -> String {
    let standing = cell.standing.as_ref();
    let among = |decision: Decision| standing.is_some_and(|it| it.decision == decision);
    let all = standing.is_some_and(|it| it.behind.iter().all(|one| !one.relation.is_worse()));
    match cell.verdict.trim_end_matches('.') {
        said if all && among(Decision::Level) => {
            format!("{said}. Speed does not decide; what they can do does.")
        }
        said if all && among(Decision::Open) => {
            format!("{said}. No difference is shown; what they can do decides.")
        }
        said => format!("{said}."),
    }
}

fn costs(used: &Use, cell: &Cell) -> String {
    let measured = |name: &str| cell.rows.iter().any(|row| row.name == name);
    let of_options = used.contenders.iter().filter(|it| measured(it.name()));
    let of_options = of_options.map(|it| it.cost()).filter(|cost| !cost.is_empty());
    let said: Vec<String> =
        features::of(used).into_iter().chain(of_options.map(str::to_owned)).collect();
    said.join("; ") + "."
}

fn measured(cell: &Cell, here: &Here) -> String {
    let made = &cell.made;
    let mut said = format!(
        "{}, Linux {}, simulated {}, {} repeats, fstrial {}",
        made.date, made.kernel, made.disk, made.repeats, made.fstrial
    );
    let version =
        |release: &str| -> String { release.split('.').take(2).collect::<Vec<_>>().join(".") };
    let differs = |kernel: &&String| version(kernel) != version(&made.kernel);
    if let Some(kernel) = here.kernel.as_ref().filter(differs) {
        let kernel = text::line(kernel);
        said += &format!("; this machine runs Linux {kernel}, which may rank differently");
    }
    said + "; one processor, no drive's firmware."
}

fn labelled(label: &str, said: &str, lines_max: usize) -> Vec<String> {
    let lines = folded(said, WIDTH - LABEL, lines_max);
    let start = |nth: usize| if nth == 0 { label } else { "" };
    lines.iter().enumerate().map(|(nth, line)| format!("{:<LABEL$}{line}", start(nth))).collect()
}

/// A command in lines that a shell takes as one. An option stays with its value.
fn typed(command: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in command.split(' ') {
        match parts.last_mut().filter(|part| part.starts_with("--") && !part.contains(' ')) {
            Some(option) if !word.starts_with("--") => *option += &format!(" {word}"),
            _ => parts.push(word.to_owned()),
        }
    }
    let whole = format!("  {command}");
    if whole.width() <= WIDTH {
        return vec![whole];
    }
    let mut parts = parts.into_iter();
    let mut lines = vec![format!("  {}", parts.next().unwrap_or_default())];
    for part in parts {
        match lines.last_mut().filter(|line| line.width() + part.width() + 3 <= WIDTH) {
            Some(line) => *line += &format!(" {part}"),
            None => lines.push(format!("    {part}")),
        }
    }
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line += " \\";
    }
    lines.iter().flat_map(|line| broken(line)).collect()
}

/// A line in pieces that are broken after commas, where a shell joins what begins at the margin.
fn broken(line: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for piece in line.split_inclusive(',') {
        let fits = |last: &String| last.is_empty() || last.width() + piece.width() < WIDTH;
        match pieces.last_mut().filter(|last| fits(last)) {
            Some(last) => last.push_str(piece),
            None => pieces.push(piece.to_owned()),
        }
    }
    let last = pieces.len() - 1;
    for piece in &mut pieces[..last] {
        piece.push('\\');
    }
    pieces
}

/// The contenders in the order of rank, with as many columns as fit.
fn table(cell: &Cell) -> Vec<String> {
    let of = |pick: &dyn Fn(&Row) -> usize| cell.rows.iter().map(pick).max().unwrap_or(0);
    let (rank, name) = (of(&|row| row.rank.width()), of(&|row| row.name.width()));
    let width_of = |at: usize| {
        of(&|row| row.cells.get(at).map_or(0, |it| it.width())).max(cell.columns[at].width())
    };
    let before = rank + name + 6;
    let mut used = before;
    let fitting = (0..cell.columns.len()).take_while(|at| {
        used += 2 + width_of(*at);
        used <= WIDTH
    });
    let shown = fitting.count();
    let right = |text: &str, at: usize| {
        format!("{}{text}", " ".repeat(2 + width_of(at).saturating_sub(text.width())))
    };
    let heads: String = (0..shown).map(|at| right(&cell.columns[at], at)).collect();
    let mut out = vec![format!("{:before$}{heads}", "")];
    for row in &cell.rows {
        let start = format!("  {:>rank$}  {:<name$}  ", row.rank, row.name);
        out.push(match &row.missing {
            Some(why) => fitted(&format!("{start}– {why}"), WIDTH),
            None => {
                let cells = row.cells.iter().enumerate().take(shown);
                start + &cells.map(|(at, text)| right(text, at)).collect::<String>()
            }
        });
    }
    out
}
