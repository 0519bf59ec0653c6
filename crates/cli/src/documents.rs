//! The documents a run or report ends with.

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use report::FORMATS;
use store::StoredRun;

use crate::arguments::{Outputs, StudyOutputs};
use crate::exit::{Exit, Failure};
use crate::files::write_whole;
use crate::output::{print_document, say};

/// What to write where. At most one document goes to standard output.
pub(crate) struct Documents {
    files: Vec<(&'static str, PathBuf)>,
    redact: bool,
    all_pairs: bool,
    full: bool,
}

fn write_document(path: &Path, document: &str) -> Result<(), Failure> {
    write_whole(path, document.as_bytes()).map_err(|error| {
        let message = format!("{}: {error}; the results are in the store", path.display());
        Failure::new(Exit::Output, message)
    })
}

/// Columns when standard output is not a terminal.
const WIDTH: usize = 100;

impl Documents {
    /// Checks the wishes: two documents on standard output are refused.
    pub(crate) fn new(outputs: &Outputs) -> Result<Documents, Failure> {
        let Outputs { files, all_pairs, flags } = outputs;
        let documents = Documents::wished(files.clone(), flags.redact, *all_pairs)?;
        Ok(Documents { full: flags.full, ..documents })
    }

    /// The same for the report of a study.
    pub(crate) fn of_study(outputs: &StudyOutputs) -> Result<Documents, Failure> {
        Documents::wished(outputs.files.clone(), false, false)
    }

    fn wished(
        files: Vec<(&'static str, PathBuf)>,
        redact: bool,
        all_pairs: bool,
    ) -> Result<Documents, Failure> {
        if files.iter().filter(|(_, path)| path == Path::new("-")).count() > 1 {
            let message = "standard output takes one document; name files for the others";
            return Err(Failure::new(Exit::Usage, message));
        }
        for (_, path) in &files {
            if path == Path::new("-") {
                continue;
            }
            ::files::check_output(path).map_err(|error| {
                let directory =
                    path.parent().filter(|_| error.source.kind() == ErrorKind::NotFound);
                let message = directory.map_or_else(
                    || error.to_string(),
                    |above| {
                        format!("{}: there is no directory {}", path.display(), above.display())
                    },
                );
                Failure::new(Exit::Output, message)
            })?;
        }
        Ok(Documents { files, redact, all_pairs, full: false })
    }

    /// Writes everything asked for; the terminal table goes to standard output unless
    /// another document does.
    pub(crate) fn write(&self, run: &StoredRun) -> Result<(), Failure> {
        let analysis = report::analyse(run);
        let lacking = self.lacking(run);
        let files = self.files.iter().filter(|(name, _)| !lacking.iter().any(|it| it.0 == *name));
        let there = Documents { files: files.cloned().collect(), ..*self };
        there.write_as(&|format, color| self.render(format, run, &analysis, color))?;
        match lacking.first() {
            None => Ok(()),
            Some((name, why)) => {
                let message = format!(
                    "--{name} is not written: {why}; `fstrial list runs` shows what each run did"
                );
                Err(Failure::new(Exit::Output, message))
            }
        }
    }

    /// Documents that have nothing to show of this run, and why.
    fn lacking(&self, run: &StoredRun) -> Vec<(&'static str, &'static str)> {
        let lacks = |name: &'static str| Some((name, report::find(name)?.lacks(run)?));
        self.files.iter().filter_map(|(name, _)| lacks(name)).collect()
    }

    /// The same for a study.
    pub(crate) fn write_study(&self, results: &study::Results) -> Result<(), Failure> {
        let beside = self.files.iter().find(|(format, _)| *format == "markdown");
        let beside = beside.and_then(|(_, path)| Some((path, path.file_stem()?.to_str()?)));
        let beside = beside.filter(|(path, _)| *path != Path::new("-"));
        let page = beside.map(|(path, stem)| (path, study::markdown_with_charts(results, stem)));
        if let Some((path, page)) = &page {
            for (name, chart) in &page.charts {
                write_document(&path.with_file_name(name), chart)?;
            }
        }
        self.write_as(&|format, color| {
            let color = color && wants_color();
            if let ("markdown", Some((_, page))) = (format, &page) {
                return Ok(page.text.clone());
            }
            study::render(format, results, WIDTH, color).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("there is no report format `{format}`"))
            })
        })
    }

    /// Writes what `render` makes of a format, in colour or not.
    fn write_as(
        &self,
        render: &dyn Fn(&str, bool) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let mut to_stdout = None;
        for (format, path) in &self.files {
            let document = render(format, false)?;
            if path == Path::new("-") {
                to_stdout = Some(document);
                continue;
            }
            write_document(path, &document)?;
            say!("{format} report: {}", path.display());
        }
        let document = match to_stdout {
            Some(document) => document,
            None => render("terminal", std::io::stdout().is_terminal())?,
        };
        print_document(&document)
    }

    fn render(
        &self,
        format: &str,
        run: &StoredRun,
        analysis: &report::Analysis,
        color: bool,
    ) -> Result<String, Failure> {
        let format = FORMATS.iter().find(|known| known.name() == format).ok_or_else(|| {
            Failure::new(Exit::Usage, format!("there is no report format `{format}`"))
        })?;
        let color = color && wants_color();
        let options = report::Options {
            redact: self.redact,
            color,
            full: self.full,
            width: width(),
            all_pairs: self.all_pairs,
        };
        Ok(format.render(analysis, run, &options))
    }
}

/// Columns of the user's terminal, or what `COLUMNS` says where there is none, up to those of a
/// report.
fn width() -> usize {
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout());
    let columns = match terminal {
        Ok(size) => Some(usize::from(size.ws_col)),
        Err(_) => std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
    };
    columns.map_or(WIDTH, |columns| columns.clamp(60, WIDTH))
}

/// Whether the user's terminal takes colours and the user wants them: `NO_COLOR` counts where
/// it is not empty (no-color.org).
fn wants_color() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !refused && !dumb
}
