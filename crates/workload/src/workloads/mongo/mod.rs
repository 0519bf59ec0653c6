//! Mongo: trees of small files created, copied, linked, read, listed, renamed, deleted.

mod description;
mod fragments;
mod plan;
mod verify;
mod worker;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode};
use units::Bytes;

use self::description::{
    COPY, CREATE, DELETE, DESCRIPTION, FILES, MEDIAN, PROCESSES, READ, RENAME, REPETITIONS, STATS,
    SYMLINKS,
};
use self::fragments::note_fragments;
use self::plan::Plan;
use self::verify::verify;
use self::worker::{Work, Worker, copy, create, delete, read_all, rename, stats, symlinks};
use crate::engine::file_io::open_target;
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::thread_group::phase_with_threads;
use crate::engine::unsupported::is_unsupported;
use crate::engine::walk;
use crate::{
    Context, Description, Failure, InputFacts, NotComparable, OpError, Parameters,
    PhaseDescription, Space, Workload,
};

pub(super) struct Mongo;

const DIRECTORY: &str = "mongo";

impl Workload for Mongo {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (files, median) = (parameters.get(&FILES), parameters.get(&MEDIAN));
        let trees = parameters.get(&REPETITIONS) * parameters.get(&PROCESSES);
        let plan = Plan::draw(files, median);
        let entries = files + plan.directories.len() as u64;
        Space {
            bytes: Bytes(plan.bytes + 4096 * entries) * (2 * trees),
            // A link for each file of the first trees.
            inodes: 2 * trees * entries + trees * files + 1,
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let plan = Plan::draw(parameters.get(&FILES), parameters.get(&MEDIAN));
    let (repetitions, processes) = (parameters.get(&REPETITIONS), parameters.get(&PROCESSES));
    let target: OwnedFd = open_target(context.target())?;
    let target = target.as_fd();
    let absolute = context.target().as_os_str().as_encoded_bytes().to_owned();
    rustix::fs::mkdirat(target, DIRECTORY, Mode::from_raw_mode(0o755))
        .map_err(|error| Failure::before(OpError::new("mkdir", DIRECTORY, error)))?;
    let sequence = KeepGoing::default();
    Run {
        target,
        plan: &plan,
        absolute: &absolute,
        repetitions,
        processes,
        sequence,
        lacking: None,
    }
    .phases(context)
}

/// What the phases share.
struct Run<'a> {
    target: BorrowedFd<'a>,
    plan: &'a Plan,
    absolute: &'a [u8],
    repetitions: u64,
    processes: u64,
    sequence: KeepGoing,
    /// Why there are no symbolic links, if so.
    lacking: Option<String>,
}

impl Run<'_> {
    fn phases(mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        let (target, plan) = (self.target, self.plan);
        let trees = self.repetitions * self.processes;
        let entries = plan.files + plan.directories.len() as u64;
        if !self.phase(context, &CREATE, trees * entries, &["testdir1"], &create)? {
            walk::remove(target, DIRECTORY, || ()).map_err(Failure::after)?;
            context.skip_rest("the trees could not be made");
            return self.sequence.end();
        }
        let both = ["testdir1", "testdir2"];
        let copied = self.phase(context, &COPY, trees * entries, &both, &copy)?;
        self.lacking = probe_symlinks(target).err();
        match &self.lacking {
            Some(reason) => context.skip(&SYMLINKS, reason),
            None => {
                self.phase(context, &SYMLINKS, trees * plan.files, &[], &symlinks)?;
            }
        }
        let copies = if copied { 2 } else { 1 };
        let links = u64::from(self.lacking.is_none()) * trees * plan.files;
        let all = copies * trees * entries + links;
        self.phase(context, &READ, trees * copies * trees * plan.files, &[], &read_all)?;
        // The directory of the trees is an entry, too.
        self.phase(context, &STATS, trees * (all + 1), &[], &stats)?;
        self.phase(context, &RENAME, trees * plan.files, &[], &rename)?;
        if context.verify() {
            verify(target, plan, copies * trees, copied)?;
        }
        self.phase(context, &DELETE, all, &[], &delete)?;
        // Removing what a failed copy left belongs to no phase.
        walk::remove(target, DIRECTORY, || ()).map_err(Failure::after)?;
        self.sequence.end()
    }

    /// Runs one phase and a sync after it; returns whether all of it was done. Fragments are
    /// counted below trees of the names `parts`.
    fn phase(
        &mut self,
        context: &mut Context<'_>,
        phase: &'static PhaseDescription,
        ops: u64,
        parts: &[&str],
        work: Work<'_>,
    ) -> Result<bool, Failure> {
        let lacking = self.lacking.as_ref();
        let without = lacking.map(|reason| NotComparable::Other {
            why: format!("without the symbolic links: {reason}"),
        });
        let after = after_failure(context).or(without);
        let ended = phase_with_threads(
            context,
            phase,
            ops,
            self.workers(),
            |worker, group, recorder| work(&worker, group, recorder),
            |_| Ok(()),
            |_, result| {
                not_comparable(result, after);
                if !parts.is_empty() {
                    note_fragments(self.target, parts, result);
                }
            },
        );
        let done = self.sequence.take(ended)?.is_some();
        rustix::fs::syncfs(self.target).map_err(|error| Failure::Op {
            phase: phase.name,
            error: OpError::new("syncfs", DIRECTORY, error),
        })?;
        Ok(done)
    }

    fn workers(&self) -> Vec<Worker<'_>> {
        (1..=self.processes)
            .map(|process| Worker {
                target: self.target,
                plan: self.plan,
                absolute: self.absolute,
                trees: (1..=self.repetitions).map(|i| format!("{i}-{process}")).collect(),
            })
            .collect()
    }
}

/// Whether the filesystem supports symbolic links; if not, why. A lack of room for one is left to
/// the phase to report.
fn probe_symlinks(target: BorrowedFd<'_>) -> Result<(), String> {
    let probe = "mongo/probe";
    match rustix::fs::symlinkat("x", target, probe)
        .and_then(|()| rustix::fs::unlinkat(target, probe, AtFlags::empty()))
    {
        Err(error) if is_unsupported(error) => {
            Err(format!("this filesystem takes no symbolic links: {error}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
