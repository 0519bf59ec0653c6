//! The table in a terminal.

use std::fmt::Write;

use super::{Answer, ContenderCheck, CountCheck, Crosscheck, PhaseCheck, TimeCheck, Verdict};
use crate::analysis::Unit;
use crate::numbers::{counted, number};
use crate::wording::figure;

pub(super) fn table(check: &Crosscheck) -> String {
    let mut text = format!(
        "{} against {} (run {}): times, ours to the original's;\n\
         within {} % they are taken for equal\n",
        check.ours,
        check.original,
        check.run,
        number(check.margin * 100.0)
    );
    for held in &check.contenders {
        contender(&mut text, held);
    }
    text
}

fn contender(text: &mut String, check: &ContenderCheck) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n{}, {}", check.name, counted(check.pairs, "pair"));
    for failed in &check.failed {
        let _ = writeln!(text, "  {failed}");
    }
    if check.phases.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "  {:<18} {:<8} {:>11} {:>11}  {:<23} within the margin",
        "phase", "time", "ours", "original", "ratio, 95 %"
    );
    for phase in &check.phases {
        for (nth, time) in phase.times.iter().enumerate() {
            let name = if nth == 0 { phase.name.as_str() } else { "" };
            row(text, name, time);
        }
        for line in verdict(phase).iter().chain(&phase.remarks) {
            let _ = writeln!(text, "  {:<18} {line}", "");
        }
    }
}

fn row(text: &mut String, name: &str, time: &TimeCheck) {
    let seconds = |value: Option<f64>| {
        value.map_or("missing".to_owned(), |value| figure(value, Unit::Seconds))
    };
    let ratio = match (time.ratio, time.interval) {
        (Some(ratio), Some((low, high))) => format!("{ratio:.3}  {low:.3} … {high:.3}"),
        _ => time.missing.clone().unwrap_or_default(),
    };
    let answer = match time.answer {
        Answer::Equivalent => "yes",
        Answer::OursLess => "no, ours takes less",
        Answer::OursMore => "no, ours takes more",
        Answer::Undecided => "undecided",
    };
    let (ours, original) = (seconds(time.ours_s), seconds(time.original_s));
    let _ = writeln!(
        text,
        "  {name:<18} {:<8} {ours:>11} {original:>11}  {ratio:<23} {answer}",
        time.name
    );
}

/// The verdict in words, then the counts, as many to a line as fit.
fn verdict(phase: &PhaseCheck) -> Vec<String> {
    const WIDTH: usize = 78;
    let words = match phase.verdict {
        Verdict::Equivalent => "equivalent",
        Verdict::OwnCode => "equivalent but for the original's own code",
        Verdict::Departs => "DEPARTS",
        Verdict::Undecided => "undecided: more or longer pairs may tell",
    };
    let mut lines = vec![words.to_owned()];
    for count in phase.counts.iter().map(count) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + count.chars().count() + 2 <= WIDTH => {
                *line += &format!("; {count}");
            }
            _ => lines.push(count),
        }
    }
    lines
}

fn count(count: &CountCheck) -> String {
    let name = count.name.replace('_', " ");
    if count.agree == count.pairs {
        format!("{name} equal ({})", number(count.ours))
    } else {
        format!(
            "{name} DIFFER in {} of {}: {} and {}",
            count.pairs - count.agree,
            count.pairs,
            number(count.ours),
            number(count.original)
        )
    }
}
