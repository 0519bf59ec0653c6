//! `claims.toml`.

use crate::problem::suggest;
use crate::reading::{Keys, Located, Reading};
use crate::statement::{Figure, Statement};
use crate::{Claim, Direction, Study, Test};

const CLAIM: &[&str] = &["id", "text", "test", "remark", "explanation", "untestable"];

pub(super) fn read(reading: &Reading<'_>, study: &Study) -> Vec<Claim> {
    let file = reading.parse();
    let keys = Keys::new(reading, "claims.toml", 0..0, file.get_ref(), &["claim"]);
    let mut seen = Vec::new();
    keys.tables("claim", "[[claim]]", CLAIM)
        .iter()
        .map(|keys| claim(keys, study, &mut seen))
        .collect()
}

fn claim(keys: &Keys<'_, '_>, study: &Study, seen: &mut Vec<String>) -> Claim {
    let id = keys.text("id");
    if let Some(id) = &id {
        keys.unique(seen, id, "claim");
    }
    let why = keys.optional("untestable");
    let written = keys.one_or_more("test");
    let statements: Vec<Statement> = written
        .iter()
        .filter_map(|written| match written.value.parse::<Statement>() {
            Ok(statement) => {
                check(keys.reading, study, written, &statement);
                Some(statement)
            }
            Err(error) => {
                keys.reading.note(written.at.clone(), error.to_string());
                None
            }
        })
        .collect();
    let test = match why {
        Some(why) => {
            if !written.is_empty() {
                keys.reading.note(why.at, "a claim has either `test` or `untestable`");
            }
            Test::Untestable(why.value.trim().to_owned())
        }
        None => {
            if written.is_empty() {
                let suggestion = "write `test = \"ROW: STATEMENT\"` or `untestable = \"why\"`";
                let message = "it is not said how this claim is tested";
                keys.reading.note_with(keys.at.clone(), message, Some(suggestion.to_owned()));
            }
            Test::Statements(statements)
        }
    };
    let trimmed = |text: Option<Located<String>>| text.map(|text| text.value.trim().to_owned());
    Claim {
        id: id.map(|id| id.value).unwrap_or_default(),
        text: keys.plain("text"),
        test,
        remark: trimmed(keys.optional("remark")),
        explanation: trimmed(keys.optional("explanation")),
    }
}

fn check(reading: &Reading<'_>, study: &Study, written: &Located<String>, statement: &Statement) {
    let note = |message: String, suggestion: Option<String>| {
        reading.note_with(written.at.clone(), message, suggestion);
    };
    let rows = || study.tables.iter().flat_map(|table| &table.rows).map(|row| row.id.as_str());
    let of_figures = statement.assertion.figures();
    let elsewhere = of_figures.iter().filter_map(|figure| figure.row.as_ref());
    for row in statement.rows.iter().chain(elsewhere) {
        if study.row(row).is_none() {
            note(format!("there is no row `{row}`"), suggest(row, rows()));
        }
    }
    for own in &statement.rows {
        let Some((_, row)) = study.row(own) else { continue };
        if statement.assertion.ranks() && row.better == Direction::Neither {
            let suggestion = "say `better = \"lower\"` or \"higher\", or compare by `times`";
            let message = format!("row `{own}` has no better end, so nothing ranks in it");
            note(message, Some(suggestion.to_owned()));
        }
        if let Some(unit) = statement.assertion.unit()
            && unit != row.unit.word()
        {
            let suggestion = Some(format!("write it in `{}`", row.unit));
            note(format!("row `{own}` is in `{}`, not in `{unit}`", row.unit), suggestion);
        }
        for figure in &of_figures {
            column(study, figure, own, &note);
            let other = figure.row.as_ref().and_then(|other| study.row(other));
            if let Some((_, other)) = other
                && other.unit != row.unit
            {
                let message =
                    format!("{figure} is in `{}`, row `{own}` in `{}`", other.unit, row.unit);
                note(message, None);
            }
        }
    }
}

fn column(study: &Study, figure: &Figure, own: &str, note: &dyn Fn(String, Option<String>)) {
    let row = figure.row.as_deref().unwrap_or(own);
    let Some((table, _)) = study.row(row) else { return };
    if !table.columns.contains(&figure.column) {
        let message = format!("row `{row}` has no column `{}`", figure.column);
        note(message, suggest(&figure.column, table.columns.iter().map(String::as_str)));
    }
}
