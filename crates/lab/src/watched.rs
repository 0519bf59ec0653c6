//! Watches outside programs that fetch files, and ends one that makes no progress. apt-get, for
//! example, hangs when the disk becomes full while it fetches its lists.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use units::Bytes;

/// How long a program may leave its files unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// While there is room: longer than network timeouts, and longer than a slow machine takes to
    /// read the lists of a distribution.
    pub(crate) with_room: Duration,
    /// On a full disk.
    pub(crate) without: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { with_room: Duration::from_secs(300), without: Duration::from_secs(10) }
    }
}

/// With less free space than this, a disk counts as full.
const ROOM: Bytes = Bytes::from_kib(256);
/// How often the files are looked at.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself.
    Itself(Output),
    /// It was ended, with all it had started: nothing below its directory had changed for
    /// this long.
    Stalled {
        /// How long.
        after: Duration,
        /// What was free then on the directory's filesystem.
        free: Bytes,
    },
}

/// Runs a program that writes files below `directory` and returns what it said.
///
/// # Errors
/// When it cannot be started or its words cannot be read.
pub(crate) fn run(
    command: &mut Command,
    directory: &Path,
    patience: Patience,
) -> io::Result<Ended> {
    // A group of its own, so that what it starts ends with it.
    let child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    std::thread::scope(|scope| {
        let group = Pid::from_child(&child);
        let watcher = scope.spawn(move || watch(group, directory, patience));
        let output = Child::wait_with_output(child);
        match watcher.join() {
            Ok(Some(stalled)) => Ok(stalled),
            _ => output.map(Ended::Itself),
        }
    })
}

/// Returns when the process has ended, or has been ended.
fn watch(group: Pid, directory: &Path, patience: Patience) -> Option<Ended> {
    // Without a handle on it (Linux before 5.3) nothing is watched.
    let process = pidfd_open(group, PidfdFlags::empty()).ok()?;
    let mut seen = written(directory);
    let mut since = Instant::now();
    loop {
        let waited = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LOOK_EVERY));
        if waited.is_ok_and(|ready| ready > 0) {
            return None;
        }
        let now = written(directory);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        let free = free(directory);
        let most = if free < ROOM { patience.without } else { patience.with_room };
        let after = since.elapsed();
        if after >= most {
            let _ = kill_process_group(group, Signal::KILL);
            return Some(Ended::Stalled { after, free });
        }
    }
}

/// Files below a directory, and their bytes.
fn written(directory: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        // Files may be created and removed meanwhile.
        let Ok(data) = entry.metadata() else { continue };
        let (files, bytes) = match data.is_dir() {
            true => written(&entry.path()),
            false => (1, data.len()),
        };
        sum = (sum.0 + files, sum.1 + bytes);
    }
    sum
}

/// Space that is free for this process; the maximum if that is not known.
fn free(directory: &Path) -> Bytes {
    match rustix::fs::statvfs(directory) {
        Ok(room) => Bytes(room.f_bavail.saturating_mul(room.f_frsize)),
        Err(_) => Bytes(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Patience) -> Ended {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(directory.path());
        run(&mut command, directory.path(), patience).unwrap()
    }

    #[test]
    fn a_program_that_gets_no_further_is_ended_with_all_it_started() {
        let patience = Patience { with_room: Duration::ZERO, ..Patience::default() };
        // The pipe of what it says is only at its end when its child is gone, too.
        let ended = shell("sleep 600 & wait", patience);
        assert!(matches!(ended, Ended::Stalled { free, .. } if free > Bytes::ZERO), "{ended:?}");
    }

    #[test]
    fn a_program_that_ends_by_itself_is_heard() {
        match shell("echo said; exit 3", Patience::default()) {
            Ended::Itself(output) => {
                assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b"said\n"[..]));
            }
            stalled => panic!("{stalled:?}"),
        }
    }

    #[test]
    fn what_is_written_below_counts() {
        let directory = tempfile::tempdir().unwrap();
        let before = written(directory.path());
        std::fs::create_dir(directory.path().join("partial")).unwrap();
        std::fs::write(directory.path().join("partial/list"), "abc").unwrap();
        assert_eq!((before, written(directory.path())), ((0, 0), (1, 3)));
    }
}
