//! The report formats. One file each; [`FORMATS`] is the only list of them.

mod bencher;
mod bonnie_csv;
mod course;
mod csv;
mod html;
mod hyperfine;
mod json;
mod junit;
mod markdown;
mod openmetrics;
mod terminal;

use store::StoredRun;

use crate::{Analysis, analyse, redacted};

pub use html::{STYLE, phases_as_html, write_escaped};
pub use json::SCHEMA_VERSION;
pub use terminal::{fitted, folded};

/// Every format, in the order help shows them.
pub static FORMATS: &[&dyn Format] = &[
    // Has no option: it is shown unless another format goes to standard output.
    &terminal::Terminal,
    &html::Html,
    &json::Json,
    &markdown::Markdown,
    &csv::Csv,
    &bonnie_csv::Bonnie,
    &course::Course,
    &hyperfine::Hyperfine,
    &bencher::Bencher,
    &openmetrics::OpenMetrics,
    &junit::JUnit,
];

/// The format of this name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Leave out what names a person, a machine or a device.
    pub redact: bool,
    /// Mark best and worst with colours, for terminals.
    pub color: bool,
    /// Every figure, where a format otherwise answers on one screen.
    pub full: bool,
    /// Columns to stay within, for terminals; below 60 it is taken as 60.
    pub width: usize,
    /// Every pair of contenders, where a format otherwise compares each with the best: as many
    /// as the square of their number.
    pub all_pairs: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { redact: false, color: false, full: false, width: 100, all_pairs: false }
    }
}

/// A JSON document of names and finite numbers.
fn json_text(document: &impl serde::Serialize) -> String {
    // This cannot fail; if it did, an error document is one too.
    let mut json = serde_json::to_string_pretty(document)
        .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    json.push('\n');
    text::json(&json)
}

/// A way to write down a run.
pub trait Format: Sync {
    /// Name on the command line, kebab-case.
    fn name(&self) -> &'static str;

    /// The help of the option `--NAME FILE` that writes it; `None` for the format that has no
    /// option because it is shown by default.
    fn help(&self) -> Option<&'static str>;

    /// Whether it compares every pair of contenders where `options.all_pairs` asks for it.
    fn has_all_pairs(&self) -> bool {
        false
    }

    /// Why it has nothing to show of this run, for a format of some workloads only.
    fn lacks(&self, _run: &StoredRun) -> Option<&'static str> {
        None
    }

    /// Writes it down; `options.redact` is already done. Callers use [`Format::render`].
    fn write(&self, analysis: &Analysis, run: &StoredRun, options: &Options) -> String;

    /// The document. Ends with a line feed.
    fn render(&self, analysis: &Analysis, run: &StoredRun, options: &Options) -> String {
        if options.redact {
            // Analysed again after redaction, since the analysis quotes reasons and remarks.
            let run = redacted(run);
            self.write(&analyse(&run), &run, options)
        } else {
            self.write(analysis, run, options)
        }
    }
}
