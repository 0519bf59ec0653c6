//! What can go wrong with a store.

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
    /// Some other file.
    #[error("{} is not a store of fstrial; name another with --store", path.display())]
    NotAStore {
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
    /// A row that cannot be read back.
    #[error("store {}: {what} cannot be read: {error}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which row.
        what: String,
        /// Why.
        error: String,
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

impl StoreError {
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                StoreError::Locked { path }
            }
            Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAStore { path },
            _ => StoreError::Sqlite { path, error },
        }
    }
}
