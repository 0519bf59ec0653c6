//! One running QEMU: started so that it dies with this process, watched, and always ended.

mod happenings;
mod kernel_log;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use guest::region::{KERNEL_LOG_AT, KERNEL_LOG_BYTES, Region};
use serde_json::{Value, json};

pub(crate) use self::happenings::Happening;
use self::kernel_log::records_of;
use crate::error::LabError;
use crate::machine::{Emulator, Inherited, Machine, Use};
use crate::qmp::Monitor;

/// How long loading a checkpoint may take; normally it takes milliseconds.
const LOAD_LIMIT: Duration = Duration::from_secs(60);

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
    machine: Machine,
    /// Whether somebody else ended it with a signal.
    killed: bool,
}

/// Where a machine's software lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Software<'a> {
    pub(crate) emulator: &'a Emulator,
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
        let inherited = Inherited {
            ram: ram.as_raw_fd(),
            region: region.file().as_raw_fd(),
            monitor: theirs.as_raw_fd(),
            devices: devices.map_or(-1, AsRawFd::as_raw_fd),
        };
        let mut command = machine.command(
            software.emulator,
            software.kernel,
            software.initramfs,
            inherited,
            purpose,
        );
        pass_on(&mut command, inherited);
        let mut child = command.spawn().map_err(|error| {
            no_start(format!("{}: {error}", software.emulator.program().display()))
        })?;
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
            machine: *machine,
            killed: false,
        };
        vm.command("qmp_capabilities", Value::Null)?;
        Ok(vm)
    }

    /// The memory shared with the guest.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// The emulated machine.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
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

    /// Lets a stopped guest go on.
    ///
    /// # Errors
    /// As [`Vm::command`].
    pub(crate) fn go_on(&mut self) -> Result<(), LabError> {
        self.command("cont", Value::Null).map(drop)
    }

    /// Writes the state of the stopped guest's processor and devices to a file. Its RAM is in
    /// the file it was started with.
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
            let Inherited { ram, region, monitor, devices } = inherited;
            for file in [ram, region, monitor, devices] {
                if file >= 0 && libc::fcntl(file, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}
