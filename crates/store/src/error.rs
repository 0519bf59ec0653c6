//! What can go wrong with a store.

use std::fmt;
use std::path::{Path, PathBuf};

/// Each names the file and the next step.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its directory cannot be made or opened.
    #[error("store {}: {error}; name another with --store", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// There is none, where one is to be read.
    #[error("there is no store {} yet; `fstrial run` makes it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds it.
    #[error("store {} is locked by another process; wait for it or name another with --store", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later version.
    #[error(
        "store {} has schema {found}, this fstrial knows {known}; use a newer fstrial or another --store",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest this binary knows.
        known: i64,
    },
    /// Written before the first release.
    #[error(
        "store {} has schema {found}, of a version of fstrial before its first release; measure \
         again, with another --store",
        path.display()
    )]
    Unreleased {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
    },
    /// Some other file.
    #[error("{} is not a store of fstrial; name another with --store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// A compressed store, where one is to be written.
    #[error(
        "store {} is compressed and can only be read; `xz --decompress --keep` makes one of it \
         that runs can be added to", path.display()
    )]
    Compressed {
        /// The file.
        path: PathBuf,
    },
    /// No such run.
    #[error("there is no run `{id}` in {}; it has: {known}", path.display())]
    NoSuchRun {
        /// The id asked for.
        id: String,
        /// The ids there are, newest first.
        known: String,
        /// The file.
        path: PathBuf,
    },
    /// Another process executes the run.
    #[error(
        "run {run} of store {} is being executed already, by {holder}; wait for it, or end it",
        path.display()
    )]
    Running {
        /// The store.
        path: PathBuf,
        /// The run's id.
        run: String,
        /// Who executes it, and since when.
        holder: String,
    },
    /// It is not what was written.
    #[error("store {}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is lost.
        damage: Damage,
    },
    /// Anything else SQLite reports: a full disk, a read-only file.
    #[error("store {}: {error}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        error: rusqlite::Error,
    },
}

/// What of a store is not what was written, and what is lost by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The file itself: cut off, or overwritten in places.
    File {
        /// How that was noticed.
        error: String,
    },
    /// Its tables are not those that fstrial makes.
    Tables,
    /// Whole runs are missing.
    Runs {
        /// The id of the first of them.
        first: String,
        /// And of the last.
        last: String,
    },
    /// A run's own row.
    Run {
        /// Its id.
        run: String,
        /// How many trials there are of it.
        trials: u32,
    },
    /// There are not those trials that were planned.
    Trials {
        /// The run's id.
        run: String,
        /// How many were planned.
        planned: u32,
        /// How many of them are there.
        there: u32,
        /// How many are there that were not planned.
        more: u32,
    },
    /// A trial that has yet to run is not the one that was planned.
    Plan {
        /// The run's id.
        run: String,
        /// The trial's place, from 0.
        trial: u32,
    },
    /// A row that cannot be read back.
    Row {
        /// Which.
        what: String,
        /// Why.
        error: String,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let restore = "restore the file from a copy";
        match self {
            Damage::File { error } => write!(
                f,
                "the file is damaged ({error}): which of its results are lost cannot be told; \
                 {restore}, or name another with --store"
            ),
            Damage::Tables => write!(
                f,
                "its tables were changed after they were made: what it holds cannot be relied on; \
                 {restore}, or name another with --store"
            ),
            Damage::Runs { first, last } if first == last => {
                write!(f, "run {first} is missing: it was removed after it was written; {restore}")
            }
            Damage::Runs { first, last } => write!(
                f,
                "runs {first} to {last} are missing: they were removed after they were written; \
                 {restore}"
            ),
            Damage::Run { run, trials } => write!(
                f,
                "what is stored of run {run} (its testbed, scale, repeats, contenders …) was \
                 changed after it was written: none of its {trials} trials can be used; other runs \
                 can; {restore}, or measure again"
            ),
            Damage::Trials { run, planned, there, more } => {
                write!(f, "run {run} was planned with {planned} trials: ")?;
                match (planned.saturating_sub(*there), more) {
                    (0, more) => write!(f, "{more} more were added")?,
                    (missing, 0) => write!(f, "{missing} are missing")?,
                    (missing, more) => write!(f, "{missing} are missing, {more} others there")?,
                }
                write!(
                    f,
                    "; what is left of it would give another answer and is not used; other runs \
                     are; {restore}, or measure again with `fstrial run --like {run}`"
                )
            }
            Damage::Plan { run, trial } => write!(
                f,
                "trial {} of run {run} was changed after it was planned, and is not run; {restore}, \
                 or measure again with `fstrial run --like {run}`",
                trial + 1
            ),
            Damage::Row { what, error } => {
                write!(f, "{what} cannot be read: {error}; {restore}, or measure again")
            }
        }
    }
}

impl StoreError {
    pub(crate) fn damaged(path: &Path, damage: Damage) -> StoreError {
        StoreError::Damaged { path: path.to_owned(), damage }
    }

    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAStore { path },
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                StoreError::damaged(&path, Damage::File { error: error.to_string() })
            }
            None if is_unreadable(&error) => {
                let (what, error) = ("one of its rows".to_owned(), error.to_string());
                StoreError::damaged(&path, Damage::Row { what, error })
            }
            _ => StoreError::Sqlite { path, error },
        }
    }
}

/// Whether a value is not of its column's type.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
