//! The documents a run or report ends with.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use report::FORMATS;
use store::StoredRun;

use crate::arguments::{Outputs, StudyOutputs};
use crate::destination::Destination;
use crate::exit::{Exit, Failure};
use crate::output::{print_document, say};

/// What to write where. At most one document goes to standard output.
pub(crate) struct Documents {
    files: Vec<(&'static str, Destination)>,
    redact: bool,
    all_pairs: bool,
    full: bool,
}

/// What is left if a document cannot be written.
const KEPT: &str = "the results are in the store";

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
        let files = files.into_iter().map(|(name, path)| Ok((name, Destination::open(&path)?)));
        let files = files.collect::<Result<Vec<_>, Failure>>()?;
        if files.iter().filter(|(_, to)| to.is_standard_output()).count() > 1 {
            let message = "standard output takes one document; name files for the others";
            return Err(Failure::new(Exit::Usage, message));
        }
        for (nth, (name, to)) in files.iter().enumerate() {
            if let Some(path) = to.path().filter(|path| is_database(path)) {
                let message = format!(
                    "--{name} {}: that is a database, as results are kept in; it would be replaced",
                    path.display()
                );
                return Err(Failure::new(Exit::Usage, message));
            }
            let place = |to: &Destination| to.path().and_then(|it| std::path::absolute(it).ok());
            let same = |(_, other): &&(&str, Destination)| {
                place(to).is_some_and(|it| !it.starts_with("/dev") && place(other) == Some(it))
            };
            if let Some((first, _)) = files[..nth].iter().find(same) {
                let path = place(to).unwrap_or_default();
                let message = format!(
                    "--{first} and --{name} both name {}: the second would replace the first",
                    path.display()
                );
                return Err(Failure::new(Exit::Usage, message));
            }
        }
        Ok(Documents { files, redact, all_pairs, full: false })
    }

    /// Writes everything asked for; the terminal table goes to standard output unless
    /// another document does.
    pub(crate) fn write(&self, run: &StoredRun) -> Result<(), Failure> {
        let analysis = report::analyse(run);
        let lacking = self.lacking(run);
        let lacks = |name: &str| lacking.iter().any(|it| it.0 == name);
        self.write_as(&lacks, &|format, color| self.render(format, run, &analysis, color))?;
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
        let beside = beside.and_then(|(_, to)| to.path());
        let beside = beside.and_then(|path| Some((path, path.file_stem()?.to_str()?)));
        let page = beside.map(|(path, stem)| (path, study::markdown_with_charts(results, stem)));
        if let Some((path, page)) = &page {
            for (name, chart) in &page.charts {
                Destination::open(&path.with_file_name(name))?.write(chart, KEPT)?;
            }
        }
        self.write_as(&|_| false, &|format, color| {
            let color = color && wants_color();
            if let ("markdown", Some((_, page))) = (format, &page) {
                return Ok(page.text.clone());
            }
            study::render(format, results, WIDTH, color).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("there is no report format `{format}`"))
            })
        })
    }

    /// Writes what `render` makes of each format but those that have nothing to show, in colour or
    /// not. The screen goes to standard output unless a document does.
    fn write_as(
        &self,
        lacks: &dyn Fn(&str) -> bool,
        render: &dyn Fn(&str, bool) -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let mut has_document = false;
        for (format, to) in self.files.iter().filter(|(format, _)| !lacks(format)) {
            to.write(&render(format, false)?, KEPT)?;
            match to.path() {
                Some(path) => say!("{format} report: {}", path.display()),
                None => has_document = true,
            }
        }
        if has_document {
            return Ok(());
        }
        print_document(&render("terminal", std::io::stdout().is_terminal())?)
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
/// Whether it is a file of SQLite, such as the store.
fn is_database(path: &Path) -> bool {
    const BEGINS: &[u8] = b"SQLite format 3\0";
    let mut first = [0; BEGINS.len()];
    std::fs::metadata(path).is_ok_and(|found| found.is_file())
        && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == *BEGINS
}
