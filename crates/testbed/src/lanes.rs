//! The machine's cores, shared by all fstrials of a user: a lock file for each. A lock ends
//! with the process that holds it, however that ends.
//!
//! Who waits keeps its turn: nobody who came later begins before. So a trial that needs the
//! whole machine is not kept waiting by others that each need a core of it.

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

/// What a trial takes of the machine it is started on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of it: what runs beside it would change its figures.
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
    /// Those in `directory`, which is made if it is not there and has to be the user's own.
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

    /// A lock file, opened anew, since a lock belongs to what was opened. None where that is not
    /// possible (a disk that is full, too many open files): then it is not waited for.
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

/// Takes a lock, waiting for it. A moment, such as another thread of this process takes to find
/// its core, is not told.
fn lock(file: Vec<File>, stop: &Stop, waits: &mut dyn FnMut()) -> Result<Vec<File>, Stopped> {
    if is_taken(&file) {
        return Ok(file);
    }
    let mut told = false;
    let (send, taken) = channel();
    // A thread of its own, since nothing interrupts one that waits for a lock.
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
