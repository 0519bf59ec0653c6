//! What happens to a running QEMU: its output, what its monitor says, and its end.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use guest::DOORBELL;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use testbed::Stop;

use super::Vm;
use crate::error::LabError;
use crate::qmp::Message;

/// How often the stop flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The most output of a program that is kept.
const SAID_MAX: usize = 64 << 10;
/// How long an emulator may take to be gone after its sockets have closed.
const ITS_END: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Something that happened to a guest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happening {
    /// It signalled that there is something to read in the shared region.
    Rang,
    /// It stopped at the checkpoint (or panicked, which looks the same to QEMU).
    Stopped,
    /// QEMU has ended, with the last of its output.
    Gone(String),
    /// Nothing happened until the given time.
    Nothing,
}

impl Vm {
    /// Waits until something happens, `until` comes, or `stop` is asked for.
    ///
    /// # Errors
    /// When asked to stop.
    pub(crate) fn wait(&mut self, until: Instant, stop: &Stop) -> Result<Happening, LabError> {
        loop {
            if stop.asked() {
                return Err(LabError::Stopped);
            }
            if !self.happened.is_empty() {
                return Ok(self.happened.remove(0));
            }
            if Instant::now() >= until {
                return Ok(Happening::Nothing);
            }
            let look_until = until.min(Instant::now() + LOOK_EVERY);
            if let Err(error) = self.look(look_until) {
                return Ok(Happening::Gone(error.to_string()));
            }
        }
    }

    /// Takes in what comes from QEMU, waiting no longer than `until`.
    pub(super) fn look(&mut self, until: Instant) -> io::Result<usize> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = rustix::event::Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let (talks, answers) = {
            let mut files = [
                PollFd::new(&self.output, PollFlags::IN),
                PollFd::new(&self.monitor, PollFlags::IN),
            ];
            match poll(&mut files, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            (!files[0].revents().is_empty(), !files[1].revents().is_empty())
        };
        if talks {
            let mut buffer = [0; 4096];
            let count = self.output.read(&mut buffer)?;
            self.hear(&buffer[..count]);
            if count == 0 && !answers {
                self.gone();
            }
        }
        if answers {
            match self.monitor.receive()? {
                None => self.gone(),
                Some(messages) => messages.into_iter().for_each(|message| self.take(message)),
            }
        }
        Ok(1)
    }

    fn hear(&mut self, bytes: &[u8]) {
        if bytes.contains(&DOORBELL) {
            self.happened.push(Happening::Rang);
        }
        let room = SAID_MAX.saturating_sub(self.said.len());
        self.said.extend(bytes.iter().filter(|&&byte| byte != DOORBELL).take(room));
    }

    fn take(&mut self, message: Message) {
        let is_reply = matches!(message, Message::Return(_) | Message::Error(_));
        if is_reply && self.unanswered > 0 {
            self.unanswered -= 1;
            return;
        }
        match message {
            Message::Return(value) => self.replies.push(Ok(value)),
            Message::Error(error) => self.replies.push(Err(error)),
            Message::Event(name, _) if name == "STOP" => self.happened.push(Happening::Stopped),
            Message::Event(..) => {}
        }
    }

    fn gone(&mut self) {
        let ended = self.ended_by_itself();
        self.collect_last_words();
        if !self.happened.iter().any(|what| matches!(what, Happening::Gone(_))) {
            let words = [ended.unwrap_or_default(), self.said_text()];
            let words: Vec<_> = words.into_iter().filter(|words| !words.is_empty()).collect();
            self.happened.push(Happening::Gone(words.join("; ")));
        }
    }

    /// How QEMU ended, unless this program ended it. Waits a moment, since QEMU's sockets close
    /// before the process ends.
    fn ended_by_itself(&mut self) -> Option<String> {
        use std::os::unix::process::ExitStatusExt;
        if let Ok(process) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) {
            let mut files = [PollFd::new(&process, PollFlags::IN)];
            let _ = poll(&mut files, Some(&ITS_END));
        }
        let status = self.child.try_wait().ok().flatten()?;
        match (status.signal(), status.code()) {
            (Some(signal), _) => {
                self.killed = matches!(signal, libc::SIGKILL | libc::SIGTERM);
                Some(format!("it was killed by signal {signal}"))
            }
            (None, Some(0) | None) => None,
            (None, Some(code)) => Some(format!("its exit code is {code}")),
        }
    }

    /// Reads the rest of QEMU's output; it has ended or is about to.
    pub(super) fn collect_last_words(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut rest = Vec::new();
        let _ = (&mut self.output).take(SAID_MAX as u64).read_to_end(&mut rest);
        self.hear(&rest);
        if let Some(errors) = self.child.stderr.take() {
            let _ = errors.take(SAID_MAX as u64).read_to_end(&mut self.said);
        }
    }

    /// The plain text output of guest and QEMU.
    pub(crate) fn said_text(&self) -> String {
        let said = String::from_utf8_lossy(&self.said);
        // QEMU warns about memory that does not begin at a multiple of 1 GiB and about state that
        // is loaded without a description. Neither matters here.
        let remarks = ["possibly poor performance", "Expected vmdescription section"];
        let lines = said.lines().filter(|line| !remarks.iter().any(|it| line.contains(it)));
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    }
}
