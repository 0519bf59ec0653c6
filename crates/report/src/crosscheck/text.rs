//! The table in a terminal.

use std::fmt::Write;

use super::{Answer, Crosscheck, Held, HeldCount, HeldPhase, HeldTime, Verdict};
use crate::analysis::Unit;
use crate::wording;

pub(super) fn table(check: &Crosscheck) -> String {
    let mut text = format!(
        "{} against {} (run {}): ratio of times, ours to the original's; {} % are taken for \
         equal\n",
        check.ours,
        check.original,
        check.run,
        wording::number(check.margin * 100.0)
    );
    for held in &check.contenders {
        contender(&mut text, held);
    }
    text
}

fn contender(text: &mut String, held: &Held) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\n{}, {}", held.name, wording::counted(held.pairs, "pair"));
    for failed in &held.failed {
        let _ = writeln!(text, "  {failed}");
    }
    if held.phases.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "  {:<18} {:<8} {:>11} {:>11}  {:<23} {}",
        "phase", "time", "ours", "original", "ratio, 95 %", "within the margin"
    );
    for phase in &held.phases {
        for (nth, time) in phase.times.iter().enumerate() {
            let name = if nth == 0 { phase.name.as_str() } else { "" };
            row(text, name, time);
        }
        let verdict = verdict(phase);
        let _ = writeln!(text, "  {:<18} {verdict}", "");
        for remark in &phase.remarks {
            let _ = writeln!(text, "  {:<18} {remark}", "");
        }
    }
}

fn row(text: &mut String, name: &str, time: &HeldTime) {
    let seconds = |value: Option<f64>| {
        value.map_or("missing".to_owned(), |value| wording::figure(value, Unit::Seconds))
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

fn verdict(phase: &HeldPhase) -> String {
    let words = match phase.verdict {
        Verdict::Equivalent => "equivalent",
        Verdict::OwnCode => "equivalent but for the original's own code",
        Verdict::Departs => "DEPARTS",
        Verdict::Undecided => "undecided: more or longer pairs may tell",
    };
    let counts: Vec<String> = phase.counts.iter().map(count).collect();
    if counts.is_empty() { words.to_owned() } else { format!("{words}; {}", counts.join(", ")) }
}

fn count(count: &HeldCount) -> String {
    let name = count.name.replace('_', " ");
    if count.agree == count.pairs {
        format!("{name} equal ({})", wording::number(count.ours))
    } else {
        format!(
            "{name} DIFFER in {} of {}: {} and {}",
            count.pairs - count.agree,
            count.pairs,
            wording::number(count.ours),
            wording::number(count.original)
        )
    }
}
