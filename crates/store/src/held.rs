//! Who executes a run: one process at a time, on all machines that share the store's filesystem.
//!
//! A file beside the store is locked (`flock`) as long as the run is executed; what it says names the
//! holder. The kernel releases the lock of a process that dies. Over NFS the server sees it
//! (Linux turns it into a lock of the whole file), on Lustre where it is mounted with `flock`; a
//! filesystem without locks refuses, as it does with SQLite's own.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Store, StoreError};

/// A run that no other process executes, until this is dropped.
#[derive(Debug)]
pub struct HeldRun {
    /// `None` for a store in memory, which nobody else has.
    file: Option<(PathBuf, File)>,
}

/// The most that is read of who holds a run.
const HOLDER_MAX: u64 = 400;

impl Store {
    /// Holds a run, to execute it.
    ///
    /// # Errors
    /// When there is no such run, or another process holds it: then who does, and since when.
    pub fn hold_run(&self, id: &str) -> Result<HeldRun, StoreError> {
        let run = format!("r{}", self.run_ordinal(id)?);
        if self.connection.path().is_none_or(str::is_empty) {
            return Ok(HeldRun { file: None });
        }
        let store = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sweep(&self.path, &format!("{store}.r"));
        let path = self.path.with_file_name(format!("{store}.{run}.running"));
        match lock(&path) {
            Ok(Ok(file)) => Ok(HeldRun { file: Some((path, file)) }),
            Ok(Err(holder)) => Err(StoreError::Running { path: self.path.clone(), run, holder }),
            Err(error) => Err(StoreError::Io { path, error }),
        }
    }
}

/// Removes what killed processes left beside the store.
fn sweep(store: &Path, begins: &str) {
    let beside = match store.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    for entry in std::fs::read_dir(beside).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().and_then(|name| name.strip_prefix(begins)?.strip_suffix(".running"));
        let is_run = ours.is_some_and(|run| run.parse::<u64>().is_ok());
        // One without a word is about to be locked by whoever has just made it.
        let is_left = entry.metadata().is_ok_and(|data| data.is_file() && data.len() > 0);
        if is_run
            && is_left
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        // Removed while it is locked: whoever waits with the old file open finds out in `lock`.
        if let Some((path, _)) = &self.file {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Locks the file and writes into it who we are, or tells who has locked it.
fn lock(path: &Path) -> io::Result<Result<File, String>> {
    loop {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(
                (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32
            )
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                file.take(HOLDER_MAX).read_to_string(&mut holder)?;
                return Ok(Err(plain(&holder)));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The one who had it may have removed the file since we opened it.
        let held = file.metadata()?;
        match std::fs::symlink_metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (held.dev(), held.ino()) => {}
            Ok(_) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(ourselves().as_bytes())?;
        return Ok(Ok(file));
    }
}

fn ourselves() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let now = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S");
    format!("process {} on {}, since {now}", std::process::id(), host.trim())
}

fn plain(holder: &str) -> String {
    let shown: String = holder.chars().filter(|c| !c.is_control()).collect();
    if shown.is_empty() { "another process".to_owned() } else { shown }
}
