//! Instead of workloads: a program saves files, the power is cut, and the filesystem is mounted in
//! each state that its disks may have been left in.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use crash::{
    Candidates, Checked, Expectation, Log, Lost, Part, Plan, Problem, Recorded, Run, Seen, Stage,
    State, Tape, Told, Tried, in_force, judge, pieces,
};
use serde::{Deserialize, Serialize};
use stack::Command;
use stack::filesystems::UpkeepRequest;

use super::cold::drop_device_buffers;
use super::mounting::Mounted;
use super::place::Stand;
use super::{Execution, Unguarded};
use crate::{Event, Job, Outcome, Step};

/// Between rounds, so that a filesystem commits: ext4 does every 5 s.
const PAUSE: Duration = Duration::from_secs(6);
/// After the last round: all that is written by itself is written then. Pages are written back after
/// 30 s, btrfs commits every 30 s.
const REST: Duration = Duration::from_secs(65);
/// States that are tried at most to find one with fewer writes lost.
const SHRINKING: usize = 60;
/// Findings that are shrunk at most.
const SHRUNK: usize = 6;

/// A program, and how often it does its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrashTask {
    /// A name of [`crash::PROGRAMS`].
    pub program: String,
    /// How often.
    pub rounds: u64,
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
        let (log, expectations) = self.recorded(cuts, mounted.path())?;
        self.step(Step::Unmount);
        // Nothing of it reaches the disks.
        mounted.unmount().map_err(|error| self.failed(error.to_string()))?;
        self.step(Step::Check);
        let plan = cuts.tape.plan().map_err(|error| self.failed(error))?;
        let recover = self.recovery(stand);
        Explorer { execution: self, tape: cuts.tape, stand, log, expectations, plan, recover }.run()
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

    /// Runs the program, and waits until the filesystem has written everything by itself.
    fn recorded(
        &self,
        cuts: &PowerCuts<'_>,
        mount_point: &Path,
    ) -> Result<(Log, Vec<Expectation>), Outcome> {
        let CrashTask { program, rounds } = cuts.task;
        let program = crash::program(program)
            .ok_or_else(|| self.failed(format!("there is no program `{program}`")))?;
        let io = |error: std::io::Error| self.failed(format!("{}: {error}", program.name));
        let directory = mount_point.join(DIRECTORY);
        std::fs::create_dir(&directory).map_err(io)?;
        let held = std::fs::File::open(&directory).map_err(io)?;
        held.sync_all().map_err(io)?;
        rustix::fs::syncfs(&held).map_err(|error| io(error.into()))?;
        drop(held);
        waiting::pause(PAUSE, "the filesystem commits");
        cuts.tape.record();
        let (mark, pause) =
            (|| cuts.tape.expected(), || waiting::pause(PAUSE, "the filesystem commits"));
        let run = Run::new(&directory, self.job.spec.seed.0, *rounds, &mark, &pause);
        let expectations = run.execute(program).map_err(io)?;
        waiting::pause(REST, "all is written by itself");
        Ok((cuts.tape.freeze(), expectations))
    }
}

/// The program's directory on the filesystem.
const DIRECTORY: &str = "files";

struct Explorer<'a, 'j> {
    execution: &'a Execution<'j>,
    tape: &'a dyn Tape,
    stand: &'a Stand<'a>,
    log: Log,
    expectations: Vec<Expectation>,
    plan: Plan,
    /// What is run before it is mounted.
    recover: Vec<Command>,
}

impl Explorer<'_, '_> {
    fn tell(&self, told: Told) {
        self.execution.tell(Event::Crash(told));
    }

    fn run(&self) -> Result<(), Outcome> {
        let Plan { cache, unit, states, seed, only } = &self.plan;
        let candidates = match only {
            None => crash::explore(&self.log, *cache, *unit, *states, *seed),
            Some(only) => Candidates {
                states: vec![vec![only.clone()]],
                moments: 1,
                possible: 1.0,
                complete: false,
            },
        };
        self.tell(Told::Recorded(Recorded {
            writes: self.log.writes.len(),
            flushes: self.log.flushes.len(),
            moments: candidates.moments,
            possible: candidates.possible,
            states: candidates.states.len(),
            complete: candidates.complete,
            digest: self.log.digest(),
        }));
        let mut known = HashSet::new();
        for (nth, same) in candidates.states.iter().enumerate() {
            let Some(first) = same.first() else { continue };
            self.tell(Told::Begins(first.clone()));
            let tried = self.attempt(first, same)?;
            let new = tried.problems().into_iter().find(|problem| !known.contains(problem));
            self.tell(Told::Tried(tried.clone()));
            let Some(new) = new.filter(|_| only.is_none() && known.len() < SHRUNK) else {
                continue;
            };
            known.insert(new.clone());
            if let Some(to) = self.shrink(&tried, &new)? {
                self.tell(Told::Shrunk { of: nth, to });
            }
        }
        Ok(())
    }

    /// Mounts the filesystem in a state, looks at the program's files, unmounts and checks. `same`
    /// are the states that leave the same disk.
    fn attempt(&self, state: &State, same: &[State]) -> Result<Tried, Outcome> {
        let Stand { plan, place, .. } = *self.stand;
        self.tape.set(pieces(&self.log, self.plan.cache, state));
        self.tape.timed(true);
        let began = measure::now();
        place.disks.iter().for_each(|disk| drop_device_buffers(disk));
        let mut tried = Tried {
            state: state.clone(),
            mounted: crash::Mounted::After(0),
            checked: Checked::Missing,
            lost: Vec::new(),
        };
        match self.mounted_again() {
            Err(why) => tried.mounted = crash::Mounted::Refused(why),
            Ok(mounted) => {
                tried.mounted = crash::Mounted::After((measure::now() - began).0);
                self.tell(Told::Stage(Stage::Look));
                tried.lost = self.judged(mounted.path(), same);
                self.tell(Told::Stage(Stage::Unmount));
                mounted.unmount().map_err(|error| self.execution.failed(error.to_string()))?;
            }
        }
        self.tell(Told::Stage(Stage::Check));
        // Nobody asks how long that takes.
        self.tape.timed(false);
        place.disks.iter().for_each(|disk| drop_device_buffers(disk));
        for command in &plan.check {
            match self.execution.programs.run(command) {
                Ok(_) if tried.checked == Checked::Missing => tried.checked = Checked::Clean,
                Ok(_) => {}
                Err(error) => tried.checked = Checked::Damaged(error.to_string()),
            }
        }
        match self.tape.trouble() {
            None => Ok(tried),
            Some(trouble) => Err(self.execution.failed(trouble)),
        }
    }

    /// Mounts it as Linux does when it boots.
    fn mounted_again(&self) -> Result<Mounted, String> {
        let Stand { plan, place, .. } = *self.stand;
        for command in &self.recover {
            self.execution.programs.run(command).map_err(|error| error.to_string())?;
            // What it wrote is in the device's page cache, and a filesystem may read past that.
            place.disks.iter().for_each(|disk| drop_device_buffers(disk));
        }
        Mounted::mount(&plan.mount, place.mount_point).map_err(|error| error.to_string())
    }

    /// What was lost, each with the first of these states in which it was.
    fn judged(&self, mount_point: &Path, same: &[State]) -> Vec<Lost> {
        let mut lost = Vec::<Lost>::new();
        for state in same {
            for expectation in in_force(&self.expectations, state.expected) {
                let seen = look(&mount_point.join(DIRECTORY).join(&expectation.path));
                // A promise comes first; what is relied on says nothing more about the same file.
                let known = |lost: &Lost| {
                    let of = &lost.expectation;
                    of == expectation
                        || (of.path == expectation.path && of.column < expectation.column)
                };
                if lost.iter().any(known) {
                    continue;
                }
                if let Some(found) = judge(expectation, &self.expectations, &seen) {
                    let expectation = expectation.clone();
                    lost.push(Lost { expectation, state: state.clone(), found });
                }
            }
        }
        lost
    }

    /// The same problem with fewer writes lost, if there is such a state.
    fn shrink(&self, from: &Tried, problem: &Problem) -> Result<Option<Tried>, Outcome> {
        let mut best = None;
        let mut state = from.state_of(problem).clone();
        let mut step = state.lost();
        let mut left = SHRINKING;
        while step > 0 && left > 0 {
            let lost = |state: &State| -> Vec<usize> {
                let parts = state.parts.iter().enumerate();
                parts.filter(|(_, (_, part))| *part != Part::All).map(|(nth, _)| nth).collect()
            };
            let mut at = 0;
            while at < state.lost() && left > 0 {
                left -= 1;
                let mut fewer = state.clone();
                for nth in lost(&state).into_iter().skip(at).take(step) {
                    fewer.parts[nth].1 = Part::All;
                }
                let tried = self.attempt(&fewer, std::slice::from_ref(&fewer))?;
                if tried.problems().contains(problem) {
                    (state, best) = (fewer, Some(tried));
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
        Ok(best)
    }
}

fn look(path: &Path) -> Seen {
    match std::fs::read(path) {
        Ok(bytes) => Seen::Bytes(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Seen::Absent,
        Err(error) => Seen::Unreadable(error.to_string()),
    }
}
