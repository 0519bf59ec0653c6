//! A program that serves others for as long as a workload needs it.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Stdio};

use measure::now;
use rustix::process::{Pid, Signal};
use units::Nanos;

use super::call::Call;
use super::enclosure::Enclosure;

/// Time limit for its start, and for its end.
const PATIENCE: Nanos = Nanos::from_secs(600);
/// Time between two checks.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(5);

/// A running server. Processes that it started end with it, at the latest when it is dropped.
pub(super) struct Server {
    child: Child,
    said: File,
    /// Dropped last: it ends what is left.
    _enclosure: Enclosure,
}

impl Server {
    /// Starts it and waits until it has printed these words.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not print them in time: with the last lines of its
    /// output.
    pub(super) fn start(call: &Call<'_>, words: &str) -> Result<Server, String> {
        let text = |error: std::io::Error| error.to_string();
        let enclosure = Enclosure::new().map_err(text)?;
        let mut command = call.command(&enclosure).map_err(text)?;
        let said = rustix::fs::memfd_create("server", rustix::fs::MemfdFlags::CLOEXEC);
        let said = File::from(said.map_err(|error| error.to_string())?);
        let output = || said.try_clone().map(Stdio::from);
        command
            .stdin(Stdio::null())
            .stdout(output().map_err(text)?)
            .stderr(output().map_err(text)?);
        let child = command.spawn().map_err(text)?;
        let mut server = Server { child, said, _enclosure: enclosure };
        let began = now();
        while !server.said().contains(words) {
            let ended = server.child.try_wait().map_err(text)?;
            if let Some(status) = ended {
                return Err(format!("it ended with {status}; {}", server.last_words()));
            }
            if now() - began > PATIENCE {
                return Err(format!("it did not begin to serve; {}", server.last_words()));
            }
            waiting::pause(LOOK_EVERY, "the server says that it serves");
        }
        Ok(server)
    }

    /// Asks it to end, and waits for that; how long it took.
    ///
    /// # Errors
    /// When it does not end successfully: with the last lines of its output.
    pub(super) fn stop(mut self, signal: Signal) -> Result<Nanos, String> {
        let pid = Pid::from_child(&self.child);
        let ended = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
            .map_err(|error| error.to_string())?;
        let began = now();
        rustix::process::kill_process(pid, signal).map_err(|error| error.to_string())?;
        let limit =
            rustix::event::Timespec { tv_sec: (PATIENCE.0 / 1_000_000_000) as i64, tv_nsec: 0 };
        let mut files = [rustix::event::PollFd::new(&ended, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut files, Some(&limit));
        let took = now() - began;
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Ok(took),
            Ok(Some(status)) => Err(format!("it ended with {status}; {}", self.last_words())),
            Ok(None) => Err(format!("it did not end when asked to; {}", self.last_words())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn said(&mut self) -> String {
        let mut text = Vec::new();
        // The position is shared with the server, which appends: it is put back at the end.
        let read = self.said.rewind().and_then(|()| self.said.read_to_end(&mut text));
        match read {
            Ok(_) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn last_words(&mut self) -> String {
        let said = self.said();
        let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(4)..].join(" / ")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
