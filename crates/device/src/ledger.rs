//! The ledger: what fstrial has made on this machine and not yet removed, and what it has set
//! otherwise and not yet put back.
//!
//! One JSON file for each thing, written and synced before the thing is made, removed after
//! the thing is. Whatever kills fstrial, the next start reads the ledger and cleans up
//! ([`Ledger::sweep`]). A thing is only ever removed if it proves to be the one recorded: by
//! a random token in its name, by a marker file, by its inode.
//!
//! Each process that has a ledger open keeps a lock file in it locked. Entries of a process
//! whose lock is held, or that is alive, are left alone, so any number of fstrial processes
//! share a ledger, also across containers.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::owned::{OwnedDirectory, OwnedLoopFile, OwnedMount};
use crate::queue::{OwnedQueue, QueueSettings};
use crate::sweep::{self, SweepReport};
use crate::{Claim, DeviceNumber, LoopError, ProcessIdentity};

/// The format of entries. A ledger of a newer one is not swept.
pub(crate) const VERSION: u32 = 1;
/// Characters of a token: 128 random bits.
pub(crate) const TOKEN_LENGTH: usize = 32;

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}", path.display())]
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

/// A thing recorded.
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
    /// What a disk's queue was set to before a trial.
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

/// The ledger of this process, open.
#[derive(Debug, Clone)]
pub struct Ledger {
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
        // Entries that are left keep the lock file: it says whose they are.
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

impl Ledger {
    /// Where the ledger is unless told otherwise: `/var/lib/fstrial` for root,
    /// `$XDG_STATE_HOME/fstrial` or `~/.local/state/fstrial` for others; `None` for a user
    /// without a home.
    pub fn default_directory() -> Option<PathBuf> {
        if rustix::process::geteuid().is_root() {
            return Some(PathBuf::from("/var/lib/fstrial"));
        }
        let absolute = |name| {
            std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
        };
        absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("fstrial"))
    }

    /// Opens the ledger in `directory`, made with mode 0700 if it is not there.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or is another user's or writable by
    /// others: entries are believed, so nobody else may write them.
    pub fn open(directory: &Path) -> Result<Ledger, LedgerError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(LedgerError::of("create", directory))?;
        let metadata =
            std::fs::metadata(directory).map_err(LedgerError::of("look at", directory))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            let reason = io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it must be ours and writable by nobody else (chmod 700)",
            );
            return Err(LedgerError::of("trust", directory)(reason));
        }
        let directory =
            std::fs::canonicalize(directory).map_err(LedgerError::of("resolve", directory))?;
        let owner =
            ProcessIdentity::current().map_err(LedgerError::of("identify", Path::new("/proc")))?;
        let token = random_token()?;
        // Locked and filled under another name first: a lock file that others see is always
        // locked by a process that it names.
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
        Ok(Ledger { inner: Arc::new(inner) })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// Cleans up after processes that are gone: unmounts what stands on loop files of ours,
    /// detaches them, and removes images and directories that prove to be ours. Everything
    /// else, also everything of processes that live, is left as it is. What cannot be removed
    /// now stays in the ledger for the next time.
    ///
    /// # Errors
    /// When the ledger itself cannot be read. A thing that resists is in the report.
    pub fn sweep(&self) -> Result<SweepReport, LedgerError> {
        sweep::sweep(&self.inner.directory, &self.inner.token)
    }

    /// Makes a directory of ours, mode 0700, in `parent`: `fstrial-TOKEN`, with a marker in
    /// it. It goes with all its contents when the value is dropped.
    ///
    /// # Errors
    /// When it cannot be recorded or made.
    pub fn make_directory(&self, parent: &Path) -> Result<OwnedDirectory, LedgerError> {
        // Absolute, since the next start may be elsewhere.
        let parent = std::path::absolute(parent).map_err(LedgerError::of("find", parent))?;
        OwnedDirectory::make(self, &parent)
    }

    /// Makes a loop file in `dir` (see [`crate::LoopFile::create`]), named by its token.
    ///
    /// # Errors
    /// As [`crate::LoopFile::create`], and when it cannot be recorded.
    pub fn make_loop_file(&self, dir: &Path, size: Bytes) -> Result<OwnedLoopFile, LoopError> {
        let dir = std::fs::canonicalize(dir).map_err(|source| LoopError::Failed {
            step: "find",
            path: dir.to_owned(),
            source,
        })?;
        OwnedLoopFile::make(self, &dir, size)
    }

    /// An empty directory beside the entries, out of the reach of other users, for a trial's
    /// process to mount on in a mount namespace of its own. Any number of them may.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn mount_point(&self) -> Result<PathBuf, LedgerError> {
        let path = self.directory().join("mount-point");
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(LedgerError::of("create", &path)(error))
            }
            _ => Ok(path),
        }
    }

    /// Records a mount that is about to be made and that does not go with its process: one
    /// outside a private mount namespace. `source` is the first field of /proc/mounts to
    /// come: the device, or for tmpfs a name that nobody else gives. Loop files of ours need
    /// no record of their mounts.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn note_mount(&self, point: &Path, source: &Path) -> Result<OwnedMount, LedgerError> {
        let point = std::fs::canonicalize(point).map_err(LedgerError::of("find", point))?;
        OwnedMount::note(self, point, source)
    }

    /// Records how the queue of a claimed disk is set, before a trial changes it. Dropping the
    /// value puts that back.
    ///
    /// # Errors
    /// When it cannot be read or recorded.
    pub fn note_queue(&self, claim: &Claim) -> Result<OwnedQueue, LedgerError> {
        OwnedQueue::note(self, claim)
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
        let file = RecordFile { path, record, _ledger: self.clone() };
        file.write()?;
        Ok(file)
    }
}

/// An entry of this process; removed when dropped.
#[derive(Debug)]
pub(crate) struct RecordFile {
    path: PathBuf,
    record: Record,
    _ledger: Ledger,
}

impl RecordFile {
    /// Says more of the thing, once it is made.
    pub(crate) fn update(&mut self, thing: Thing) -> Result<(), LedgerError> {
        self.record.thing = thing;
        self.write()
    }

    /// The token in the name of the thing.
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

fn create_private(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// 128 random bits as text.
pub(crate) fn random_token() -> Result<String, LedgerError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0u8; TOKEN_LENGTH / 2];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(LedgerError::of("read", path))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
