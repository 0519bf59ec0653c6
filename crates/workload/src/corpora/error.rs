//! Why a corpus is not available.

use std::io;
use std::path::{Path, PathBuf};

/// Why a corpus could not be built, fetched or opened.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or directory could not be used.
    #[error("corpus: cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not a pack of mails, or not a whole one.
    #[error("{} is not a usable pack of mails: {why}; delete it and it is built again", path.display())]
    NotAPack {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is not taken as mail.
    #[error("{} is not taken as mail: {why}", path.display())]
    NotMail {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A source holds no mail.
    #[error("{} holds no mail: {why}", path.display())]
    Empty {
        /// The directory or file.
        path: PathBuf,
        /// What was looked for.
        why: &'static str,
    },
    /// A download is not what it should be.
    #[error(
        "{} is not the expected file: {found} instead of {expected}; \
         the download was damaged or replaced, try again later or use `synthetic` mail",
        path.display()
    )]
    Integrity {
        /// The file.
        path: PathBuf,
        /// What it should have been.
        expected: String,
        /// What it was.
        found: String,
    },
    /// The SpamAssassin mails could not be fetched.
    #[error("cannot fetch the SpamAssassin mails: {0}")]
    Fetch(String),
    /// An archive from which no source tree can be made.
    #[error("{} cannot be unpacked: {why}", path.display())]
    NotATree {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A compressed file, and no program that unpacks it.
    #[error(
        "{} is compressed, and there is no {name} to unpack it; install it (Debian: apt-get \
         install {package})",
        path.display()
    )]
    NoProgram {
        /// The file.
        path: PathBuf,
        /// The program.
        name: &'static str,
        /// The Debian package it comes in.
        package: &'static str,
    },
    /// A `--source-tree` argument that names no tree.
    #[error("`{text}` names no source tree: {problem}")]
    TreeChoice {
        /// The text given.
        text: String,
        /// What is accepted.
        problem: String,
    },
    /// A `--mail` argument that names no corpus.
    #[error("`{text}` names no mail corpus: {problem}")]
    Choice {
        /// The text given.
        text: String,
        /// What is accepted.
        problem: String,
    },
}

impl CorpusError {
    /// For `map_err` on an I/O result.
    pub(crate) fn at<E: Into<io::Error>>(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> CorpusError {
        let path = path.to_owned();
        move |source| CorpusError::Io { action, path, source: source.into() }
    }

    pub(crate) fn not_a_pack(path: &Path, why: impl Into<String>) -> CorpusError {
        CorpusError::NotAPack { path: path.to_owned(), why: why.into() }
    }
}
