//! The appendix: everything that is needed to check a study or to repeat it.

use std::collections::BTreeSet;

use ::text::markdown as plain;

use super::super::machines;
use super::super::panel::{self, Panel};
use super::{Charts, words};
use crate::measured::atoms_of;
use crate::verdict::{Answer, Verdict};
use crate::{ClaimResults, Results, RowResults, Study, TableResults, atom};

/// A claim with more comparisons than these has their counts on the page.
const ANSWERS_MAX: usize = 6;

/// The appendix; `moved` are sections that did not fit on the page.
pub(super) fn of(results: &Results, moved: &str, charts: &mut Charts<'_>) -> String {
    let study = &results.study;
    let mut text = format!("# Appendix\n\n{moved}");
    text += &format!("## What was done\n\n**Then:** {}\n\n", plain(&study.summary));
    text += &format!("**On:** {}\n\n**Now:**\n\n", plain(&study.machine));
    for said in machines::how(results) {
        text += &format!("- {}\n", plain(&said));
    }
    text += "\n";
    for note in &results.notes {
        text += &format!("> {}\n\n", plain(note));
    }
    text += "## Figures\n\nPublished figures in italics; measured ones with half the width of \
             their 95 % interval, in bold where they are shown to be better than another's of the \
             row and none is shown to be better.\n";
    let asked = asked(results);
    let left_out = |row: &RowResults| !asked.contains(&row.row.id);
    if results.tables.iter().flat_map(|table| &table.rows).any(left_out) {
        text += "Rows that no claim asks about are in the charts and in the HTML report only.\n";
    }
    for table in &results.tables {
        let drawn = charts.link(&table.id, &table.title, &panels(table));
        text += &self::table(table, &asked, &drawn);
    }
    text += "\n## Each claim\n";
    if results.claims.iter().any(|claim| claim.measured.answers.len() > ANSWERS_MAX) {
        text += "\nOf a claim with many comparisons their counts are given; `fstrial study report \
                 --html FILE.html` shows each.\n";
    }
    for claim in &results.claims {
        let title = format!("{} by size", claim.claim.id);
        let name = format!("{}-by-size", claim.claim.id.to_lowercase());
        let drawn = charts.link(&name, &title, &panel::of_turns(claim));
        text += &self::claim(&results.study, claim, &drawn);
    }
    text + &repeat(results)
}

/// The rows that claims ask about.
fn asked(results: &Results) -> BTreeSet<String> {
    let claims = results.study.claims.iter();
    let atoms = claims.filter_map(|claim| atoms_of(&results.study, claim)).flatten();
    atoms.flat_map(|atom| atom.rows().into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The rows of a table that can be drawn.
pub(super) fn panels(table: &TableResults) -> Vec<Panel> {
    table.rows.iter().filter_map(|row| panel::of_row(row, &table.columns)).collect()
}

fn table(table: &TableResults, asked: &BTreeSet<String>, drawn: &str) -> String {
    let rows = || table.rows.iter().filter(|row| asked.contains(&row.row.id));
    let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
    let mut text = format!("\n### {}\n\n{drawn}", plain(&table.title));
    if rows().next().is_none() {
        return text;
    }
    text += &format!("| | {} |\n", columns.join(" | "));
    text += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    let mut notes: Vec<String> = Vec::new();
    let mut note = |said: String| {
        if !notes.contains(&said) {
            notes.push(said);
        }
    };
    for row in rows() {
        let old: Vec<String> =
            row.row.values.iter().map(|cell| plain(&words::published(cell))).collect();
        if words::unmeasured(row) {
            let said = words::left_out(&table.columns, row);
            note(format!("{}: {}", plain(&words::row_head(row)), plain(&said)));
            continue;
        }
        let italic: Vec<String> = old.iter().map(|figure| format!("*{figure}*")).collect();
        text += &format!("| *{}* | {} |\n", plain(&words::row_head(row)), italic.join(" | "));
        let new = row.measured.iter().map(|cell| match words::mean(cell) {
            Some(mean) => {
                let around = words::plus_minus(cell).unwrap_or_default();
                let bold = if cell.mark == Some(report::Mark::Best) { "**" } else { "" };
                format!("{bold}{mean}{bold} {around}").trim_end().to_owned()
            }
            None => {
                note(plain(cell.missing.as_deref().unwrap_or_default()));
                "–".to_owned()
            }
        });
        let new: Vec<String> = new.collect();
        text += &format!("| measured | {} |\n", new.join(" | "));
    }
    for row in rows() {
        if let Some(said) = &row.row.note {
            note(format!("{}: {}", plain(&row.row.label), plain(said)));
        }
    }
    text += "\n";
    for said in notes.iter().filter(|said| !said.is_empty()) {
        text += &format!("- {said}\n");
    }
    text
}

fn claim(study: &Study, claim: &ClaimResults, drawn: &str) -> String {
    let mut text = format!("\n### {}. {}\n\n", plain(&claim.claim.id), plain(&claim.claim.text));
    text += &verdicts(study, claim);
    text += drawn;
    text += &comparisons(claim);
    if claim.sizes.len() > 1 {
        let sizes = claim
            .sizes
            .iter()
            .map(|it| format!("{} at {}", it.verdict, atom::size_in_words(study, it.size)));
        let own = if claim.under.is_empty() { "" } else { ", on the study's own machine" };
        text += &format!("\nBy size{own}: {}.\n", sizes.collect::<Vec<_>>().join("; "));
    }
    for revision in &claim.claim.revised {
        text += &format!("\nRevised on {}: {}\n", plain(&revision.date), plain(&revision.reason));
    }
    for (head, said) in [("Remark", &claim.claim.remark), ("Why", &claim.claim.explanation)] {
        if let Some(said) = said {
            text += &format!("\n{head}: {}\n", plain(said));
        }
    }
    text
}

/// Both verdicts; what decided the measured one stands before the appendix.
fn verdicts(study: &Study, claim: &ClaimResults) -> String {
    if let Verdict::NotTestable = claim.measured.verdict {
        let why = claim.measured.decisive().unwrap_or_default();
        return format!("**Not testable.** {}\n\n", plain(&why));
    }
    let mut text =
        format!("**By the page's own figures: {}.**", plain(&words::published_verdict(claim)));
    let why = claim.published.decisive();
    text += &why.map_or(String::new(), |why| format!(" {}.", plain(why.trim_end_matches('.'))));
    text + &format!("\n\n**Measured: {}.**\n\n", plain(&words::verdict(study, claim)))
}

/// The comparisons of a claim: each, or of many how many have which verdict.
fn comparisons(claim: &ClaimResults) -> String {
    let run = claim.measured.answers.iter().filter(|answer| answer.verdict != Verdict::NotRun);
    let answers: Vec<&Answer> = run.collect();
    let Some(first) = answers.first() else { return String::new() };
    if answers.len() > ANSWERS_MAX {
        let of = |verdict| answers.iter().filter(|answer| answer.verdict == verdict).count();
        let counts = [
            (of(Verdict::Holds), "hold"),
            (of(Verdict::DoesNotHold), "do not"),
            (of(Verdict::Undecided), "are undecided"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        return format!("Of {} comparisons {}.\n", answers.len(), counts.join(", "));
    }
    let elsewhere = |answer: &Answer| words::elsewhere(claim, answer);
    let (head, rule) = match elsewhere(first) {
        Some(_) => (" elsewhere |", "---|"),
        None => ("", ""),
    };
    let mut text = format!(
        "| asked | claimed | measured (interval) | seeds | p | verdict |{head}\n\
         |---|---|---|--:|--:|---|{rule}\n",
    );
    for answer in answers {
        let elsewhere = elsewhere(answer).map_or(String::new(), |said| format!(" {said} |"));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |{elsewhere}\n",
            plain(&words::asked(claim, answer)),
            plain(&answer.wanted),
            plain(&words::found(answer)),
            answer.n.map_or(String::new(), |n| n.to_string()),
            plain(&words::p(answer.p)),
            answer.verdict
        );
    }
    text
}

fn repeat(results: &Results) -> String {
    let mut text = format!("\n## Again\n\n```console\n$ {}\n```\n\n", words::command(results));
    text += &format!("{}\n\n", words::method(results));
    for assumption in &results.study.assumptions {
        let changes: Vec<String> =
            assumption.changes.iter().map(|(key, value)| format!("`{key}={value}`")).collect();
        let changes = match changes.is_empty() {
            true => String::new(),
            false => format!(" ({})", changes.join(", ")),
        };
        text +=
            &format!("- Another {}: {}{changes}\n", assumption.about(), plain(&assumption.text));
    }
    text += &machines_run(results);
    text += &format!("\nfstrial {}, study {}\n", plain(&results.version), results.study.digest);
    text
}

/// How many trials were done on each machine, by part.
fn machines_run(results: &Results) -> String {
    let mut counts: Vec<(String, String, usize, usize)> = Vec::new();
    for run in &results.runs {
        let part = words::part(results, &run.part);
        let machine = machines::machine(results, run.assumption.as_deref());
        match counts.iter_mut().find(|known| known.0 == part && known.1 == machine) {
            Some(known) => {
                known.2 += run.done;
                known.3 += run.trials;
            }
            None => counts.push((part, machine, run.done, run.trials)),
        }
    }
    let mut text = String::from("\n| part | machine | trials |\n|---|---|--:|\n");
    for (part, machine, done, trials) in counts {
        text += &format!("| {} | {} | {done} of {trials} |\n", plain(&part), plain(&machine));
    }
    text
}
