//! Results in SQLite: raw measurements, spec, environment and outcome of every trial.
//! Reports compute from them; a figure can always be traced to its trial.
//!
//! A trial is written whole, in one transaction, when it has ended: what is in the store is
//! finished, whatever interrupts the run.

mod checksum;
mod compressed;
mod error;
mod extending;
mod held;
mod reading;
mod rows;
mod runs;
mod schema;
mod writing;

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use compressed::compress;
pub use error::{Damage, StoreError};
pub use held::HeldRun;
pub use rows::{Environment, RunHeader, RunState, StoredRun, StoredTrial, Until};
pub use writing::NewRun;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// How long to wait for another fstrial that holds the store, before that is an error.
const BUSY_WAIT: Duration = Duration::from_secs(5);

impl Store {
    /// How often a trial that something outside of it ended is run again. (Also in the query
    /// for a run's state.)
    pub const AGAIN_MAX: u32 = 3;

    /// The store in the user's data directory: `$XDG_DATA_HOME/fstrial/results.db`.
    pub fn default_path() -> PathBuf {
        let home = |variable: &str| {
            std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        home("XDG_DATA_HOME")
            // A home that is not there is not made.
            .or_else(|| home("HOME").filter(|it| it.is_dir()).map(|it| it.join(".local/share")))
            .unwrap_or_else(|| PathBuf::from("/var/lib"))
            .join("fstrial/results.db")
    }

    /// Opens the store, making it (readable by its owner alone) where there is none and
    /// bringing an older schema up to date.
    ///
    /// # Errors
    /// When the file is no store, of a newer schema, locked, or cannot be written.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory)
                .map_err(|error| StoreError::Io { path: directory.to_owned(), error })?;
        }
        let failed = |error| StoreError::Io { path: path.to_owned(), error };
        make_private(path).map_err(failed)?;
        if compressed::is_compressed(&regular_file(path).map_err(failed)?) {
            return Err(StoreError::Compressed { path: path.to_owned() });
        }
        let failed = |error| StoreError::from_sqlite(path, error);
        Store::on(Connection::open(path).map_err(failed)?, path, true)
    }

    /// Opens a store that is there, to read it: also one that is compressed with xz.
    ///
    /// # Errors
    /// When there is none, or as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let file = regular_file(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreError::Missing { path: path.to_owned() },
            _ => StoreError::Io { path: path.to_owned(), error },
        })?;
        let failed = |error| StoreError::from_sqlite(path, error);
        if compressed::is_compressed(&file) {
            let bytes = compressed::decompress(&file)
                .map_err(|error| StoreError::damaged(path, Damage::File { error }))?;
            let mut connection = Connection::open_in_memory().map_err(failed)?;
            connection
                .deserialize_read_exact(rusqlite::MAIN_DB, &bytes[..], bytes.len(), false)
                .map_err(failed)?;
            return Store::on(connection, path, false);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Store::on(Connection::open_with_flags(path, flags).map_err(failed)?, path, false)
    }

    /// A store in memory that is written nowhere: see [`Store::to_bytes`].
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory() -> Result<Store, StoreError> {
        let path = Path::new(":memory:");
        let failed = |error| StoreError::from_sqlite(path, error);
        Store::on(Connection::open_in_memory().map_err(failed)?, path, true)
    }

    fn on(
        mut connection: Connection,
        path: &Path,
        is_to_be_made: bool,
    ) -> Result<Store, StoreError> {
        let failed = |error| StoreError::from_sqlite(path, error);
        connection.busy_timeout(BUSY_WAIT).map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
        // What a foreign file's own definitions would run is not trusted, before it is refused.
        connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
        schema::migrate(&mut connection, path, is_to_be_made)?;
        Ok(Store { connection, path: path.to_owned() })
    }

    /// The whole store as the bytes of the file that [`Store::open`] opens.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn to_bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        let bytes = self.connection.serialize(rusqlite::MAIN_DB);
        bytes
            .map(|bytes| bytes.to_vec())
            .map_err(|error| StoreError::from_sqlite(&self.path, error))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }
}

/// Creates the file with mode 0600 before SQLite would create it with the user's umask.
fn make_private(path: &Path) -> std::io::Result<()> {
    match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file to look at it; refuses a pipe, a device and a directory at once.
fn regular_file(path: &Path) -> std::io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    match file.metadata()?.file_type().is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_on_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("results.db")).unwrap();
        let asked = |name: &str| {
            let answer =
                store.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            answer.unwrap()
        };
        assert_eq!(asked("synchronous"), 2, "2 is FULL");
    }
}
