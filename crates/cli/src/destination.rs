//! Where one document goes: standard output, or what the user named, which is found before the work
//! and held until it is written.

use std::io::{ErrorKind, Write};
use std::path::Path;

use files::{FileError, Output};

use crate::exit::{Exit, Failure};
use crate::output::{print_document, say};
use crate::writing::ended_by_signals;

/// Where a document goes.
#[derive(Debug)]
pub(crate) enum Destination {
    /// Standard output, which then carries that document alone.
    StandardOutput,
    /// A file, a pipe or a device.
    Place(Box<Output>),
}

impl Destination {
    /// Finds out whether `path` can be written; `-` and `/dev/stdout` are standard output.
    pub(crate) fn open(path: &Path) -> Result<Destination, Failure> {
        if path == Path::new("-") {
            return Ok(Destination::StandardOutput);
        }
        let waits = || say!("{}: waiting until something reads this pipe", path.display());
        let output = Output::open(path, waits).map_err(|error| {
            let directory = path.parent().filter(|_| error.source.kind() == ErrorKind::NotFound);
            let message = directory.map_or_else(
                || error.to_string(),
                |above| format!("{}: there is no directory {}", path.display(), above.display()),
            );
            Failure::new(Exit::Output, message)
        })?;
        Ok(match output.is_standard_output() {
            true => Destination::StandardOutput,
            false => Destination::Place(Box::new(output)),
        })
    }

    /// Whether it is standard output.
    pub(crate) fn is_standard_output(&self) -> bool {
        matches!(self, Destination::StandardOutput)
    }

    /// The path that was asked for, where it is not standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Destination::StandardOutput => None,
            Destination::Place(output) => Some(output.path()),
        }
    }

    /// Writes a document; `kept` says where its results are if that fails.
    pub(crate) fn write(&self, document: &str, kept: &str) -> Result<(), Failure> {
        let Destination::Place(output) = self else { return print_document(document) };
        let _ends = ended_by_signals();
        output
            .write(|file| file.write_all(document.as_bytes()).map_err(Unwritten::Contents))
            .map_err(|unwritten| {
                let (Unwritten::Contents(error)
                | Unwritten::Place(FileError { source: error, .. })) = unwritten;
                let path = output.path().display();
                Failure::new(Exit::Output, format!("{path}: {error}; {kept}"))
            })
    }
}

/// What went wrong with a document: writing it, or its place.
enum Unwritten {
    Contents(std::io::Error),
    Place(FileError),
}

impl From<FileError> for Unwritten {
    fn from(error: FileError) -> Unwritten {
        Unwritten::Place(error)
    }
}
