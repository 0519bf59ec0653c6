//! HTML: one file that needs nothing else, offline, without script. Light and dark follow
//! the reader's system; it reads on a telephone and prints.
//!
//! Everything that is text goes through the template's escaping; only the charts, which
//! escape for themselves, are inserted as they are.

mod latencies;
mod page;
mod phases;
mod traffic;
mod trials;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use store::StoredRun;

use super::{Format, Options};
use crate::Analysis;

/// See the module's own words.
pub(super) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn summary(&self) -> &'static str {
        "a report of one file with charts, to read offline and to forward"
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let page = page::page(analysis, run);
        // The template is part of the program and tested, so this does not fail; if it did,
        // the reader is told instead of losing the run's other reports.
        rendered(&page).unwrap_or_else(|error| {
            let words = error.to_string().replace(['<', '>', '&'], " ");
            format!("<!doctype html>\n<title>fstrial</title>\n<p>{words}</p>\n")
        })
    }
}

fn rendered(page: &page::Page) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_template("report.html", include_str!("report.html"))?;
    environment.add_template("style.css", include_str!("style.css"))?;
    let mut text = environment.get_template("report.html")?.render(Serde(page))?;
    text.push('\n');
    Ok(text)
}
