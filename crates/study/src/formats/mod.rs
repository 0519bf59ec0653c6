//! The report of a study, as its page should have read.

mod believe;
mod drawing;
mod html;
mod markdown;
mod panel;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use markdown::Markdown;

use crate::Results;

/// How a format writes results: for so many columns, in colour or not.
type Render = fn(&Results, usize, bool) -> String;

/// Every format by its name.
const FORMATS: &[(&str, Render)] = &[
    ("terminal", terminal::render),
    ("html", html::render),
    ("markdown", markdown::render),
    ("json", json),
];

/// The report in a format; `None` where there is no such format.
pub fn render(format: &str, results: &Results, width: usize, color: bool) -> Option<String> {
    let (_, render) = FORMATS.iter().find(|(name, _)| *name == format)?;
    Some(render(results, width, color))
}

/// The Markdown page and the charts to lie beside it, whose names begin with `stem`.
pub fn markdown_with_charts(results: &Results, stem: &str) -> Markdown {
    markdown::page(results, Some(stem))
}

fn json(results: &Results, _: usize, _: bool) -> String {
    // Every number of the results is finite or missing, and every key a text.
    text::json(&(serde_json::to_string_pretty(results).unwrap_or_default() + "\n"))
}
