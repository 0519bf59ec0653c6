//! The appendix: everything that is needed to check a study or to repeat it.

use ::text::markdown as plain;

use super::super::machines;
use super::words;
use crate::{ClaimResults, Results, Study, TableResults, atom};

/// The appendix; `moved` are tables of factors that did not fit on the page.
pub(super) fn of(results: &Results, moved: &str) -> String {
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
             their 95 % interval.\n";
    for table in &results.tables {
        text += &self::table(table);
    }
    text += "\n## Each claim\n";
    for claim in &results.claims {
        text += &self::claim(&results.study, claim);
    }
    text + &repeat(results)
}

fn table(table: &TableResults) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
    let mut text = format!("\n### {}\n\n| | {} |\n", plain(&table.title), columns.join(" | "));
    text += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    let mut notes: Vec<String> = Vec::new();
    let mut note = |said: String| {
        if !notes.contains(&said) {
            notes.push(said);
        }
    };
    for row in &table.rows {
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
                format!("{mean} {around} {}", words::mark(cell.mark)).trim_end().to_owned()
            }
            None => {
                note(plain(cell.missing.as_deref().unwrap_or_default()));
                "–".to_owned()
            }
        });
        let new: Vec<String> = new.collect();
        text += &format!("| measured | {} |\n", new.join(" | "));
    }
    for row in &table.rows {
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

fn claim(study: &Study, claim: &ClaimResults) -> String {
    let mut text = format!("\n### {}. {}\n\n", plain(&claim.claim.id), plain(&claim.claim.text));
    let heads = [
        ("By the page's own figures", words::published_verdict(claim), &claim.published.reason),
        ("Measured", words::verdict(study, claim), &claim.measured.reason),
    ];
    for (head, verdict, reason) in heads {
        text += &format!("**{head}: {}.**", plain(&verdict));
        text += &reason
            .as_ref()
            .map_or(String::new(), |why| format!(" {}.", plain(why.trim_end_matches('.'))));
        text += "\n\n";
    }
    text +=
        &words::because(claim).map_or(String::new(), |why| format!("Because: {}\n\n", plain(&why)));
    let elsewhere = |answer| words::elsewhere(claim, answer);
    let (head, rule) = match claim.measured.answers.first().and_then(elsewhere) {
        Some(_) => (" elsewhere |", "---|"),
        None => ("", ""),
    };
    if !claim.measured.answers.is_empty() {
        text += &format!(
            "| asked | claimed | measured (interval) | seeds | p | verdict |{head}\n\
             |---|---|---|--:|--:|---|{rule}\n",
        );
    }
    for answer in &claim.measured.answers {
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
    let under: Vec<String> = claim.under.iter().map(words::under).collect();
    if !under.is_empty() {
        text += &format!("\nOn another machine: {}.\n", plain(&under.join("; ")));
    }
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
    text += "\n| run | part | machine | scale | trials | lab |\n|---|---|---|--:|--:|---|\n";
    for run in &results.runs {
        text += &format!(
            "| {} | {} | {} | {} | {} of {} | {} |\n",
            run.id,
            plain(&words::part(results, &run.part)),
            plain(&machines::machine(results, run.assumption.as_deref())),
            run.scale,
            run.done,
            run.trials,
            run.environment.0.get("lab_id").map_or("", String::as_str)
        );
    }
    text += &format!("\nfstrial {}, study {}\n", plain(&results.version), results.study.digest);
    text
}
