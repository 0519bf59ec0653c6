//! The report of a study in every format.

mod believe;
mod drawing;
mod html;
mod machines;
mod markdown;
mod panel;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

pub use markdown::Markdown;

use crate::Results;

/// A format of a study's report.
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The help of the option `--NAME FILE` that writes it; `None` for what is shown without one.
    pub help: Option<&'static str>,
    /// Writes results: for so many columns, in colour or not.
    render: fn(&Results, usize, bool) -> String,
}

/// Every format, in the order help shows them.
pub static FORMATS: &[Format] = &[
    Format { name: "terminal", help: None, render: terminal::render },
    Format { name: "html", help: Some("Write an HTML report"), render: html::render },
    Format { name: "markdown", help: Some("Write a Markdown report"), render: markdown::render },
    Format { name: "json", help: Some("Write everything as JSON"), render: json },
];

/// The report in a format; `None` where there is no such format.
pub fn render(format: &str, results: &Results, width: usize, color: bool) -> Option<String> {
    let format = FORMATS.iter().find(|known| known.name == format)?;
    Some((format.render)(results, width, color))
}

/// The Markdown page and its charts, which belong into the same folder; their names begin with
/// `stem`.
pub fn markdown_with_charts(results: &Results, stem: &str) -> Markdown {
    markdown::page(results, Some(stem))
}

fn json(results: &Results, _: usize, _: bool) -> String {
    // Every number of the results is finite or missing, and every key a text.
    text::json(&(serde_json::to_string_pretty(results).unwrap_or_default() + "\n"))
}
