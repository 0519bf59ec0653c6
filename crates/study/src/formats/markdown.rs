//! Markdown with GitHub's tables: the page of a study in the documentation.

use ::text::markdown as plain;

use super::words;
use crate::{ClaimResults, Results, TableResults, atom};

pub(super) fn render(results: &Results, _: usize, _: bool) -> String {
    let study = &results.study;
    let mut text = format!("# {}: {}\n\n", plain(&study.name), plain(&study.title));
    let by = [study.author.as_str(), &study.date, &study.published];
    let by: Vec<String> = by.into_iter().filter(|it| !it.is_empty()).map(plain).collect();
    text += &format!("{}\n\n", by.join(", "));
    text += &format!("**Asked:** {}\n\n", plain(&study.question));
    text += &format!("**Done then:** {}\n\n", plain(&study.summary));
    text += &format!("**On:** {}\n\n", plain(&study.machine));
    text += "**Done now:**\n\n";
    for said in words::how(results) {
        text += &format!("- {}\n", plain(&said));
    }
    text += &format!("\n**{}**\n\n", words::summary(results));
    for note in &results.notes {
        text += &format!("> {}\n\n", plain(note));
    }
    text += "## Claims\n\n| | claim | by the page's own figures | measured |\n|---|---|---|---|\n";
    for claim in &results.claims {
        text += &format!(
            "| {} | {} | {} | **{}** |\n",
            plain(&claim.claim.id),
            plain(&claim.claim.text),
            words::published_verdict(claim),
            plain(&words::verdict(claim))
        );
    }
    text += "\n## Published and measured\n\nPublished figures in italics. ▲ best and ▼ worst: \
             measured ones by significance, published ones as they stand.\n";
    for table in &results.tables {
        text += &self::table(table);
    }
    text += "\n## Each claim\n";
    for claim in &results.claims {
        text += &self::claim(claim);
    }
    if !study.flaws.is_empty() {
        text += "\n## What the original got wrong\n\n";
        for flaw in &study.flaws {
            text += &format!("- {}\n", plain(flaw));
        }
    }
    text += &repeat(results);
    text
}

fn table(table: &TableResults) -> String {
    let columns: Vec<String> = table.columns.iter().map(|column| plain(column)).collect();
    let mut text = format!("\n### {}\n\n| | {} |\n", plain(&table.title), columns.join(" | "));
    text += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    let mut reasons: Vec<String> = Vec::new();
    for row in &table.rows {
        let old: Vec<String> = row
            .row
            .values
            .iter()
            .zip(&row.published_marks)
            .map(|(cell, mark)| {
                let shown = format!("*{}*", plain(&words::published(cell)));
                format!("{shown} {}", words::mark(*mark)).trim_end().to_owned()
            })
            .collect();
        text += &format!("| *{}* | {} |\n", plain(&words::row_head(row)), old.join(" | "));
        let new: Vec<String> = row
            .measured
            .iter()
            .map(|cell| match (words::mean(cell), &cell.missing) {
                (Some(mean), _) => {
                    let around = words::plus_minus(cell).unwrap_or_default();
                    format!("{mean} {around} {}", words::mark(cell.mark)).trim_end().to_owned()
                }
                (None, Some(why)) => {
                    let at = reasons.iter().position(|known| known == why).unwrap_or_else(|| {
                        reasons.push(why.clone());
                        reasons.len() - 1
                    });
                    format!("– [{}]", at + 1)
                }
                (None, None) => "–".to_owned(),
            })
            .collect();
        text += &format!("| measured | {} |\n", new.join(" | "));
    }
    text += "\n";
    for (at, reason) in reasons.iter().enumerate() {
        text += &format!("[{}] {}  \n", at + 1, plain(reason));
    }
    for row in &table.rows {
        if let Some(note) = &row.row.note {
            text += &format!("{}: {}  \n", plain(&row.row.label), plain(note));
        }
    }
    text
}

fn claim(claim: &ClaimResults) -> String {
    let mut text = format!("\n### {}. {}\n\n", plain(&claim.claim.id), plain(&claim.claim.text));
    let heads = [
        ("By the page's own figures", words::published_verdict(claim), &claim.published.reason),
        ("Measured", words::verdict(claim), &claim.measured.reason),
    ];
    for (head, verdict, reason) in heads {
        text += &format!("**{head}: {}.**", plain(&verdict));
        text += &reason.as_ref().map_or(String::new(), |why| format!(" {}.", plain(why)));
        text += "\n\n";
    }
    text +=
        &words::because(claim).map_or(String::new(), |why| format!("Because: {}\n\n", plain(&why)));
    if !claim.measured.answers.is_empty() {
        text +=
            "| asked | claimed | measured (interval) | seeds | p | |\n|---|---|---|--:|--:|---|\n";
    }
    for answer in &claim.measured.answers {
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            plain(&answer.asked),
            plain(&answer.wanted),
            plain(&words::found(answer)),
            answer.n.map_or(String::new(), |n| n.to_string()),
            plain(&words::p(answer.p)),
            answer.verdict
        );
    }
    let under: Vec<String> = claim
        .under
        .iter()
        .map(|under| {
            let verdict =
                under.verdict.map_or("not tried".to_owned(), |verdict| verdict.to_string());
            format!("{}: {verdict}", plain(&under.assumption))
        })
        .collect();
    if !under.is_empty() {
        text += &format!("\nUnder other assumptions: {}.\n", under.join("; "));
    }
    if claim.sizes.len() > 1 {
        let sizes =
            claim.sizes.iter().map(|it| format!("{} at {}", it.verdict, atom::percent(it.size)));
        text += &format!("\nBy size: {}.\n", sizes.collect::<Vec<_>>().join("; "));
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
        text += &format!(
            "- Assumption {}: {} ({})\n",
            plain(&assumption.id),
            plain(&assumption.text),
            changes.join(", ")
        );
    }
    text += "\n| run | part | assumption | scale | trials | lab |\n|---|---|---|--:|--:|---|\n";
    for run in &results.runs {
        text += &format!(
            "| {} | {} | {} | {} | {} of {} | {} |\n",
            run.id,
            plain(&run.part),
            plain(run.assumption.as_deref().unwrap_or("none")),
            run.scale,
            run.done,
            run.trials,
            run.environment.0.get("lab_id").map_or("", String::as_str)
        );
    }
    text += &format!("\nfstrial {}, study {}\n", plain(&results.version), results.study.digest);
    text
}
