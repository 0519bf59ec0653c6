//! Locks of the cache: one writer at a time, and whoever waits knows for whom.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::LabError;
use crate::progress::{BuildProgress, Holder};

/// Holds a lock file until dropped. Works across processes; the lock of a process that dies is
/// released.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Waits for it.
    pub(crate) fn take(path: &Path) -> Result<Lock, LabError> {
        Lock::take_for(path, "", &mut |_| {})
    }

    /// Waits for it, after telling for whom; `what` says what is waited for.
    pub(crate) fn take_for(
        path: &Path,
        what: &str,
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Lock, LabError> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(LabError::at("lock", path)(error)),
            Err(TryLockError::WouldBlock) => {
                let (what, holder) = (what.to_owned(), holder(&mut file));
                progress(BuildProgress::Waits { what, holder });
                file.lock().map_err(LabError::at("lock", path))?;
            }
        }
        // For whoever waits; without it they wait all the same.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = write!(file, "{} {since}", std::process::id());
        Ok(Lock(file))
    }

    /// Takes it, unless anybody holds it or it was never taken.
    pub(crate) fn try_take(path: &Path) -> Option<Lock> {
        let file = File::options().write(true).open(path).ok()?;
        file.try_lock().ok()?;
        Some(Lock(file))
    }

    /// Waits until nobody holds it alone; others can hold it likewise.
    pub(crate) fn share(
        path: &Path,
        what: &str,
        progress: &mut dyn FnMut(BuildProgress),
    ) -> Result<Lock, LabError> {
        let mut file = open(path)?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(LabError::at("lock", path)(error)),
            Err(TryLockError::WouldBlock) => {
                let (what, holder) = (what.to_owned(), holder(&mut file));
                progress(BuildProgress::Waits { what, holder });
                file.lock_shared().map_err(LabError::at("lock", path))?;
            }
        }
        Ok(Lock(file))
    }
}

fn open(path: &Path) -> Result<File, LabError> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    options.open(path).map_err(LabError::at("create", path))
}

fn holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    let (process, since) = text.split_once(' ')?;
    let since = UNIX_EPOCH + Duration::from_secs(since.trim().parse().ok()?);
    let held = SystemTime::now().duration_since(since).unwrap_or_default();
    Some(Holder { process: process.parse().ok()?, held })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_told_for_whom_and_others_do_not_wait() {
        let room = tempfile::tempdir().unwrap();
        let (one, other) = (room.path().join("one.lock"), room.path().join("other.lock"));
        let held = Lock::take(&one).unwrap();
        Lock::take_for(&other, "other", &mut |told| panic!("{told:?}")).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            Lock::take_for(&one, "the lab `one`", &mut |progress| tell.send(progress).unwrap())
        });
        let BuildProgress::Waits { what, holder } = told.recv().unwrap() else { panic!() };
        assert_eq!(what, "the lab `one`");
        assert_eq!(holder.unwrap().process, std::process::id());
        drop(held);
        waiting.join().unwrap().unwrap();
    }

    #[test]
    fn several_share_a_lock_that_nobody_has_alone() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("lock");
        let shared = |path: &Path| Lock::share(path, "it", &mut |told| panic!("{told:?}"));
        let both = (shared(&path).unwrap(), shared(&path).unwrap());
        assert!(matches!(open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)));
        drop(both);
        Lock::take(&path).unwrap();
    }
}
