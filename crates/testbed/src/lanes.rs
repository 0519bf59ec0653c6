//! Shares the machine's cores between all fstrial processes of a user, with a lock file for each
//! core. A lock is released when the process that holds it ends, for whatever reason.
//!
//! Waiting processes are served in order. So a trial that needs the whole machine is not kept
//! waiting by later ones that each need only one core.

use std::collections::BTreeSet;
use std::fs::File;
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use files::FileError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

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
    held: Vec<File>,
}

impl Drop for Lane {
    fn drop(&mut self) {
        for file in &self.held {
            let _ = file.set_len(0);
        }
    }
}

/// Who else there is when a share of the machine is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Other processes that have a share or wait for one.
    pub others: usize,
    /// Those of them that have waited for longer.
    pub ahead: usize,
    /// The process that has had its share for the longest, and for how long.
    pub longest: Option<(u32, Duration)>,
}

/// Says that its process waits, until it is dropped.
struct Waiting {
    path: PathBuf,
    since: Duration,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

const WAITING: &str = "waits-";

/// The process that something says it is of, and since when.
struct Note {
    process: u32,
    since: Duration,
}

impl Note {
    fn now() -> Note {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Note { process: std::process::id(), since }
    }

    fn text(&self) -> String {
        format!("{} {}", self.process, self.since.as_nanos())
    }

    /// What a file says; nothing where it was left by a process that is gone.
    fn read(path: &Path) -> Option<Note> {
        let text = std::fs::read_to_string(path).ok()?;
        let (process, since) = text.split_once(' ')?;
        let since = Duration::from_nanos(since.parse().ok()?);
        let process = process.parse().ok()?;
        let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
        (test_kill_process(pid) != Err(Errno::SRCH)).then_some(Note { process, since })
    }
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

    /// Takes a share, waiting until it is free; `waits` is called when it is not, and may be called
    /// again.
    ///
    /// # Errors
    /// When asked to stop while waiting.
    pub fn take(
        &self,
        share: Share,
        stop: &Stop,
        waits: &mut dyn FnMut(Queue),
    ) -> Result<Lane, Stopped> {
        if share == Share::Nothing {
            return Ok(Lane { held: Vec::new() });
        }
        let waiting = self.waiting();
        let waits = &mut || waits(self.queue(&waiting));
        let _turn = lock(self.file("turn"), stop, waits)?;
        if share == Share::Machine {
            let mut held = Vec::new();
            for core in 0..self.cores {
                held.extend(lock(self.core(core), stop, waits)?);
            }
            return Ok(had(held));
        }
        let mut told = false;
        loop {
            for core in 0..self.cores {
                let file = self.core(core);
                if is_taken(&file) {
                    return Ok(had(file));
                }
            }
            if !std::mem::replace(&mut told, true) {
                waits();
            }
            if stop.asked() {
                return Err(Stopped);
            }
            waiting::pause(TRY_EVERY, "another process gives a core back");
        }
    }

    fn core(&self, core: usize) -> Vec<File> {
        self.file(&core_name(core))
    }

    /// Tells others that this process waits; without it they are told of one less.
    fn waiting(&self) -> Waiting {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let note = Note::now();
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("{WAITING}{}-{nth}", note.process));
        let _ = std::fs::write(&path, note.text());
        Waiting { path, since: note.since }
    }

    fn queue(&self, own: &Waiting) -> Queue {
        let now = Note::now();
        let of_others = |note: &Note| note.process != now.process;
        let cores = (0..self.cores).map(|core| self.directory.join(core_name(core)));
        let running: Vec<Note> =
            cores.filter_map(|path| Note::read(&path)).filter(of_others).collect();
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let waiting: Vec<Note> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(WAITING))
            .filter_map(|entry| Note::read(&entry.path()))
            .filter(of_others)
            .collect();
        let processes = |notes: &mut dyn Iterator<Item = &Note>| -> BTreeSet<u32> {
            notes.map(|note| note.process).collect()
        };
        let longest = running.iter().min_by_key(|note| note.since);
        Queue {
            others: processes(&mut running.iter().chain(&waiting)).len(),
            ahead: processes(&mut waiting.iter().filter(|note| note.since < own.since)).len(),
            longest: longest.map(|note| (note.process, now.since.saturating_sub(note.since))),
        }
    }

    /// A lock file, opened again each time, since a lock belongs to the open file. None if it
    /// cannot be opened (full disk, too many open files): then there is no wait for it.
    fn file(&self, name: &str) -> Vec<File> {
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(self.directory.join(name));
        file.into_iter().collect()
    }
}

fn core_name(core: usize) -> String {
    format!("core-{core}")
}

/// A share that these locks are; they say who has it.
fn had(held: Vec<File>) -> Lane {
    let text = Note::now().text();
    for file in &held {
        let _ = file.set_len(0);
        let _ = file.write_all_at(text.as_bytes(), 0);
    }
    Lane { held }
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

    fn lanes(directory: &Path, cores: usize) -> Lanes {
        Lanes { cores, ..Lanes::open(&directory.join("lanes")).unwrap() }
    }

    fn free(lanes: &Lanes, share: Share) -> Option<Lane> {
        let stop = Stop::new();
        // Waiting is refused at once.
        lanes.take(share, &stop, &mut |_| stop.ask()).ok()
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
                lanes.take(Share::Machine, &Stop::new(), &mut |_| send.send(()).unwrap()).is_ok()
            });
            waits.recv_timeout(Duration::from_secs(10)).unwrap();
            let overtaken = free(&lanes, Share::Core).is_some();
            drop(first);
            assert!(all.join().unwrap());
            assert!(!overtaken);
        });
    }

    /// Of other processes: this one and one that has ended do not count.
    #[test]
    fn who_waits_is_told_who_has_it_and_who_waited_before() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = lanes(directory.path(), 2);
        let all = free(&lanes, Share::Machine).unwrap();
        let mine = lanes.waiting();
        assert_eq!(lanes.queue(&mine), Queue { others: 0, ahead: 0, longest: None });
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let other = std::os::unix::process::parent_id();
        let note = |name: &str, process: u32, since: Duration| {
            let text = Note { process, since }.text();
            std::fs::write(lanes.directory.join(name), text).unwrap();
        };
        let before = mine.since - Duration::from_secs(9);
        note("core-1", other, before);
        note("waits-1-0", other, before);
        note("waits-2-0", ended.id(), before);
        note("waits-3-0", 1, mine.since + Duration::from_secs(9));
        let queue = lanes.queue(&mine);
        assert_eq!((queue.others, queue.ahead), (2, 1));
        let (process, held) = queue.longest.unwrap();
        assert!(process == other && held >= Duration::from_secs(9), "{held:?}");
        drop(all);
        drop(mine);
        let left = std::fs::read_dir(&lanes.directory).unwrap().flatten();
        let own = format!("{WAITING}{}-", std::process::id());
        assert!(!left.into_iter().any(|it| it.file_name().to_string_lossy().starts_with(&own)));
        assert!(Note::read(&lanes.directory.join("core-0")).is_none(), "nobody has it");
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
                        let lane = lanes.take(Share::Machine, &stop, &mut |_| {}).unwrap();
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(lane);
                    }
                });
            }
        });
    }
}
