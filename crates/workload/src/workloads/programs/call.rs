//! One call of a program: it is started, its output is read, and it is ended in time with all
//! processes that it started.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use measure::now;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use units::Nanos;

use super::enclosure::{Enclosure, MARK};
use super::inside::{Inside, PLACE};

/// How much of the end of each stream is kept.
const KEPT: usize = 1 << 20;
/// Grace period between SIGTERM and SIGKILL.
const GRACE: Nanos = Nanos::from_secs(5);
/// Where programs are looked up in a tree of their own.
const PATH_INSIDE: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The exit code of a shell that did not find a program.
const NOT_FOUND: i32 = 127;
const BRING: &str = "what it calls has to be named under `packages` or `files` of a job's file \
(docs/howto/program.md)";

const ONLY: &str = "in the lab it has only its libraries, and what `packages` and `files` of a job's \
file name (docs/howto/program.md)";

/// A program with its arguments and where it runs.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub(super) words: Vec<OsString>,
    /// Its working directory.
    pub(super) directory: &'a Path,
    pub(super) environment: Vec<(String, String)>,
    /// Directories in which programs are looked up.
    pub(super) search: &'a [PathBuf],
    /// A tree of files that is its root, if it is not the machine's own.
    pub(super) root: Option<&'a Path>,
    /// What it reads from its standard input.
    pub(super) input: String,
    /// The user it runs as, if not this one.
    pub(super) user: Option<u32>,
    /// Time after which it is ended.
    pub(super) limit: Nanos,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) status: ExitStatus,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// Largest resident memory of a process of it, in KiB.
    pub(super) memory: u64,
    pub(super) output: String,
    pub(super) errors: String,
    /// Number of processes that were still running and were ended.
    pub(super) left: usize,
    /// Whether it was ended because its time was over.
    pub(super) late: Option<Late>,
}

/// How a call whose time was over ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// SIGTERM, the request to end.
    Asked,
    /// SIGKILL, since it ignored the request.
    Made,
}

impl Call<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// When it cannot be started: the reason, as text.
    pub(super) fn run(&self) -> Result<Done, String> {
        self.run_hearing(&mut |_| {})
    }

    /// Runs it to its end; `hear` gets its standard output as it comes.
    ///
    /// # Errors
    /// As [`Call::run`].
    pub(super) fn run_hearing(&self, hear: &mut dyn FnMut(&[u8])) -> Result<Done, String> {
        let enclosure = Enclosure::new().map_err(|error| format!("a namespace: {error}"))?;
        let mut command = self.command(&enclosure).map_err(|error| error.to_string())?;
        let start = now();
        let child = command.spawn().map_err(|error| self.not_started(&error))?;
        self.follow(child, start, enclosure, hear).map_err(|error| error.to_string())
    }

    /// Runs it; anything but success is an error with its output.
    ///
    /// # Errors
    /// How it ended, and the last lines of its output.
    pub(super) fn succeed(&self) -> Result<Done, String> {
        let done = self.run()?;
        match self.failure(&done) {
            None => Ok(done),
            Some(failure) => Err(failure),
        }
    }

    /// Why the call did not succeed, with the last lines of its output and what helps; `None` if
    /// it succeeded.
    pub(super) fn failure(&self, done: &Done) -> Option<String> {
        let failure = done.failure(self.limit)?;
        Some(match (self.root, done.status.code()) {
            (Some(_), Some(NOT_FOUND)) => format!("{BRING}: {failure}"),
            (Some(_), Some(_)) => format!("{failure}; {ONLY}"),
            _ => failure,
        })
    }

    fn not_started(&self, error: &io::Error) -> String {
        let program = self.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        match error.raw_os_error() {
            Some(libc::ENOENT) => {
                format!("{program}: it is not there, or what its first line names is not")
            }
            Some(libc::EACCES) => {
                format!("{program}: it is not executable; `chmod +x` makes it so")
            }
            Some(libc::ENOEXEC) => {
                format!("{program}: it is no program for this machine (another architecture?)")
            }
            _ => format!("{program}: {error}"),
        }
    }

    /// What starts it inside an enclosure, with pipes for its streams.
    ///
    /// # Errors
    /// When its root cannot be prepared.
    pub(super) fn command(&self, enclosure: &Enclosure) -> io::Result<Command> {
        let mut command =
            Command::new(self.words.first().map_or(std::ffi::OsStr::new(""), OsString::as_os_str));
        let path = match self.root {
            Some(_) => OsString::from(PATH_INSIDE),
            None => std::env::join_paths(self.search).map_err(io::Error::other)?,
        };
        command
            .args(self.words.iter().skip(1))
            .env_clear()
            .env("PATH", path)
            .env("LC_ALL", "C")
            .env("HOME", self.user.map_or(self.directory, |_| Path::new(PLACE)))
            .env(MARK, enclosure.mark())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let inside = match (self.root, self.user) {
            (None, None) => {
                command.current_dir(self.directory);
                None
            }
            (root, user) => Some(Inside::new(root, self.directory, user)?),
        };
        // SAFETY: between fork and exec only system calls are made; what they read was allocated
        // before.
        unsafe {
            command.pre_exec(move || {
                inside.as_ref().map_or(Ok(()), Inside::enter)?;
                // Afterwards, because the kernel resets it when the user changes.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        Ok(command)
    }

    fn follow(
        &self,
        mut child: Child,
        start: Nanos,
        enclosure: Enclosure,
        hear: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Done> {
        let pid = Pid::from_child(&child);
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut talk = Talk {
            input: streams.0.map(OwnedFd::from),
            unsaid: self.input.as_bytes(),
            streams: [streams.1.map(OwnedFd::from), streams.2.map(OwnedFd::from)],
            heard: [Vec::new(), Vec::new()],
            hear,
        };
        talk.never_wait()?;
        let mut deadline = start + self.limit;
        let mut late = None;
        let end = loop {
            let now = now();
            if now >= deadline {
                let signal = if late.is_none() { Signal::TERM } else { Signal::KILL };
                late = Some(if late.is_none() { Late::Asked } else { Late::Made });
                let _ = rustix::process::kill_process(pid, signal);
                deadline = now + GRACE;
            }
            if talk.wait(ended.as_fd(), deadline.saturating_sub(now))? {
                break measure::now();
            }
        };
        let (status, memory) = wait(&child)?;
        talk.drain();
        let left = enclosure.left();
        drop(enclosure);
        let [output, errors] = talk.heard.map(|heard| String::from_utf8_lossy(&heard).into_owned());
        Ok(Done { status, start, end, memory, output, errors, left, late })
    }
}

impl Done {
    /// Why the call did not succeed, with the last lines of its output; `None` if it succeeded.
    pub(super) fn failure(&self, limit: Nanos) -> Option<String> {
        let how = match (self.late, self.status.signal(), self.status.code()) {
            (Some(Late::Asked), ..) => format!("it was not done after {limit} and was ended"),
            (Some(Late::Made), ..) => {
                format!("it was not done after {limit}, ignored SIGTERM for {GRACE} and was killed")
            }
            (None, Some(signal), _) => format!("it was killed by signal {signal}"),
            (None, None, Some(0)) => return None,
            (None, None, code) => format!("it ended with exit code {}", code.unwrap_or(-1)),
        };
        let said = last_lines(&self.errors).or_else(|| last_lines(&self.output));
        Some(format!("{how}; {}", said.unwrap_or_else(|| "it said nothing".to_owned())))
    }
}

/// The end of its output: enough to see why, short enough for a footnote.
fn last_lines(text: &str) -> Option<String> {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(4)..).filter(|lines| !lines.is_empty())?;
    Some(format!("its last words: {}", last.join(" / ")))
}

/// Reaps the child and reads the resources that it used.
fn wait(child: &Child) -> io::Result<(ExitStatus, u64)> {
    let pid = child.id().cast_signed();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    loop {
        // SAFETY: both are written by the kernel and live until it returns.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zero bytes are one, and the kernel has written it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), u64::try_from(usage.ru_maxrss).unwrap_or(0)))
}

/// The streams to and from a program.
struct Talk<'a> {
    input: Option<OwnedFd>,
    unsaid: &'a [u8],
    streams: [Option<OwnedFd>; 2],
    heard: [Vec<u8>; 2],
    /// Gets what comes from its standard output.
    hear: &'a mut dyn FnMut(&[u8]),
}

impl Talk<'_> {
    fn never_wait(&self) -> io::Result<()> {
        for stream in self.streams.iter().chain([&self.input]).flatten() {
            rustix::io::ioctl_fionbio(stream, true)?;
        }
        Ok(())
    }

    /// Waits for output, for the end, or for this long. Returns whether the program has ended.
    fn wait(&mut self, ended: std::os::fd::BorrowedFd<'_>, left: Nanos) -> io::Result<bool> {
        let timeout = rustix::event::Timespec {
            tv_sec: (left.0 / 1_000_000_000).cast_signed(),
            tv_nsec: (left.0 % 1_000_000_000).cast_signed(),
        };
        let over = {
            let mut files = vec![PollFd::new(&ended, PollFlags::IN)];
            files
                .extend(self.streams.iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)));
            if !self.unsaid.is_empty() {
                files.extend(self.input.iter().map(|file| PollFd::new(file, PollFlags::OUT)));
            }
            match poll(&mut files, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            !files[0].revents().is_empty()
        };
        self.say();
        self.drain();
        Ok(over)
    }

    fn say(&mut self) {
        if let Some(input) = &self.input
            && !self.unsaid.is_empty()
        {
            match rustix::io::write(input, self.unsaid) {
                Ok(count) => self.unsaid = &self.unsaid[count..],
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
                // A program that does not read its input gives the reason in its output.
                Err(_) => self.unsaid = &[],
            }
        }
        if self.unsaid.is_empty() {
            self.input = None;
        }
    }

    /// Reads all output that is available now.
    fn drain(&mut self) {
        let mut buffer = [0u8; 65536];
        for (nth, (stream, heard)) in self.streams.iter_mut().zip(&mut self.heard).enumerate() {
            while let Some(file) = stream {
                match rustix::io::read(&*file, &mut buffer[..]) {
                    Ok(0) => *stream = None,
                    Ok(got) => {
                        if nth == 0 {
                            (self.hear)(&buffer[..got]);
                        }
                        heard.extend_from_slice(&buffer[..got]);
                        if heard.len() > 2 * KEPT {
                            heard.drain(..heard.len() - KEPT);
                        }
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(rustix::io::Errno::AGAIN) => break,
                    Err(_) => *stream = None,
                }
            }
        }
    }
}
