//! Shares the machine's cores between all fstrial processes of a user, with a lock file for each
//! core. A lock is released when the process that holds it ends, for whatever reason.
//!
//! Waiting processes are served in order. So a trial that needs the whole machine is not kept
//! waiting by later ones that each need only one core.

use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use files::FileError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Stop, Stopped};

/// How often the stop flag is looked at while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a free core is looked for.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// How much of the machine it is started on a trial needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of it: anything that runs at the same time would change its figures.
    Machine,
    /// One core.
    Core,
    /// Nothing: it runs elsewhere.
    Nothing,
}

/// The lock files.
#[derive(Debug, Clone)]
pub struct Lanes {
    directory: PathBuf,
    cores: usize,
}

/// A share of the machine, until it is dropped.
#[derive(Debug)]
pub struct Lane {
    _held: Vec<File>,
}

impl Lanes {
    /// Opens the lock files in `directory`, which is made if it is missing and has to be the user's
    /// own.
    ///
    /// # Errors
    /// When it cannot be made, or others may write to it.
    pub fn open(directory: &Path) -> Result<Lanes, FileError> {
        files::private_directory(directory)?;
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Ok(Lanes { directory: directory.to_owned(), cores })
    }

    /// Takes a share, waiting until it is free; `waits` is called when it is not.
    ///
    /// # Errors
    /// When asked to stop while waiting.
    pub fn take(
        &self,
        share: Share,
        stop: &Stop,
        waits: &mut dyn FnMut(),
    ) -> Result<Lane, Stopped> {
        if share == Share::Nothing {
            return Ok(Lane { _held: Vec::new() });
        }
        let _turn = lock(self.file("turn"), stop, waits)?;
        if share == Share::Machine {
            let mut held = Vec::new();
            for core in 0..self.cores {
                held.extend(lock(self.core(core), stop, waits)?);
            }
            return Ok(Lane { _held: held });
        }
        let mut told = false;
        loop {
            for core in 0..self.cores {
                let file = self.core(core);
                if is_taken(&file) {
                    return Ok(Lane { _held: file });
                }
            }
            if !std::mem::replace(&mut told, true) {
                waits();
            }
            if stop.asked() {
                return Err(Stopped);
            }
            std::thread::park_timeout(TRY_EVERY);
        }
    }

    fn core(&self, core: usize) -> Vec<File> {
        self.file(&format!("core-{core}"))
    }

    /// A lock file, opened again each time, since a lock belongs to the open file. None if it
    /// cannot be opened (full disk, too many open files): then there is no wait for it.
    fn file(&self, name: &str) -> Vec<File> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(self.directory.join(name));
        file.into_iter().collect()
    }
}

/// Whether the lock was free and is taken now.
fn is_taken(file: &[File]) -> bool {
    file.iter()
        .all(|file| flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK))
}

/// Takes a lock, waiting for it. A short wait, such as for another thread of this process that is
/// finding its core, is not reported.
fn lock(file: Vec<File>, stop: &Stop, waits: &mut dyn FnMut()) -> Result<Vec<File>, Stopped> {
    if is_taken(&file) {
        return Ok(file);
    }
    let mut told = false;
    let (send, taken) = channel();
    // In a separate thread, since waiting for a lock cannot be interrupted.
    std::thread::spawn(move || {
        for file in &file {
            while flock(file, FlockOperation::LockExclusive) == Err(Errno::INTR) {}
        }
        let _ = send.send(file);
    });
    loop {
        match taken.recv_timeout(LOOK_EVERY) {
            Ok(file) => return Ok(file),
            Err(RecvTimeoutError::Timeout) => {
                if !std::mem::replace(&mut told, true) {
                    waits();
                }
                if stop.asked() {
                    return Err(Stopped);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn lanes(directory: &Path, cores: usize) -> Lanes {
        Lanes { cores, ..Lanes::open(&directory.join("lanes")).unwrap() }
    }

    fn free(lanes: &Lanes, share: Share) -> Option<Lane> {
        let stop = Stop::new();
        // Waiting is refused at once.
        lanes.take(share, &stop, &mut || stop.ask()).ok()
    }

    #[test]
    fn a_core_each_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = lanes(directory.path(), 2);
        let first = free(&lanes, Share::Core).unwrap();
        let _second = free(&lanes, Share::Core).unwrap();
        assert!(free(&lanes, Share::Core).is_none());
        assert!(free(&lanes, Share::Nothing).is_some());
        drop(first);
        assert!(free(&lanes, Share::Machine).is_none(), "one core is taken");
        assert!(free(&lanes, Share::Core).is_some());
    }

    #[test]
    fn the_whole_machine_is_had_alone() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = lanes(directory.path(), 3);
        let all = free(&lanes, Share::Machine).unwrap();
        assert!(free(&lanes, Share::Core).is_none());
        assert!(free(&lanes, Share::Machine).is_none());
        drop(all);
        assert!(free(&lanes, Share::Machine).is_some());
    }

    /// Whoever needs all cores is not kept waiting by later ones that need one each.
    #[test]
    fn who_waits_for_the_whole_machine_is_not_overtaken() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = lanes(directory.path(), 2);
        let first = free(&lanes, Share::Core).unwrap();
        let (send, waits) = channel();
        std::thread::scope(|scope| {
            let all = scope.spawn(|| {
                lanes.take(Share::Machine, &Stop::new(), &mut || send.send(()).unwrap()).is_ok()
            });
            waits.recv_timeout(Duration::from_secs(10)).unwrap();
            let overtaken = free(&lanes, Share::Core).is_some();
            drop(first);
            assert!(all.join().unwrap());
            assert!(!overtaken);
        });
    }

    /// Two that take turns never hold it at the same time, and one that waits gets it.
    #[test]
    fn who_waits_gets_its_turn() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = lanes(directory.path(), 2);
        let holders = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let stop = Stop::new();
                        let lane = lanes.take(Share::Machine, &stop, &mut || {}).unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lane);
                    }
                });
            }
        });
    }
}
