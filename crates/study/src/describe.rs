//! A study before it is run, as text.

use crate::{Cell, Measured, Study, Test, atom};

/// Question, machine, matrix, published tables and claims, for a terminal of `width` columns.
pub fn described(study: &Study, width: usize) -> String {
    let mut text = format!("{} ({})\n", study.title, study.name);
    let by = [&study.author, &study.date, &study.published];
    let by: Vec<&str> = by.into_iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    text += &format!("{}\n\n", by.join(", "));
    for (head, paragraph) in [
        ("asked", &study.question),
        ("done", &study.summary),
        ("machine", &study.machine),
        ("scale", &format!("{} {}", study.scale, study.scale_reason)),
    ] {
        text += &folded(&format!("{head:9} "), paragraph, width);
    }
    if !study.sizes.is_empty() {
        let sizes: Vec<String> = study.sizes.iter().map(|size| atom::percent(*size)).collect();
        text += &folded("sizes     ", &format!("worth running: {}", sizes.join(", ")), width);
    }
    for part in &study.parts {
        text += &format!("\npart {}: {}\n", part.id, part.title);
        text += &format!("    machine  {}\n", part.profile);
        for larger in &part.at_size {
            let changes = larger.changes.iter().map(|(key, value)| format!("{key} = {value}"));
            let changes = changes.collect::<Vec<_>>().join(", ");
            text += &format!("    from {}: {changes}\n", atom::percent(larger.from));
        }
        for contender in &part.contenders {
            text += &format!("    {}\n", contender.written);
        }
        for absent in &part.absent {
            text += &folded(&format!("    {}: absent: ", absent.contender), &absent.reason, width);
        }
        for workload in &part.workloads {
            text += &format!("    {:12} {}\n", workload.id, workload.written);
        }
    }
    for assumption in &study.assumptions {
        text += &folded(&format!("assumption {}: ", assumption.id), &assumption.text, width);
    }
    for table in &study.tables {
        text += &format!("\n{} (table {} of part {})\n", table.title, table.id, table.part);
        for row in &table.rows {
            let cells: Vec<String> = table
                .columns
                .iter()
                .zip(&row.values)
                .map(|(column, value)| format!("{column} {}", cell(value)))
                .collect();
            let unit = format!("{} {}: ", row.id, row.unit);
            text += &folded(&format!("  {unit}"), &cells.join(", "), width);
            if let Measured::Nothing(why) = &row.measured {
                text += &folded("    not measured: ", why, width);
            }
        }
    }
    text += &claims(study, width);
    if !study.flaws.is_empty() {
        text += "\nwhat the original got wrong\n";
        for flaw in &study.flaws {
            text += &folded("  - ", flaw, width);
        }
    }
    text
}

fn claims(study: &Study, width: usize) -> String {
    let mut text = "\nclaims\n".to_owned();
    for claim in &study.claims {
        text += &folded(&format!("  {:4} ", claim.id), &claim.text, width);
        match &claim.test {
            Test::Untestable(why) => text += &folded("       not testable: ", why, width),
            Test::Statements(statements) => {
                for statement in statements {
                    text += &folded("       test: ", &statement.to_string(), width);
                }
            }
        }
        for revision in &claim.revised {
            let head = format!("       revised {}: ", revision.date);
            text += &folded(&head, &revision.reason, width);
        }
    }
    text
}

/// A published cell as written.
pub(crate) fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Value(value) => value.to_string(),
        Cell::Above(value) => format!("> {value}"),
        Cell::Below(value) => format!("< {value}"),
        Cell::Text(text) => text.clone(),
    }
}

/// A paragraph with a hanging indent as deep as its head.
pub(crate) fn folded(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count().min(24);
    let (mut out, mut line, mut fresh) = (String::new(), head.to_owned(), true);
    for word in text.split_whitespace() {
        if !fresh && line.chars().count() + 1 + word.chars().count() > width {
            out += line.trim_end();
            out.push('\n');
            line = " ".repeat(indent);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line += word;
        fresh = false;
    }
    out + line.trim_end() + "\n"
}
