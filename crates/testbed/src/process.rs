//! A trial in a process of its own.
//!
//! The process has its own process group, dies with its parent, and is killed with its whole group
//! when its time is up. It reads its assignment from standard input and writes events to standard
//! output. Its standard error is kept in case it dies.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::RawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use trial::{Event, Outcome, Step, protocol};
use units::Nanos;

use crate::{Stop, Stopped};

/// The hidden command with which this binary starts itself to execute one trial.
pub const CHILD_COMMAND: &str = "__trial";

/// A descriptor the child keeps, under the same number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inherited(pub(crate) RawFd);

/// Why no process could be started.
#[derive(Debug, thiserror::Error)]
#[error("a process for the trial could not be started: {0}")]
struct ProcessError(#[from] io::Error);

/// How often the parent looks at the clock and at the stop flag.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Starts this binary as a child, hands it `assignment`, passes its events on, and ensures that
/// `sink` gets exactly one [`Event::Ended`].
///
/// # Errors
/// When `stop` was asked for; the child is dead then.
pub(crate) fn run_child<A: Serialize>(
    assignment: &A,
    inherited: &[Inherited],
    timeout: Nanos,
    stop: &Stop,
    sink: &mut dyn FnMut(Event),
) -> Result<(), Stopped> {
    let child = match start(assignment, inherited) {
        Ok(child) => child,
        Err(error) => {
            sink(Event::Ended(Outcome::Failed { step: Step::Prepare, reason: error.to_string() }));
            return Ok(());
        }
    };
    Watched::new(child).follow(timeout, stop, sink)
}

fn start<A: Serialize>(assignment: &A, inherited: &[Inherited]) -> Result<Child, ProcessError> {
    let descriptors: Vec<RawFd> = inherited.iter().map(|inherited| inherited.0).collect();
    // The running binary, even if an upgrade has replaced it on disk.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("fstrial")
        .arg(CHILD_COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    goes_with_us(&mut command, descriptors);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take()
        && let Err(error) = protocol::write_order(&mut stdin, assignment)
    {
        kill_group(&mut child);
        return Err(io::Error::other(error).into());
    }
    Ok(child)
}

/// Makes the process lead a group of its own, keep these descriptors, and die with the thread that
/// starts it.
fn goes_with_us(command: &mut Command, descriptors: Vec<RawFd>) {
    command.process_group(0);
    // SAFETY: only prctl and fcntl are called between fork and exec; they are
    // async-signal-safe, and the closure's vector is read, not changed.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            for descriptor in &descriptors {
                libc::fcntl(*descriptor, libc::F_SETFD, 0);
            }
            Ok(())
        });
    }
}

/// A started child; killed with its group when dropped before its end.
struct Watched {
    child: Child,
    step: Step,
    ended: bool,
}

impl Watched {
    fn new(child: Child) -> Watched {
        Watched { child, step: Step::Prepare, ended: false }
    }

    fn follow(
        mut self,
        timeout: Nanos,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped> {
        let (send, lines) = channel::<io::Result<String>>();
        let stdout = self.child.stdout.take();
        let reader = std::thread::spawn(move || {
            for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = self.child.stderr.take();
        let listener = std::thread::spawn(move || {
            let mut said = Vec::new();
            if let Some(stderr) = stderr {
                // A child that floods its error output must not fill our memory.
                let _ = stderr.take(64 << 10).read_to_end(&mut said);
            }
            String::from_utf8_lossy(&said).into_owned()
        });
        let began = Instant::now();
        let limit = Duration::from(timeout);
        let end = loop {
            if stop.asked() {
                kill_group(&mut self.child);
                self.ended = true;
                return Err(Stopped);
            }
            if began.elapsed() > limit {
                kill_group(&mut self.child);
                break Some(Outcome::TimedOut { step: self.step, after: timeout });
            }
            match lines.recv_timeout(LOOK_EVERY) {
                Ok(Ok(line)) => match protocol::decode_event(&line) {
                    Ok(Event::Ended(outcome)) => break Some(outcome),
                    Ok(event) => {
                        if let Event::Step(step) = event {
                            self.step = step;
                        }
                        sink(event);
                    }
                    Err(error) => {
                        kill_group(&mut self.child);
                        let reason = error.to_string();
                        break Some(Outcome::GuestDied { reason, kernel_log: String::new() });
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        let status = self.child.wait();
        self.ended = true;
        let _ = reader.join();
        let said = listener.join().unwrap_or_default();
        sink(Event::Ended(end.unwrap_or_else(|| died(self.step, status, &said))));
        Ok(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.ended {
            kill_group(&mut self.child);
        }
    }
}

/// The outcome of a trial whose process ended at `step` without reporting one.
fn died(step: Step, status: io::Result<ExitStatus>, said: &str) -> Outcome {
    let signal = status.as_ref().ok().and_then(ExitStatusExt::signal);
    let how = match (signal, status) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, Ok(status)) => status.to_string(),
        (None, Err(error)) => error.to_string(),
    };
    let said = said.trim();
    let reason = if said.is_empty() {
        format!("the trial's process ended at {step}: {how}")
    } else {
        format!("the trial's process ended at {step}: {how}: {said}")
    };
    match signal {
        // A trial never does this to itself: a user did, or a kernel short of memory.
        Some(libc::SIGKILL | libc::SIGTERM) => Outcome::Lost { reason },
        _ => Outcome::GuestDied { reason, kernel_log: String::new() },
    }
}

/// Kills the child and everything it started, and waits for it.
fn kill_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That the last process with this pipe's writing end ends within ten seconds.
    fn all_end(out: impl Read + Send + 'static) -> bool {
        let (send, ended) = channel();
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = BufReader::new(out).read_to_string(&mut rest);
            send.send(rest)
        });
        ended.recv_timeout(Duration::from_secs(10)).is_ok()
    }

    fn started(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        goes_with_us(&mut command, Vec::new());
        command.spawn().unwrap()
    }

    #[test]
    fn what_a_trial_started_is_killed_with_it() {
        let mut child = started("sleep 60 & echo started; wait");
        let mut out = child.stdout.take().unwrap();
        let mut said = [0; 8];
        out.read_exact(&mut said).unwrap();
        kill_group(&mut child);
        assert!(all_end(out), "what it started runs on");
    }

    #[test]
    fn a_trial_dies_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(|| started("exec sleep 60")).join().unwrap();
        assert!(all_end(child.stdout.take().unwrap()), "it runs on");
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
