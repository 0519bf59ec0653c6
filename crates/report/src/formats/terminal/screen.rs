//! The answer on one screen: at most [`LINES_MAX`] lines, whatever was compared.

use unicode_width::UnicodeWidthStr;

use super::folding::{fitted, folded};
use super::rows::Style;
use crate::analysis::Mark;
use crate::answer::{Answer, Row, Step, WorkloadAnswer};

/// The number of lines that a reader takes in at a glance.
const LINES_MAX: usize = 40;

/// Width of the words in front: `Limits  `.
const LABEL: usize = 8;

/// A contender's name has at least this width, and at most so many lines.
const NAME: usize = 24;
const NAME_LINES: usize = 6;

/// What is said of another phase has at most so many lines.
const AHEAD_LINES: usize = 4;

/// Between two columns.
const GAP: usize = 2;

/// How much is shown, from everything down to the sentences only.
#[derive(Debug, Clone, Copy)]
struct Detail {
    rows: usize,
    others: usize,
    why: bool,
    lines: usize,
    limits: usize,
}

const DETAILS: [Detail; 7] = [
    Detail { rows: 24, others: 12, why: true, lines: 3, limits: 12 },
    Detail { rows: 24, others: 12, why: true, lines: 3, limits: 5 },
    Detail { rows: 12, others: 4, why: true, lines: 2, limits: 4 },
    Detail { rows: 6, others: 2, why: true, lines: 2, limits: 4 },
    Detail { rows: 4, others: 0, why: true, lines: 1, limits: 3 },
    Detail { rows: 3, others: 0, why: false, lines: 1, limits: 3 },
    Detail { rows: 0, others: 0, why: false, lines: 1, limits: 3 },
];

/// The screen, as detailed as fits.
pub(super) fn screen(
    answer: &Answer,
    width: usize,
    paint: &dyn Fn(&str, Style) -> String,
) -> String {
    let attempts = DETAILS.iter().map(|detail| lines(answer, *detail, width, paint));
    let mut fitting = attempts.skip_while(|lines| lines.len() > LINES_MAX);
    let lines = fitting.next().unwrap_or_else(|| shortest(answer, width, paint));
    lines.join("\n") + "\n"
}

fn lines(
    answer: &Answer,
    detail: Detail,
    width: usize,
    paint: &dyn Fn(&str, Style) -> String,
) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for workload in &answer.workloads {
        let sentence = folded(&workload.sentence, width, 3);
        out.extend(sentence.iter().map(|line| paint(line, Style::Strong)));
        if detail.rows > 0 {
            out.extend(table(workload, detail.rows, width, paint));
        }
        if let Some(measured) = workload.measured.as_ref().filter(|_| detail.why) {
            out.extend(labelled("Work", &measured.words, width, detail.lines));
        }
        if let Some(why) = workload.why.as_ref().filter(|_| detail.why) {
            out.extend(labelled("Why", why, width, detail.lines));
        }
        out.extend(others(workload, detail.others, width));
        out.push(String::new());
    }
    out.extend(end(answer, width, detail.limits));
    out
}

/// Sentences alone, as many as fit.
fn shortest(answer: &Answer, width: usize, paint: &dyn Fn(&str, Style) -> String) -> Vec<String> {
    let end = end(answer, width, 3);
    let room = LINES_MAX.saturating_sub(end.len() + 2);
    let sentences = answer.workloads.iter().take(room);
    let mut out: Vec<String> =
        sentences.map(|it| paint(&fitted(&it.sentence, width), Style::Strong)).collect();
    let left = answer.workloads.len().saturating_sub(room);
    if left > 0 {
        out.push(format!("… and {left} more workloads"));
    }
    out.push(String::new());
    out.extend(end);
    out
}

/// What limits it, and what to type next.
fn end(answer: &Answer, width: usize, lines_max: usize) -> Vec<String> {
    let mut out = Vec::new();
    if !answer.limits.is_empty() {
        out.extend(labelled("Limits", &answer.limits.join(" "), width, lines_max));
    }
    let longest = answer.next.iter().map(|step| step.why.width()).max().unwrap_or(0);
    for (nth, Step { why, command }) in answer.next.iter().enumerate() {
        let label = if nth == 0 { "Next" } else { "" };
        // A command is for copying: it is never folded.
        let space = " ".repeat(longest - why.width());
        out.push(format!("{label:<LABEL$}{why}{space}  {command}"));
    }
    out
}

fn labelled(label: &str, text: &str, width: usize, lines_max: usize) -> Vec<String> {
    let lines = folded(text, width.saturating_sub(LABEL), lines_max);
    let start = |nth: usize| if nth == 0 { label } else { "" };
    lines.iter().enumerate().map(|(nth, line)| format!("{:<LABEL$}{line}", start(nth))).collect()
}

/// The other phases, a line each.
fn others(workload: &WorkloadAnswer, most: usize, width: usize) -> Vec<String> {
    let shown = workload.others.len().min(most);
    let longest =
        workload.others.iter().map(|other| other.phase.width()).max().unwrap_or(0).min(32);
    let mut out: Vec<String> = Vec::new();
    for (nth, other) in workload.others.iter().take(shown).enumerate() {
        let label = if nth == 0 { "Also" } else { "" };
        let name = fitted(&other.phase, longest);
        let space = " ".repeat(longest - name.width());
        let before = LABEL + longest + GAP;
        let ahead = folded(&other.ahead, width.saturating_sub(before).max(NAME), AHEAD_LINES);
        let (first, further) = ahead.split_first().map_or(("", &[][..]), |(it, rest)| (it, rest));
        out.push(format!("{label:<LABEL$}{name}{space}  {first}").trim_end().to_owned());
        out.extend(further.iter().map(|line| format!("{:before$}{line}", "")));
    }
    let left = workload.others.len() - shown;
    if left > 0 && shown > 0 {
        out.push(format!("{:<LABEL$}and {left} more phases", ""));
    }
    out
}

/// The contenders of what was asked, in the order of rank.
fn table(
    workload: &WorkloadAnswer,
    most: usize,
    width: usize,
    paint: &dyn Fn(&str, Style) -> String,
) -> Vec<String> {
    if workload.rows.is_empty() {
        return Vec::new();
    }
    let shown = workload.rows.len().min(most);
    let rows = &workload.rows[..shown];
    let rank_width = rows.iter().map(|row| row.rank.width()).max().unwrap_or(0).max(1);
    let widths: Vec<usize> = workload
        .columns
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let cells = rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| cell.width());
            cells.max().unwrap_or(0).max(head.width())
        })
        .collect();
    let all: usize = widths.iter().map(|width_of| GAP + width_of).sum();
    let room = width.saturating_sub(rank_width + 2 * GAP + all).max(NAME);
    let names: Vec<Vec<String>> =
        rows.iter().map(|row| folded(&name(row), room, NAME_LINES)).collect();
    let name_width = names.iter().flatten().map(|line| line.width()).max().unwrap_or(0);
    // As many columns as fit; the first ones matter most.
    let mut used = rank_width + 2 * GAP + name_width;
    let fitting = widths.iter().take_while(|width_of| {
        used += GAP + **width_of;
        used <= width
    });
    let columns = fitting.count();
    let right = |text: &str, at: usize| {
        format!("{}{text}", " ".repeat(GAP + widths[at].saturating_sub(text.width())))
    };
    let mut out = Vec::new();
    let heads: String = (0..columns).map(|at| right(&workload.columns[at], at)).collect();
    if columns > 0 {
        let before = " ".repeat(rank_width + 2 * GAP + name_width);
        out.push(paint(&format!("{before}{heads}"), Style::Faint));
    }
    for (row, name) in rows.iter().zip(&names) {
        let (name, further) = name.split_first().map_or(("", &[][..]), |(it, rest)| (it, rest));
        let space = " ".repeat(name_width - name.width());
        let style = match row.mark {
            Some(Mark::Best) => Style::Best,
            Some(Mark::Worst) => Style::Worst,
            None => Style::Plain,
        };
        let rank = format!("{:>rank_width$}", row.rank);
        let start = format!("{:GAP$}{rank}{:GAP$}{}{space}", "", "", paint(name, style));
        let before = rank_width + 2 * GAP + name_width;
        let rest = match &row.missing {
            Some(why) => fitted(&format!("  – {why}"), width.saturating_sub(before)),
            None => (0..columns).map(|at| right(&row.cells[at], at)).collect(),
        };
        out.push(format!("{start}{rest}"));
        let indent = " ".repeat(rank_width + 2 * GAP);
        out.extend(further.iter().map(|line| format!("{indent}{}", paint(line, style))));
    }
    let left = workload.rows.len() - shown;
    if left > 0 {
        out.push(format!("{:>LABEL$} and {left} more", "…"));
    }
    out
}

fn name(row: &Row) -> String {
    match row.flag {
        Some(flag) => format!("{} ({flag})", row.name),
        None => row.name.clone(),
    }
}
