//! Instead of workloads: a program saves files, the power is cut, and the filesystem is mounted in
//! each state that its disks may have been left in.

mod attempt;
mod explorer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crash::{Column, Expectation, Memory, Run, Tape, Version};
use serde::{Deserialize, Serialize};
use stack::Command;
use stack::filesystems::UpkeepRequest;
use workload::Promising;

use self::attempt::{Attempts, Own};
use self::explorer::Explorer;
use super::mounting::Mounted;
use super::place::Stand;
use super::{Execution, Unguarded};
use crate::{Event, Job, Outcome, Step};

/// Between rounds, so that a filesystem commits: ext4 does every 5 s.
const PAUSE: Duration = Duration::from_secs(6);
/// After the last round: all that is written by itself is written then. Pages are written back after
/// 30 s, btrfs commits every 30 s.
const REST: Duration = Duration::from_secs(65);

/// What saves files before the power fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashTask {
    /// A program of [`crash::PROGRAMS`].
    Program {
        /// Its name.
        name: String,
        /// How often it does its work.
        rounds: u64,
    },
    /// A program of the user's own, by the text of its job. Its check is run in each state.
    Own(String),
}

/// What [`Execution::explore`] needs beside a job.
pub(super) struct PowerCuts<'a> {
    task: &'a CrashTask,
    tape: &'a dyn Tape,
}

/// Runs the task's program on the job's filesystem and tries the states that a power cut may leave.
/// The events are as in [`super::execute`], with [`Event::Crash`] for each state.
pub fn try_power_cuts(job: &Job, task: &CrashTask, tape: &dyn Tape, sink: &mut dyn FnMut(Event)) {
    let guard = Unguarded::default();
    let mut execution = Execution::of(job, &guard, sink);
    execution.cuts = Some(PowerCuts { task, tape });
    execution.to_its_end();
}

impl Execution<'_> {
    pub(super) fn explore(
        &self,
        cuts: &PowerCuts<'_>,
        stand: &Stand<'_>,
        mounted: Mounted,
    ) -> Result<(), Outcome> {
        let assembled = stand.place.layout.is_some_and(|layout| !layout.assemble.is_empty());
        if assembled || stand.plan.attachment.is_some() || stand.place.layout.is_none() {
            let reason = "power cuts are tried on filesystems that are mounted from simulated \
                          disks directly: not on pools, arrays, mappings and not in memory";
            return Err(Outcome::Refused { reason: reason.to_owned() });
        }
        self.step(Step::Settle);
        self.settle(stand)?;
        self.step(Step::Work);
        let directory = self.directory(mounted.path())?;
        let (expectations, own) = match cuts.task {
            CrashTask::Program { name, rounds } => {
                (self.run_program(cuts.tape, &directory, name, *rounds)?, None)
            }
            CrashTask::Own(job) => {
                let own = self.own(job, &directory)?;
                let (expectations, own) = self.run_own(cuts.tape, own)?;
                (expectations, Some(own))
            }
        };
        waiting::pause(REST, "all is written by itself");
        let log = cuts.tape.freeze();
        self.step(Step::Unmount);
        // Nothing of it reaches the disks.
        mounted.unmount().map_err(|error| self.failed(error.to_string()))?;
        self.step(Step::Check);
        let plan = cuts.tape.plan().map_err(|error| self.failed(error))?;
        let recover = self.recovery(stand);
        let attempts = Attempts {
            execution: self,
            tape: cuts.tape,
            stand,
            log,
            plan,
            expectations,
            own,
            recover,
            seen: Memory::default(),
            checked: Memory::default(),
        };
        Explorer::new(attempts).run()
    }

    fn recovery(&self, stand: &Stand<'_>) -> Vec<Command> {
        let asked = UpkeepRequest {
            plan: stand.plan,
            device: &stand.plan.mount.source,
            mount_point: &stand.place.mount_point.display().to_string(),
            size: units::Bytes::ZERO,
            snapshot: "",
        };
        stand.filesystem.upkeep(&asked).recover
    }

    /// The program's directory, which is there whatever is lost.
    fn directory(&self, mount_point: &Path) -> Result<PathBuf, Outcome> {
        let directory = mount_point.join(DIRECTORY);
        let made = || -> std::io::Result<()> {
            std::fs::create_dir(&directory)?;
            let held = std::fs::File::open(&directory)?;
            held.sync_all()?;
            Ok(rustix::fs::syncfs(&held)?)
        };
        made().map_err(|error| self.failed(format!("{}: {error}", directory.display())))?;
        waiting::pause(PAUSE, "the filesystem commits");
        Ok(directory)
    }

    fn run_program(
        &self,
        tape: &dyn Tape,
        directory: &Path,
        name: &str,
        rounds: u64,
    ) -> Result<Vec<Expectation>, Outcome> {
        let program = crash::program(name)
            .ok_or_else(|| self.failed(format!("there is no program `{name}`")))?;
        tape.record();
        let mark = || tape.expected();
        let pause = || waiting::pause(PAUSE, "the filesystem commits");
        let run = Run::new(directory, self.job.spec.seed.0, rounds, &mark, &pause);
        run.execute(program).map_err(|error| self.failed(format!("{name}: {error}")))
    }

    fn own(&self, job: &str, directory: &Path) -> Result<Promising, Outcome> {
        let archive = self.job.inputs.program.as_deref();
        let (directory, seed) = (directory.to_owned(), self.job.spec.seed);
        let own = Promising::new(job, archive, directory, seed, &self.job.tool_path)
            .map_err(|why| self.failed(why))?;
        own.prepare().map_err(|why| self.failed(why))?;
        Ok(own)
    }

    /// Runs the user's own program. One that promises nothing has done so at its end.
    fn run_own(
        &self,
        tape: &dyn Tape,
        program: Promising,
    ) -> Result<(Vec<Expectation>, Own), Outcome> {
        let mut promises = Vec::new();
        let mut promised = |text: &str| {
            promises.push(text.to_owned());
            tape.expected();
        };
        tape.record();
        program.run(&mut promised).map_err(|why| self.failed(why))?;
        if promises.is_empty() {
            tape.expected();
            promises.push("it has ended".to_owned());
        }
        let expectations = promises.iter().enumerate().map(|(nth, text)| Expectation {
            column: Column::Promised,
            path: format!("promise {}, {text}", nth + 1),
            allowed: vec![Version::Accepted],
            because: "its own check is to end with 0".to_owned(),
        });
        let expectations = expectations.collect();
        Ok((expectations, Own { program, promises }))
    }
}

/// The program's directory on the filesystem.
const DIRECTORY: &str = "files";
