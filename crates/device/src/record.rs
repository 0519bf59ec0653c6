//! The entries of the ledger: their files, and the lock that shows which process they belong to.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use files::Directory;
use rustix::fs::{FlockOperation, flock, fstat};
use serde::{Deserialize, Serialize};
use units::DeviceNumber;

use crate::ProcessIdentity;
use crate::queue_settings::QueueSettings;

/// The version of the entries' format. Entries of a newer version are not swept.
pub(crate) const VERSION: u32 = 1;
/// Characters of a token: 128 random bits.
pub(crate) const TOKEN_LENGTH: usize = 32;

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}: {source}", path.display())]
pub struct LedgerError {
    /// The step: `create`, `lock`.
    pub step: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

impl From<files::FileError> for LedgerError {
    fn from(error: files::FileError) -> LedgerError {
        LedgerError { step: error.step, path: error.path, source: error.source }
    }
}

impl LedgerError {
    pub(crate) fn of(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LedgerError {
        let path = path.to_owned();
        move |source| LedgerError { step, path, source }
    }
}

/// A recorded object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Thing {
    /// A directory with a marker file in it.
    Directory {
        path: PathBuf,
        /// Device and inode, once it is made.
        file_id: Option<(u64, u64)>,
    },
    /// An image file and the loop device it is attached to.
    LoopFile { path: PathBuf, file_id: Option<(u64, u64)>, loop_device: Option<DeviceNumber> },
    /// A mount that outlives its process.
    Mount { point: PathBuf, source: PathBuf },
    /// The settings that a disk's queue had before a trial.
    Queue { settings: QueueSettings },
}

/// One file of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) token: String,
    pub(crate) owner: ProcessIdentity,
    pub(crate) thing: Thing,
}

/// The entries of this process, and the directory with those of all.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    token: String,
    owner: ProcessIdentity,
    next: AtomicU64,
    /// Locked as long as the process lives.
    _lock: File,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // If entries are left, the lock file stays too: it shows which process they belong to.
        let prefix = format!("{}-", self.token);
        let left = std::fs::read_dir(&self.directory).map_or(true, |mut files| {
            files.any(|file| {
                file.map_or(true, |file| file.file_name().to_string_lossy().starts_with(&prefix))
            })
        });
        if !left {
            let _ = std::fs::remove_file(self.directory.join(format!("{}.lock", self.token)));
        }
    }
}

impl Records {
    /// Opens those in `directory`, see [`crate::Ledger::open`].
    pub(crate) fn open(directory: &Path) -> Result<Records, LedgerError> {
        let held = Directory::hold_or_make(directory)?;
        let directory = held.private_path()?;
        let status =
            fstat(&held).map_err(|error| LedgerError::of("look at", &directory)(error.into()))?;
        // Not even by the user's own group.
        if status.st_mode & 0o022 != 0 {
            let reason = io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it must be writable by nobody else (chmod 700)",
            );
            return Err(LedgerError::of("trust", &directory)(reason));
        }
        let owner =
            ProcessIdentity::current().map_err(LedgerError::of("identify", Path::new("/proc")))?;
        let token = random_token()?;
        // Locked and filled under another name first, so that a lock file under its final name is
        // always locked by the process that it names.
        let unnamed = directory.join(format!("{token}.lock.new"));
        let path = directory.join(format!("{token}.lock"));
        let write = || -> io::Result<File> {
            let mut lock = create_private(&unnamed)?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            lock.write_all(&serde_json::to_vec(&owner)?)?;
            lock.sync_all()?;
            std::fs::rename(&unnamed, &path)?;
            File::open(&directory)?.sync_all()?;
            Ok(lock)
        };
        let lock = write().map_err(LedgerError::of("lock", &path))?;
        let inner = Inner { directory, token, owner, next: AtomicU64::new(0), _lock: lock };
        Ok(Records { inner: Arc::new(inner) })
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// What the names of this process's files begin with.
    pub(crate) fn token(&self) -> &str {
        &self.inner.token
    }

    /// Writes an entry so that it is on disk when this returns.
    pub(crate) fn record(&self, token: &str, thing: Thing) -> Result<RecordFile, LedgerError> {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        let path = self.inner.directory.join(format!("{}-{number:06}.json", self.inner.token));
        let record = Record {
            version: VERSION,
            token: token.to_owned(),
            owner: self.inner.owner.clone(),
            thing,
        };
        let file = RecordFile { path, record, _records: self.clone() };
        file.write()?;
        Ok(file)
    }
}

/// An entry of this process; removed when dropped.
#[derive(Debug)]
pub(crate) struct RecordFile {
    path: PathBuf,
    record: Record,
    _records: Records,
}

impl RecordFile {
    /// Adds to the entry what is known only after the object was made.
    pub(crate) fn update(&mut self, thing: Thing) -> Result<(), LedgerError> {
        self.record.thing = thing;
        self.write()
    }

    /// The token in the object's name.
    pub(crate) fn token(&self) -> &str {
        &self.record.token
    }

    /// Leaves the entry for the next start to deal with.
    pub(crate) fn leave(mut self) {
        self.path = PathBuf::new();
    }

    fn write(&self) -> Result<(), LedgerError> {
        let unfinished = self.path.with_extension("json.new");
        let write = || -> io::Result<()> {
            let _ = std::fs::remove_file(&unfinished);
            let mut file = create_private(&unfinished)?;
            file.write_all(&serde_json::to_vec_pretty(&self.record)?)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &self.path)?;
            let directory = self.path.parent().unwrap_or(Path::new("/"));
            File::open(directory)?.sync_all()
        };
        write().map_err(LedgerError::of("write", &self.path))
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// 128 random bits as text.
pub(crate) fn random_token() -> Result<String, LedgerError> {
    let bytes: [u8; TOKEN_LENGTH / 2] =
        files::random_bytes().map_err(LedgerError::of("name", Path::new("a token")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
