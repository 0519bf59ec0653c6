//! The ledger: what fstrial has made on this machine and not yet removed, and which settings it has
//! changed and not yet restored.
//!
//! Each object has a JSON file, which is written and synced before the object is made and removed
//! after it. However fstrial is killed, its next start reads the ledger and cleans up
//! ([`Ledger::sweep`]). An object is removed only if it is proved to be the recorded one: by a
//! random token in its name, by a marker file, or by its inode.
//!
//! Each process that has a ledger open holds the lock on a lock file in it. Entries of a process
//! that holds its lock or is alive are left alone, so any number of fstrial processes can share a
//! ledger, even across containers.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use files::Directory;
use units::Bytes;

use crate::owned::{OwnedDirectory, OwnedLoopFile, OwnedMount};
use crate::queue::OwnedQueue;
use crate::record::{LedgerError, Records};
use crate::sweep::{self, Left, SweepReport};
use crate::{Claim, LoopError};

/// The ledger of this process, open.
#[derive(Debug, Clone)]
pub struct Ledger {
    records: Records,
}

impl Ledger {
    /// The default directory of the ledger: `/var/lib/fstrial` for root,
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
            .or_else(|| absolute("HOME").filter(|it| it.is_dir()).map(|it| it.join(".local/state")))
            .map(|state| state.join("fstrial"))
    }

    /// Opens the ledger in `directory`, made with mode 0700 if it is not there.
    ///
    /// # Errors
    /// When the directory cannot be made or written, belongs to another user, or is writable by
    /// others: entries are trusted, so nobody else may write them.
    pub fn open(directory: &Path) -> Result<Ledger, LedgerError> {
        Ok(Ledger { records: Records::open(directory)? })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        self.records.directory()
    }

    /// Cleans up after processes that have ended: unmounts the filesystems on fstrial's loop files,
    /// detaches the files, and removes images and directories that are proved to be fstrial's.
    /// Everything else is left as it is, including everything of running processes. What cannot be
    /// removed now stays in the ledger for the next sweep.
    ///
    /// # Errors
    /// When the ledger itself cannot be read. An object that cannot be removed is in the report.
    pub fn sweep(&self) -> Result<SweepReport, LedgerError> {
        sweep::sweep(self.records.directory(), self.records.token())
    }

    /// Notes that the user was told what a sweep left: later reports say so ([`Left::told`]).
    ///
    /// [`Left::told`]: crate::Left::told
    pub fn note_told(&self, report: &SweepReport) {
        sweep::note_told(report);
    }

    /// Gives up what a sweep left at these paths or below them: it stays where it is, and no sweep
    /// looks for it again. Returns what still counts as left.
    pub fn forget(&self, report: SweepReport, paths: &[PathBuf]) -> Vec<Left> {
        let given_up = |left: &Left| paths.iter().any(|path| left.path.starts_with(path));
        let (forgotten, left): (Vec<Left>, Vec<Left>) = report.left.into_iter().partition(given_up);
        forgotten.iter().for_each(|left| sweep::forget(&left.entry));
        left
    }

    /// Makes a directory `fstrial-TOKEN`, mode 0700, with a marker file, in `parent`. It is removed
    /// with all its contents when the value is dropped.
    ///
    /// # Errors
    /// When it cannot be recorded or made.
    pub fn make_directory(&self, parent: &Path) -> Result<OwnedDirectory, LedgerError> {
        self.make_directory_in(&Directory::hold(parent)?)
    }

    /// The same in a directory that is held already.
    ///
    /// # Errors
    /// As [`Ledger::make_directory`].
    pub fn make_directory_in(&self, parent: &Directory) -> Result<OwnedDirectory, LedgerError> {
        OwnedDirectory::make(&self.records, parent)
    }

    /// Makes a loop file in `dir` (see [`crate::LoopFile::create`]), named by its token.
    ///
    /// # Errors
    /// As [`crate::LoopFile::create`], and when it cannot be recorded.
    pub fn make_loop_file(&self, dir: &Path, size: Bytes) -> Result<OwnedLoopFile, LoopError> {
        self.make_loop_file_in(&Directory::hold(dir)?, size)
    }

    /// The same in a directory that is held already.
    ///
    /// # Errors
    /// As [`Ledger::make_loop_file`].
    pub fn make_loop_file_in(
        &self,
        directory: &Directory,
        size: Bytes,
    ) -> Result<OwnedLoopFile, LoopError> {
        OwnedLoopFile::make(&self.records, directory, size)
    }

    /// An empty directory beside the entries, out of reach of other users. A trial's process mounts
    /// on it in its own mount namespace; any number of processes may do so at once.
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

    /// Records a mount that is about to be made outside a private mount namespace, and so would
    /// outlive its process. `source` is the first field it will have in /proc/mounts: the device,
    /// or for tmpfs a unique name. Mounts of fstrial's loop files need no record.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn note_mount(&self, point: &Path, source: &Path) -> Result<OwnedMount, LedgerError> {
        let point = Directory::hold(point)?.present_path();
        OwnedMount::note(&self.records, point, source)
    }

    /// Records the queue settings of a claimed disk before a trial changes them. Dropping the value
    /// restores them.
    ///
    /// # Errors
    /// When it cannot be read or recorded.
    pub fn note_queue(&self, claim: &Claim) -> Result<OwnedQueue, LedgerError> {
        OwnedQueue::note(&self.records, claim)
    }
}
