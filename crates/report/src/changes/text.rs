//! What changed, for a terminal.

use super::{Change, Changes, Effect, PhaseChange, Verdict, unit_of};
use crate::analysis::{EQUIVALENCE_MARGIN, Unit};
use crate::numbers::counted;
use crate::sentences::percent;
use crate::wording::{factors, figure};

const WIDTH: usize = 100;
/// Of more phases than this only `--full` shows all.
const ROWS_MAX: usize = 24;

pub(super) fn of(changes: &Changes, full: bool) -> String {
    let mut lines = vec![headline(changes)];
    lines.extend(differences(changes, full));
    lines.push(String::new());
    let shown: Vec<&PhaseChange> =
        changes.phases.iter().filter(|phase| full || phase.has_changed()).collect();
    let most = if full { usize::MAX } else { ROWS_MAX };
    lines.extend(table(changes, &shown[..shown.len().min(most)]));
    let hidden = changes.phases.len() - shown.len().min(most);
    match hidden {
        0 => {}
        _ if shown.is_empty() => lines.push("their figures: --full".to_owned()),
        _ => {
            let phases = counted(hidden, "phase");
            lines.push(format!("{phases} more, not shown here: --full"));
        }
    }
    lines.extend(changes.alone.iter().map(|alone| format!("not compared: {alone}")));
    let lines = lines.iter().map(|line| ::text::line(line).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn headline(changes: &Changes) -> String {
    let of = |verdict: Verdict| {
        changes.phases.iter().filter(|phase| phase.time.verdict == verdict).count()
    };
    let more = changes
        .phases
        .iter()
        .filter(|phase| phase.counts.iter().any(|count| count.change.verdict == Verdict::More));
    let equal = format!("equal within {}", percent(EQUIVALENCE_MARGIN));
    let parts: Vec<String> = [
        (of(Verdict::More), "slower"),
        (of(Verdict::Less), "faster"),
        (of(Verdict::Same), "the same to the last digit"),
        (of(Verdict::Equal), &equal),
        (of(Verdict::Undecided), "undecided"),
        (of(Verdict::Missing), "without a figure"),
        (more.count(), "asking more of the disk"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let phases = counted(changes.phases.len(), "phase");
    let (after, before) = (&changes.after, &changes.before);
    match parts.is_empty() {
        true => format!(
            "{after} against {before}: no phase is in both; contenders are matched by name, and \
             `--fs ext4=ext4:data=journal` gives one with other options the name ext4"
        ),
        false if changes.only.is_empty() => {
            format!("{after} against {before}, {phases}: {}", parts.join(", "))
        }
        false => {
            let only = changes.only.join(", ");
            format!("{after} against {before}, only {only}, {phases}: {}", parts.join(", "))
        }
    }
}

/// What differs beside the figures. What may have changed them is never left out; only `full` shows
/// the rest and whole lines.
fn differences(changes: &Changes, full: bool) -> Vec<String> {
    let shown = changes.differences.iter().filter(|it| full || it.effect < Effect::Noted);
    let mut lines: Vec<String> = shown
        .map(|it| {
            let head = if it.refuses() { "not alike" } else { "changed" };
            let line = format!("{head}: {}", it.words());
            match full || line.chars().count() <= WIDTH {
                true => line,
                false => line.chars().take(WIDTH - 1).chain(['…']).collect(),
            }
        })
        .collect();
    let rest = changes.differences.iter().filter(|it| it.effect == Effect::Noted).count();
    if !full && rest > 0 {
        let things = counted(rest, "thing");
        lines.push(format!("changed: {things} that should not matter: --full"));
    }
    lines
}

fn table(changes: &Changes, shown: &[&PhaseChange]) -> Vec<String> {
    if shown.is_empty() {
        return Vec::new();
    }
    let heads = [
        String::new(),
        changes.before.clone(),
        changes.after.clone(),
        "time".to_owned(),
        "asked of the disk".to_owned(),
    ];
    let mut rows = vec![heads];
    let mut above = String::new();
    for phase in shown {
        let group = format!("{} on {}", phase.workload, phase.contender);
        if group != above {
            rows.push([group.clone(), String::new(), String::new(), String::new(), String::new()]);
            above = group;
        }
        rows.push(row(phase));
    }
    // A group's name runs on over the columns behind it.
    let cells = rows.iter().filter(|row| !row[3].is_empty());
    let widths: Vec<usize> = (0..4)
        .map(|at| cells.clone().map(|row| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    let laid_out = |row: &[String; 5]| {
        let [name, before, after, time, counts] = row;
        if time.is_empty() {
            return name.clone();
        }
        format!(
            "{name:<n$}  {before:>b$}  {after:>a$}  {time:<t$}  {counts}",
            n = widths[0],
            b = widths[1],
            a = widths[2],
            t = widths[3]
        )
    };
    rows.iter().map(laid_out).collect()
}

fn row(phase: &PhaseChange) -> [String; 5] {
    let seconds = |value: Option<f64>| {
        value.map_or_else(|| "missing".to_owned(), |it| figure(it, Unit::Seconds))
    };
    let counts: Vec<String> = phase
        .counts
        .iter()
        .filter(|count| matches!(count.change.verdict, Verdict::More | Verdict::Less))
        .map(|count| {
            let value = |value: Option<f64>| figure(value.unwrap_or(0.0), unit_of(count.name));
            let (before, after) = (value(count.change.before), value(count.change.after));
            format!("{} {before} → {after}", count.name)
        })
        .collect();
    let same = phase.counts.iter().all(|count| count.change.verdict == Verdict::Same);
    let asked = match (counts.is_empty(), same) {
        _ if phase.time.verdict == Verdict::Missing => {
            phase.remarks.first().cloned().unwrap_or_default()
        }
        (false, _) => counts.join(", "),
        (true, true) => "the same".to_owned(),
        (true, false) => "no difference shown".to_owned(),
    };
    [
        format!("  {}", phase.phase),
        seconds(phase.time.before),
        seconds(phase.time.after),
        verdict(&phase.time),
        asked,
    ]
}

/// A time's change in words.
fn verdict(time: &Change) -> String {
    let slower = || time.low.zip(time.high).and_then(|(low, high)| factors(low, high, 3));
    let long = |word: &str| match slower() {
        Some(times) => format!("{word}, {times}× as long"),
        None => word.to_owned(),
    };
    match time.verdict {
        Verdict::Same => "the same".to_owned(),
        Verdict::Equal => format!("equal within {}", percent(EQUIVALENCE_MARGIN)),
        Verdict::Missing => "not compared".to_owned(),
        Verdict::More => long("slower"),
        Verdict::Less => long("faster"),
        Verdict::Undecided if slower().is_none() => "undecided: not enough repeats".to_owned(),
        Verdict::Undecided => long("undecided"),
    }
}
