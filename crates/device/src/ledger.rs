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

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::owned::{OwnedDirectory, OwnedLoopFile, OwnedMount};
use crate::queue::OwnedQueue;
use crate::record::{LedgerError, Records};
use crate::sweep::{self, SweepReport};
use crate::{Claim, LoopError};

/// The ledger of this process, open.
#[derive(Debug, Clone)]
pub struct Ledger {
    records: Records,
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
        Ok(Ledger { records: Records::open(directory)? })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        self.records.directory()
    }

    /// Cleans up after processes that are gone: unmounts what stands on loop files of ours,
    /// detaches them, and removes images and directories that prove to be ours. Everything
    /// else, also everything of processes that live, is left as it is. What cannot be removed
    /// now stays in the ledger for the next time.
    ///
    /// # Errors
    /// When the ledger itself cannot be read. A thing that resists is in the report.
    pub fn sweep(&self) -> Result<SweepReport, LedgerError> {
        sweep::sweep(self.records.directory(), self.records.token())
    }

    /// Makes a directory of ours, mode 0700, in `parent`: `fstrial-TOKEN`, with a marker in
    /// it. It goes with all its contents when the value is dropped.
    ///
    /// # Errors
    /// When it cannot be recorded or made.
    pub fn make_directory(&self, parent: &Path) -> Result<OwnedDirectory, LedgerError> {
        // Absolute, since the next start may be elsewhere.
        let parent = std::path::absolute(parent).map_err(LedgerError::of("find", parent))?;
        OwnedDirectory::make(&self.records, &parent)
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
        OwnedLoopFile::make(&self.records, &dir, size)
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
        OwnedMount::note(&self.records, point, source)
    }

    /// Records how the queue of a claimed disk is set, before a trial changes it. Dropping the
    /// value puts that back.
    ///
    /// # Errors
    /// When it cannot be read or recorded.
    pub fn note_queue(&self, claim: &Claim) -> Result<OwnedQueue, LedgerError> {
        OwnedQueue::note(&self.records, claim)
    }
}
