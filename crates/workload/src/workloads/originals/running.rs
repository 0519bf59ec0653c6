//! Runs another program and follows its phases by its output: the times at which its messages
//! arrive are read from fstrial's clock, whatever the resolution of the program's own clock.

mod output;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use measure::{CpuTime, ProcessCpu, ProgramCpu, now};
use units::Nanos;

use self::output::{Attentive, hear, wait};
use crate::begun::Begun;
use crate::{Context, Failure, NotComparable, PhaseDescription, PhaseResult, Program};

/// A program with its arguments and what it reads from its standard input.
pub(super) struct Invocation {
    pub(super) program: Program,
    pub(super) arguments: Vec<OsString>,
    /// Where it runs.
    pub(super) directory: PathBuf,
    pub(super) input: String,
}

/// A message of the program, and what it means. Signs come in this order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sign {
    pub(super) text: &'static str,
    pub(super) meaning: Meaning,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// A phase of this many ops begins; the running phase, if any, ends.
    Begins(&'static PhaseDescription, u64),
    /// The running phase ends.
    Ends,
    /// Neither.
    Nothing,
}

/// Everything a program said.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) output: String,
    pub(super) errors: String,
}

/// A phase that the program has completed.
pub(super) struct Passed {
    begun: Begun,
    pub(super) phase: &'static PhaseDescription,
    pub(super) result: PhaseResult,
}

/// What is known about a program besides its signs.
pub(super) struct Knowledge<'a> {
    pub(super) signs: &'a [Sign],
    /// Finds an error in its output, for programs that print errors and continue.
    pub(super) complaint: fn(&str) -> Option<String>,
    /// What it means when it dies of this signal, if known.
    pub(super) death: fn(i32) -> Option<&'static str>,
}

/// Output longer than this cannot be a report.
const TEXT_MAX: usize = 16 << 20;
/// Free blocks below which a filesystem counts as full: programs that do not check the result of a
/// write continue as if nothing had happened.
const BLOCKS_LEFT: u64 = 16;

/// Runs a program through its phases. If all went well, `report` reads the program's output into
/// the results, which are then reported in order. `first` is the phase that begins with the
/// program, if there is one.
///
/// # Errors
/// When the program is missing, dies, prints an error or unexpected output, or leaves the
/// filesystem full. Phases completed by then are reported as completed.
pub(super) fn run(
    context: &mut Context<'_>,
    invocation: &Invocation,
    first: Option<(&'static PhaseDescription, u64)>,
    knowledge: &Knowledge<'_>,
    report: impl FnOnce(&Said, &mut [Passed]) -> Result<(), String>,
) -> Result<(), Failure> {
    let path = context.program(invocation.program)?;
    let mut command = Command::new(path);
    command
        .args(&invocation.arguments)
        .current_dir(&invocation.directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: between fork and exec only prctl is called, which is async-signal-safe and
    // touches no memory of ours.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut observer = Observer {
        program: invocation.program,
        knowledge,
        said: Said::default(),
        next: 0,
        heard: [0; 2],
        running: None,
        passed: Vec::new(),
    };
    let ended = observer.observe(context, &mut command, &invocation.input, first);
    observer.tell(context, ended, report)
}

/// Removes what a program leaves in the target, so that a workload after it finds it empty.
pub(super) fn sweep(context: &Context<'_>, name: &str) -> Result<(), Failure> {
    let path = context.target().join(name);
    let removed = match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path),
        Ok(_) => std::fs::remove_file(&path),
        Err(_) => Ok(()),
    };
    removed.map_err(|error| Failure::Input(format!("remove {}: {error}", path.display())))
}

struct Running {
    begun: Begun,
    phase: &'static PhaseDescription,
    start: Nanos,
    cpu: CpuTime,
    /// How much of each stream had been read.
    heard: [usize; 2],
}

struct Observer<'a> {
    program: Program,
    knowledge: &'a Knowledge<'a>,
    said: Said,
    /// The sign that comes next.
    next: usize,
    /// Where the search for it continues in each stream.
    heard: [usize; 2],
    running: Option<Running>,
    passed: Vec<Passed>,
}

/// A child that does not outlive this value.
struct Tended(Child);

impl Drop for Tended {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Observer<'_> {
    fn failed(&self, said: impl Into<String>) -> Failure {
        Failure::Program { program: self.program.name, said: said.into() }
    }

    /// Runs the program to its end. Returns when that was and the CPU it used in all.
    fn observe(
        &mut self,
        context: &mut Context<'_>,
        command: &mut Command,
        input: &str,
        first: Option<(&'static PhaseDescription, u64)>,
    ) -> Result<(), Failure> {
        let before = ProcessCpu::read_children();
        if let Some((phase, ops)) = first {
            self.begin(context, phase, ops, now(), CpuTime::default())?;
        }
        let child = command.spawn().map_err(|error| self.failed(error.to_string()))?;
        let mut child = Tended(child);
        let cpu = ProgramCpu::of(child.0.id());
        let _attentive = Attentive::new();
        if let Some(mut stdin) = child.0.stdin.take() {
            // A program that ended early gives the reason in its output.
            let _ = stdin.write_all(input.as_bytes());
        }
        let mut streams = (child.0.stdout.take(), child.0.stderr.take());
        while streams.0.is_some() || streams.1.is_some() {
            let ready = wait(&streams.0, &streams.1).map_err(|e| self.failed(e.to_string()))?;
            let at = now();
            if ready[0] && hear(&mut streams.0, &mut self.said.output) {
                streams.0 = None;
            }
            if ready[1] && hear(&mut streams.1, &mut self.said.errors) {
                streams.1 = None;
            }
            self.look_for_signs(context, at, &cpu)?;
            if self.said.output.len() + self.said.errors.len() > TEXT_MAX {
                return Err(self.failed("it prints more than a report can hold"));
            }
        }
        let status = child.0.wait().map_err(|error| self.failed(error.to_string()))?;
        let at = now();
        let all = ProcessCpu::read_children().since(before);
        self.judge(status)?;
        self.look_for_complaints([self.said.output.len(), self.said.errors.len()])?;
        if let Some(missing) = self.knowledge.signs.get(self.next) {
            return Err(self.failed(format!(
                "it ended without printing `{}`: not the version that is known here",
                missing.text
            )));
        }
        if self.running.is_some() {
            let until = [self.said.output.len(), self.said.errors.len()];
            self.end(context, at, all, until)?;
        }
        Ok(())
    }

    fn judge(&self, status: ExitStatus) -> Result<(), Failure> {
        if status.success() {
            return Ok(());
        }
        let known = status.signal().and_then(self.knowledge.death);
        let words = match known {
            Some(known) => format!("{status}: {known}"),
            None => format!("{status}: {}", last_lines(&self.said)),
        };
        Err(self.failed(words))
    }

    fn look_for_signs(
        &mut self,
        context: &mut Context<'_>,
        at: Nanos,
        cpu: &ProgramCpu,
    ) -> Result<(), Failure> {
        while let Some(sign) = self.knowledge.signs.get(self.next) {
            let texts = [&self.said.output, &self.said.errors];
            let found = (0..2).find_map(|stream| {
                let place = texts[stream].get(self.heard[stream]..)?.find(sign.text)?;
                Some((stream, self.heard[stream] + place + sign.text.len()))
            });
            let Some((stream, place)) = found else { break };
            self.heard[stream] = place;
            self.next += 1;
            let cpu = cpu.read().unwrap_or_default();
            if !matches!(sign.meaning, Meaning::Nothing) && self.running.is_some() {
                // What follows the sign, though read with it, is not this phase's.
                let mut until = texts.map(String::len);
                until[stream] = place;
                self.end(context, at, cpu, until)?;
            }
            if let Meaning::Begins(phase, ops) = sign.meaning {
                self.begin(context, phase, ops, at, cpu)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        context: &mut Context<'_>,
        phase: &'static PhaseDescription,
        ops: u64,
        start: Nanos,
        cpu: CpuTime,
    ) -> Result<(), Failure> {
        let begun = context.begin(phase, ops)?;
        self.running = Some(Running { begun, phase, start, cpu, heard: self.heard });
        Ok(())
    }

    /// Ends the phase, which printed what was read of each stream `until` here.
    fn end(
        &mut self,
        context: &Context<'_>,
        at: Nanos,
        cpu: CpuTime,
        until: [usize; 2],
    ) -> Result<(), Failure> {
        self.look_for_complaints(until)?;
        if let Ok(room) = rustix::fs::statvfs(context.target())
            && room.f_blocks > 0
            && room.f_bfree < BLOCKS_LEFT
        {
            return Err(self.failed("the filesystem is full; what it wrote may be lost"));
        }
        if let Some(running) = self.running.take() {
            self.passed.push(running.passed(context, at, cpu));
        }
        Ok(())
    }

    fn look_for_complaints(&self, until: [usize; 2]) -> Result<(), Failure> {
        let from = self.running.as_ref().map_or([0; 2], |running| running.heard);
        let texts = [&self.said.output, &self.said.errors];
        let complaint = (0..2)
            .find_map(|at| texts[at].get(from[at]..until[at]).and_then(self.knowledge.complaint));
        complaint.map_or(Ok(()), |complaint| Err(self.failed(complaint)))
    }

    /// Reports every phase: those completed, then the one in which it failed, then the rest as
    /// skipped.
    fn tell(
        mut self,
        context: &mut Context<'_>,
        ended: Result<(), Failure>,
        report: impl FnOnce(&Said, &mut [Passed]) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let ended = ended.and_then(|()| {
            report(&self.said, &mut self.passed).map_err(|problem| self.failed(problem))
        });
        let failed_in = match (&ended, self.running.take()) {
            (Err(_), Some(running)) => {
                let cpu = running.cpu;
                Some(running.passed(context, now(), cpu))
            }
            // The report of the program belongs to its last phase.
            (Err(_), None) => self.passed.pop(),
            (Ok(()), _) => None,
        };
        for passed in self.passed {
            context.finish(passed.begun, passed.result, Ok(()), |(), _| {})?;
        }
        let Err(failure) = ended else { return Ok(()) };
        let failure = match failed_in {
            None => failure,
            Some(passed) => {
                match context.finish(passed.begun, passed.result, Err(failure), |(), _| {}) {
                    Err(failure) => failure,
                    Ok(()) => return Ok(()),
                }
            }
        };
        context.skip_rest("a phase before it failed");
        Err(failure)
    }
}

impl Running {
    fn passed(self, context: &Context<'_>, at: Nanos, cpu: CpuTime) -> Passed {
        let mut result = self.begun.result(context.description().name);
        result.wall = at - self.start;
        result.cpu = cpu.since(self.cpu);
        if result.wall == Nanos::ZERO {
            let why = "too short to be timed: the program's messages for its beginning and its end \
                       arrived together";
            result.not_comparable = Some(NotComparable::Other { why: why.to_owned() });
        }
        Passed { begun: self.begun, phase: self.phase, result }
    }
}

/// The end of its output: enough to see why, short enough for a footnote.
fn last_lines(said: &Said) -> String {
    let text = if said.errors.trim().is_empty() { &said.output } else { &said.errors };
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join(" / ")
}
