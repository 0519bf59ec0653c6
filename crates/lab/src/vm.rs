//! One running QEMU: started so that it dies with this process, watched, and always ended.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use guest::DOORBELL;
use guest::region::{KERNEL_LOG_AT, KERNEL_LOG_BYTES, Region};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use testbed::Stop;

use crate::emulator::flush_clock;
use crate::error::LabError;
use crate::machine::{Inherited, Machine, Price, Qemu, Use};
use crate::one_core::OneCore;
use crate::qmp::{Message, Monitor};

/// How often the stop flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Lines of a kernel log that are kept: an oops with its call trace, and what led to it.
const KERNEL_LOG_LINES: usize = 120;
/// How long loading a checkpoint may take; normally it takes milliseconds.
const LOAD_LIMIT: Duration = Duration::from_secs(60);
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

/// Time spent on the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Wall time.
    pub wall: Duration,
    /// Processor time of the emulator, user and system.
    pub processor: Duration,
}

impl Spent {
    /// What was spent after `before`.
    pub fn since(self, before: Spent) -> Spent {
        Spent {
            wall: self.wall.saturating_sub(before.wall),
            processor: self.processor.saturating_sub(before.processor),
        }
    }
}

/// A running QEMU and the region it shares with us.
pub(crate) struct Vm {
    child: Child,
    output: ChildStdout,
    monitor: Monitor,
    region: Region,
    said: Vec<u8>,
    happened: Vec<Happening>,
    replies: Vec<Result<Value, String>>,
    /// Commands whose reply was no longer waited for.
    unanswered: usize,
    price: Price,
    /// Whether somebody else ended it with a signal.
    killed: bool,
    /// The processor of its threads, if they are all bound to one.
    core: Option<OneCore>,
}

/// Where a machine's software lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Software<'a> {
    /// Runs trials.
    pub(crate) qemu: &'a Qemu,
    /// Boots guests: one whose clock counts whole nanoseconds.
    pub(crate) boots: &'a Qemu,
    pub(crate) kernel: &'a Path,
    pub(crate) initramfs: &'a Path,
}

impl Vm {
    /// Starts a machine with its RAM in `ram`: one that boots, or, with the state of its
    /// devices in a file, one that goes on from there. It shares `region` with us.
    ///
    /// # Errors
    /// When QEMU cannot be started.
    pub(crate) fn start(
        machine: &Machine,
        software: Software<'_>,
        purpose: Use,
        ram: &File,
        devices: Option<&File>,
        region: io::Result<Region>,
    ) -> Result<Vm, LabError> {
        let no_start = |reason: String| LabError::NoStart { reason, kernel_log: String::new() };
        let region =
            region.map_err(|error| no_start(format!("room for the simulated disks: {error}")))?;
        let (ours, theirs) = UnixStream::pair().map_err(|error| no_start(error.to_string()))?;
        let theirs = OwnedFd::from(theirs);
        let library = flush_clock::library()
            .map_err(|error| no_start(format!("memory for a library: {error}")))?;
        let inherited = Inherited {
            ram: ram.as_raw_fd(),
            region: region.file().as_raw_fd(),
            monitor: theirs.as_raw_fd(),
            devices: devices.map_or(-1, AsRawFd::as_raw_fd),
            flush_clock: library.as_raw_fd(),
        };
        let mut command = machine.command(
            software.qemu,
            software.kernel,
            software.initramfs,
            inherited,
            purpose,
        )?;
        pass_on(&mut command, inherited);
        let mut child = command
            .spawn()
            .map_err(|error| no_start(format!("{}: {error}", software.qemu.program().display())))?;
        drop(theirs);
        let output = child.stdout.take().ok_or_else(|| no_start("no output".to_owned()))?;
        let mut vm = Vm {
            child,
            output,
            monitor: Monitor::new(ours),
            region,
            said: Vec::new(),
            happened: Vec::new(),
            replies: Vec::new(),
            unanswered: 0,
            price: machine.price,
            killed: false,
            core: None,
        };
        vm.command("qmp_capabilities", Value::Null)?;
        // Now there are all its threads.
        vm.core = (purpose != Use::RealTime).then(|| OneCore::of(vm.child.id())).flatten();
        if purpose != Use::RealTime && !flush_clock::is_loaded(vm.child.id()) {
            let program = software.qemu.program().display();
            let said = vm.said_text();
            return Err(no_start(format!(
                "{program} did not load the library that keeps the host's clock out of it; it said: {said}"
            )));
        }
        Ok(vm)
    }

    /// The memory shared with the guest.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// The virtual time of an instruction.
    pub(crate) fn price(&self) -> Price {
        self.price
    }

    /// Whether a user or the host's kernel killed the emulator.
    pub(crate) fn was_killed(&self) -> bool {
        self.killed
    }

    /// What was spent since `began`, when this emulator did not run yet.
    pub(crate) fn spent(&self, began: Instant) -> Spent {
        Spent { wall: began.elapsed(), processor: self.processor_time() }
    }

    /// Processor time of the emulator; zero when it has gone.
    pub(crate) fn processor_time(&self) -> Duration {
        // SAFETY: both calls write only into the values passed to them.
        unsafe {
            let mut clock = 0;
            let mut time: libc::timespec = std::mem::zeroed();
            if libc::clock_getcpuclockid(self.child.id() as libc::pid_t, &mut clock) != 0
                || libc::clock_gettime(clock, &mut time) != 0
            {
                return Duration::ZERO;
            }
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        }
    }

    /// Whether every thread of the emulator waits for something, and none for a processor or
    /// for memory of the host.
    pub(crate) fn sleeps(&self) -> bool {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.child.id())) else {
            return false;
        };
        threads.flatten().all(|thread| {
            // `stat`: number, name in brackets, state.
            let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            text.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
        })
    }

    /// Instructions the guest has executed.
    ///
    /// # Errors
    /// As [`Vm::command`].
    pub(crate) fn instructions(&mut self) -> Result<u64, LabError> {
        let state = self.command("query-replay", Value::Null)?;
        state.get("icount").and_then(Value::as_u64).ok_or_else(|| LabError::Program {
            command: "QEMU: query-replay".to_owned(),
            said: "no count of instructions".to_owned(),
            next: None,
        })
    }

    /// Sends a command and waits for its result.
    ///
    /// # Errors
    /// QEMU's own, or that it has gone.
    pub(crate) fn command(&mut self, name: &str, arguments: Value) -> Result<Value, LabError> {
        let failed =
            |said: String| LabError::Program { command: format!("QEMU: {name}"), said, next: None };
        let sent = self.monitor.send(name, arguments);
        self.reply(sent, name).map_err(failed)
    }

    fn reply(&mut self, sent: io::Result<()>, name: &str) -> Result<Value, String> {
        let end = Instant::now() + Duration::from_secs(60);
        if sent.is_ok() {
            loop {
                if !self.replies.is_empty() {
                    return self.replies.remove(0);
                }
                if self.look(end).map_err(|error| error.to_string())? == 0 && Instant::now() > end {
                    self.unanswered += 1;
                    return Err(format!("no answer to {name} within a minute"));
                }
                if self.happened.iter().any(|what| matches!(what, Happening::Gone(_))) {
                    break;
                }
            }
        }
        self.collect_last_words();
        Err(match self.said_text() {
            said if said.is_empty() => "QEMU ended".to_owned(),
            said => said,
        })
    }

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
            if let Some(core) = &mut self.core {
                core.look();
            }
            let look_until = until.min(Instant::now() + LOOK_EVERY);
            if let Err(error) = self.look(look_until) {
                return Ok(Happening::Gone(error.to_string()));
            }
        }
    }

    /// Takes in what comes from QEMU, waiting no longer than `until`.
    fn look(&mut self, until: Instant) -> io::Result<usize> {
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
    fn collect_last_words(&mut self) {
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

    /// Lets a stopped guest go on.
    ///
    /// # Errors
    /// As [`Vm::command`].
    pub(crate) fn go_on(&mut self) -> Result<(), LabError> {
        self.command("cont", Value::Null).map(drop)
    }

    /// Writes the state of the stopped guest's processor and devices to a file. Its RAM is in
    /// the file it was started with. (QEMU's own migration cannot save a machine that runs
    /// under the replay lock.)
    ///
    /// # Errors
    /// QEMU's reason; the file may hold a part then.
    pub(crate) fn save_devices(&mut self, path: &Path) -> Result<(), LabError> {
        let arguments = json!({ "filename": path, "live": false });
        self.command("xen-save-devices-state", arguments).map(drop)
    }

    /// Waits until the state of its devices is loaded.
    ///
    /// # Errors
    /// When it is damaged or of another machine.
    pub(crate) fn loaded(&mut self) -> Result<(), LabError> {
        let failed = |said: &str| LabError::Program {
            command: "QEMU: loading the checkpoint".to_owned(),
            said: said.to_owned(),
            next: None,
        };
        let end = Instant::now() + LOAD_LIMIT;
        loop {
            let state = self.command("query-migrate", Value::Null)?;
            match state.get("status").and_then(Value::as_str) {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    let reason = state.get("error-desc").and_then(Value::as_str);
                    return Err(failed(reason.unwrap_or("no reason given")));
                }
                _ if Instant::now() > end => return Err(failed("not done after a minute")),
                _ => {
                    let _ = self.look(Instant::now() + Duration::from_millis(2));
                }
            }
        }
    }

    /// The kernel's log as `ramoops` left it; empty when there was no oops or panic.
    pub(crate) fn kernel_log(&self) -> String {
        let Ok(window) = self.region.map(KERNEL_LOG_AT, KERNEL_LOG_BYTES) else {
            return String::new();
        };
        records_of(window.bytes())
    }

    /// Makes a kernel that does not respond write its log and end.
    pub(crate) fn shake(&mut self) {
        let _ = self.command("inject-nmi", Value::Null);
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes QEMU inherit these files and end when this process ends.
fn pass_on(command: &mut Command, inherited: Inherited) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    // SAFETY: between fork and exec only prctl and fcntl are called, which are
    // async-signal-safe and touch no memory of ours.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let Inherited { ram, region, monitor, devices, flush_clock } = inherited;
            for file in [ram, region, monitor, devices, flush_clock] {
                if file >= 0 && libc::fcntl(file, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// The records of a `ramoops` area: each begins with a header of signature, start and length
/// (Linux, fs/pstore/ram_core.c), then `Panic#1 Part1` and the log. The signature was written
/// when the guest booted, into the region it had then; after a checkpoint it is missing.
fn records_of(area: &[u8]) -> String {
    const HEADER: usize = 12;
    let mut text = String::new();
    for record in area.chunks(KERNEL_LOG_BYTES as usize / 2) {
        let length = record.get(8..HEADER).and_then(|word| word.try_into().ok());
        let Some(length) = length.map(u32::from_le_bytes).filter(|&length| length > 0) else {
            continue;
        };
        let body = record.get(HEADER..HEADER + length as usize).unwrap_or_default();
        text.push_str(&String::from_utf8_lossy(body));
    }
    // Boot messages are the same every time and say nothing about how the kernel ended.
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(KERNEL_LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_log_is_found_with_and_without_its_signature() {
        let mut area = vec![0; KERNEL_LOG_BYTES as usize];
        assert_eq!(records_of(&area), "");
        area[8] = 5;
        area[12..17].copy_from_slice(b"Panic");
        assert_eq!(records_of(&area), "Panic");
        let second = KERNEL_LOG_BYTES as usize / 2;
        area[second..second + 4].copy_from_slice(b"DBGC");
        area[second + 8] = 2;
        area[second + 12..second + 14].copy_from_slice(b"ab");
        assert_eq!(records_of(&area), "Panicab");
    }
}
