//! Files that people bring: job files, models, profiles and configurations of other benchmarks, and
//! our own. [`READERS`] is the only list of them; to read another kind, add a file here and a line
//! there.

mod ffsb;
mod filebench;
mod fio;
mod own;
mod postmark;

use std::collections::BTreeMap;
use std::path::Path;

use crate::FioSurroundings;

/// A kind of file that is known by what stands in it.
pub struct Reader {
    /// What it is, for people.
    pub what: &'static str,
    /// The workload that does it.
    pub workload: &'static str,
    /// What the names of such files end with, for a text that is of no kind.
    endings: &'static [&'static str],
    /// Whether a text is of this kind.
    is: fn(&str) -> bool,
    read: fn(&str, &Path, &FioSurroundings<'_>) -> Result<Brought, String>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("what", &self.what).finish_non_exhaustive()
    }
}

/// What a file asks of its workload.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Brought {
    /// Values of the workload's parameters.
    pub parameters: BTreeMap<String, String>,
    /// What is done otherwise than the file says.
    pub notes: Vec<String>,
}

impl Brought {
    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.parameters.insert(name.to_owned(), value.into());
    }
}

/// Every kind; the first that a text is of counts.
pub static READERS: &[Reader] = &[
    filebench::READER,
    postmark::READER,
    ffsb::READER,
    own::CUSTOM,
    own::FFSB,
    own::PROGRAM,
    fio::READER,
];

impl Reader {
    /// What a text asks for.
    ///
    /// # Errors
    /// What is wrong or not known, with the file and its line.
    pub fn read(
        &self,
        text: &str,
        path: &Path,
        surroundings: &FioSurroundings<'_>,
    ) -> Result<Brought, String> {
        (self.read)(text, path, surroundings)
    }
}

/// The kind of this text.
pub fn recognised(text: &str) -> Option<&'static Reader> {
    READERS.iter().find(|reader| (reader.is)(text))
}

/// The kind that a file's name promises: what is wrong with its text is told by that one.
pub fn promised(path: &Path) -> Option<&'static Reader> {
    let ending = path.extension()?.to_str()?;
    READERS.iter().find(|reader| reader.endings.contains(&ending))
}

/// The kind of a text that is given to a workload as one of its parameters, if it is to be read by
/// one of ours.
///
/// # Errors
/// When it is a file for another workload.
pub fn given_to(workload: &str, text: &str) -> Result<Option<&'static Reader>, String> {
    let own = READERS.iter().filter(|reader| reader.workload == workload);
    if let Some(reader) = own.clone().find(|reader| (reader.is)(text)) {
        return Ok(Some(reader));
    }
    match recognised(text) {
        // Sections alone are not proof of a job of fio.
        Some(other) if other.workload != "fio" => Err(format!(
            "this is {}; name the file itself as the workload, or {}:…",
            other.what, other.workload
        )),
        // What is wrong with it is told by the only reader that there is.
        _ if own.clone().count() == 1 => Ok(own.clone().next()),
        _ => Ok(None),
    }
}

/// Names the file and the line of what is wrong.
fn at(path: &Path, line: usize, what: impl std::fmt::Display) -> String {
    format!("{}:{line}: {what}", path.display())
}

#[cfg(test)]
mod tests;
