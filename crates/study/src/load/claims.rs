//! `claims.toml`.

use crate::problem::suggest;
use crate::reading::{Keys, Located, Names, Reading};
use crate::statement::{Figure, Statement};
use crate::{Because, Cause, Claim, Direction, Revision, Study, Test};

const CLAIM: &[&str] =
    &["id", "text", "test", "remark", "explanation", "untestable", "because", "revised"];

pub(super) fn read(reading: &Reading<'_>, study: &Study) -> Vec<Claim> {
    let file = reading.parse();
    let keys = Keys::new(reading, "claims.toml", 0..0, file.get_ref(), &["claim"]);
    let mut seen = Names::default();
    keys.tables("claim", "[[claim]]", CLAIM)
        .iter()
        .map(|keys| claim(keys, study, &mut seen))
        .collect()
}

fn claim(keys: &Keys<'_, '_>, study: &Study, seen: &mut Names) -> Claim {
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
        because: because(keys),
        revised: revised(keys),
    }
}

/// `because = { cause = "…", evidence = "…" }`
fn because(keys: &Keys<'_, '_>) -> Option<Because> {
    let table = keys.table("because", "`because`", &["cause", "evidence"])?;
    let (written, evidence) = (table.text("cause")?, table.plain("evidence"));
    let words = || Cause::ALL.iter().map(|(_, words)| *words);
    let found = Cause::ALL.iter().find(|(_, words)| *words == written.value);
    if found.is_none() {
        let message = format!("`{}` is not a cause", written.value);
        keys.reading.note_with(written.at, message, suggest(&written.value, words()));
    }
    Some(Because { cause: found?.0, evidence })
}

/// `revised = { date = "2026-11-24", reason = "…" }`, or a list of them.
fn revised(keys: &Keys<'_, '_>) -> Vec<Revision> {
    let known = &["date", "reason"];
    let one = |table: &Keys<'_, '_>| {
        let date = table.text("date");
        let sound = |text: &str| {
            let digits = |part: &str, n: usize| {
                part.len() == n && part.bytes().all(|byte| byte.is_ascii_digit())
            };
            let parts: Vec<&str> = text.split('-').collect();
            matches!(parts[..], [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2))
        };
        if let Some(date) = date.as_ref().filter(|date| !sound(&date.value)) {
            let message = format!("`{}` is not a date", date.value);
            let suggestion = "write year, month and day as in 2026-11-24".to_owned();
            keys.reading.note_with(date.at.clone(), message, Some(suggestion));
        }
        Revision {
            date: date.map(|date| date.value).unwrap_or_default(),
            reason: table.plain("reason"),
        }
    };
    match keys.get("revised").map(|value| value.get_ref().is_array()) {
        Some(true) => keys.tables("revised", "`revised`", known).iter().map(one).collect(),
        _ => keys.table("revised", "`revised`", known).iter().map(one).collect(),
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
            let message = format!("row `{own}` has no better end, so it cannot be ranked");
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
