//! HTML: one file that needs nothing else, offline, without script. Light and dark follow
//! the reader's system; it reads on a telephone and prints.
//!
//! Everything that is text goes through the template's escaping; only the charts, which
//! escape for themselves, are inserted as they are.

mod course;
mod latencies;
mod other_figures;
mod page;
mod phases;
mod traffic;
mod trials;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;
use store::StoredRun;

use super::{Format, Options};
use crate::{Analysis, PhaseAnalysis, WorkloadAnalysis};

pub(super) struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write an HTML report")
    }

    fn write(&self, analysis: &Analysis, run: &StoredRun, _: &Options) -> String {
        let page = page::page(analysis, run);
        // The template is part of the program and tested, so this does not fail; if it did,
        // the reader would get the error, and the run's other reports would not be lost.
        rendered(&page).unwrap_or_else(|error| {
            let words = error.to_string().replace(['<', '>', '&'], " ");
            format!("<!doctype html>\n<title>fstrial</title>\n<p>{words}</p>\n")
        })
    }
}

/// The sheet that every page uses.
pub const STYLE: &str = include_str!("style.css");

/// What is shown of some phases, without a page around it: for the report of a study, which
/// has several runs on one page. Ids begin with `prefix`.
pub fn phases_as_html(
    analysis: &Analysis,
    run: &StoredRun,
    prefix: &str,
    wanted: &dyn Fn(&WorkloadAnalysis, &PhaseAnalysis) -> bool,
) -> String {
    let mut shown = analysis.clone();
    for (workload, all) in shown.workloads.iter_mut().zip(&analysis.workloads) {
        workload.phases.retain(|phase| wanted(all, phase));
    }
    shown.workloads.retain(|workload| !workload.phases.is_empty());
    let fragment = Fragment {
        prefix: prefix.to_owned(),
        workloads: phases::workloads(&shown, run),
        confidence: format!("{:.0}", analysis.confidence * 100.0),
    };
    environment()
        .and_then(|known| known.get_template("workloads.html")?.render(Serde(&fragment)))
        .unwrap_or_default()
}

#[derive(Serialize)]
struct Fragment {
    prefix: String,
    workloads: Vec<phases::Workload>,
    confidence: String,
}

/// Writes a template's value: text is escaped and holds no control character but ends of lines.
///
/// # Errors
/// When the document cannot be written.
pub fn write_escaped(
    out: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &minijinja::Value,
) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(foreign) if !value.is_safe() => {
            minijinja::escape_formatter(out, state, &text::lines(foreign).into())
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_formatter(write_escaped);
    environment.add_filter("parted", parted);
    for (name, text) in [
        ("report.html", include_str!("report.html")),
        ("macros.html", include_str!("macros.html")),
        ("workloads.html", include_str!("workloads.html")),
        ("style.css", STYLE),
    ] {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// Text in which a contender's name may be broken before its options: `btrfs:copy_on_write=off`.
fn parted(text: &str) -> minijinja::Value {
    let escaped = text::html(&text::lines(text));
    let mut parts = escaped.split(':');
    let mut parted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        parted += if part.starts_with(char::is_alphanumeric) { ":<wbr/>" } else { ":" };
        parted += part;
    }
    minijinja::Value::from_safe_string(parted)
}

fn rendered(page: &page::Page) -> Result<String, minijinja::Error> {
    let mut text = environment()?.get_template("report.html")?.render(Serde(page))?;
    text.push('\n');
    Ok(text)
}
