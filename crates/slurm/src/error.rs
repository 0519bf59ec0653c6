//! What can go wrong between here and the cluster.

use std::io;
use std::path::{Path, PathBuf};

/// Why trials cannot be spread over a cluster.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A program of Slurm is not there.
    #[error(
        "{program} is not installed here; --on slurm needs Slurm's commands (Debian: slurm-client)"
    )]
    NotInstalled {
        /// Which.
        program: &'static str,
    },
    /// A program of Slurm failed.
    #[error("{program}: {message}")]
    Command {
        /// Which.
        program: &'static str,
        /// What it wrote to standard error.
        message: String,
    },
    /// An option has a value that Slurm would not accept, or is one that only fstrial may set.
    #[error("{0}")]
    Option(String),
    /// A file of the spool.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was tried: `write`, `read`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file of the spool is not what it should be.
    #[error("{}: {problem}", .path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl SlurmError {
    /// Whether a file of the spool is not there at all.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, SlurmError::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// A file of the spool that cannot be read.
    pub(crate) fn reading(error: files::FileError) -> SlurmError {
        SlurmError::File { what: error.step, path: error.path, source: error.source }
    }

    /// For `map_err`.
    pub(crate) fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SlurmError {
        let path = path.to_owned();
        move |source| SlurmError::File { what, path, source }
    }
}
