//! Phases and ops from a script: the user's own, or one that is shipped under its own name.

mod script;
mod shipped;
mod worker;

pub(super) use self::shipped::{BUILD, PHOTOS};

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;
use units::Bytes;

use self::script::{Kind as Do, Phase, Script};
use self::worker::{Share, Worker};
use crate::engine::contents::{COMPRESSIBLE, DUPLICATE, Filling};
use crate::engine::file_io::open_target;
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::thread_group::phase_with_threads;
use crate::engine::walk;
use crate::typed::{CountParameter, DocumentParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, NotComparable, OpDescription, OpError,
    Parameters, PhaseDescription, PhaseResult,
};
use crate::{Space, Workload};

/// A workload whose phases and ops stand in a script.
pub(super) struct Scripted {
    description: &'static Description,
    /// The script; where there is none the parameter `file` has it.
    shipped: Option<&'static str>,
}

/// With the user's own script.
pub(super) static CUSTOM: Scripted = Scripted { description: &DESCRIPTION, shipped: None };

/// In the order of [`Do`].
const OPS: &[OpDescription] = &[
    OpDescription { name: "mkdir", span: "one mkdir" },
    OpDescription { name: "create", span: "create, writes of `block`, fsync if asked, close" },
    OpDescription { name: "write", span: "open, writes at a random place, fsync if asked, close" },
    OpDescription { name: "append", span: "open, writes at the end, fsync if asked, close" },
    OpDescription { name: "read", span: "open, reads from the start, close" },
    OpDescription { name: "stat", span: "one stat" },
    OpDescription { name: "list", span: "open, getdents, close of a directory" },
    OpDescription { name: "rename", span: "one rename" },
    OpDescription { name: "link", span: "one link" },
    OpDescription { name: "symlink", span: "one symlink" },
    OpDescription { name: "unlink", span: "one unlink" },
    OpDescription { name: "fsync", span: "open, fsync, close" },
    OpDescription { name: "truncate", span: "open, ftruncate, fsync if asked, close" },
    OpDescription { name: "think", span: "waiting" },
];

pub(super) const FILE: DocumentParameter =
    DocumentParameter::new("file", "The file with the phases.", &[], "");
const PERMILLE: CountParameter = CountParameter::new(
    "permille",
    "How many thousandths of each phase's `repeat` are done.",
    1,
    1_000_000,
    "1000",
)
.scaled();

static DESCRIPTION: Description = Description {
    name: "custom",
    summary: "your own phases and ops, from a TOML file",
    origin: "Our own. The file has phases, each with threads and a list of ops that every thread \
goes through `repeat` times; docs/howto/custom.md shows one. The file's text, not its name, is \
kept with the results, so that a run can be repeated.\n\n\
Each thread has its own files in its own directories, so that the work depends on the seed alone \
and not on which thread is faster. Files stay from phase to phase and are removed at the end, \
outside the clocks. An op that finds no file is left out and counted.",
    headline: Headline {
        question: "the given script",
        phase: "",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[FILE.row, PERMILLE.row, COMPRESSIBLE.row, DUPLICATE.row],
    // The phases come from the file.
    phases: &[],
};

const DIRECTORY: &str = "custom";

impl Scripted {
    fn script(&self, parameters: &Parameters) -> Result<Script, String> {
        Script::read(self.shipped.unwrap_or_else(|| parameters.get(&FILE)))
    }
}

impl Workload for Scripted {
    fn describe(&self) -> &'static Description {
        self.description
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        self.script(parameters).map(drop)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let Ok(script) = self.script(parameters) else { return Space::default() };
        let mut space = Space { bytes: Bytes::ZERO, inodes: 1 };
        for phase in &script.phase {
            let times = phase.threads.saturating_mul(repeat(phase, parameters));
            for step in &phase.op {
                let count = times.saturating_mul(step.count);
                let size = step.size.map_or(0, script::Size::mean);
                match step.kind {
                    Do::Create | Do::Append | Do::Truncate => {
                        space.bytes += Bytes(size.saturating_add(2048)) * count;
                        space.inodes = space.inodes.saturating_add(count);
                    }
                    Do::Mkdir | Do::Symlink => {
                        space.inodes = space.inodes.saturating_add(count);
                    }
                    _ => {}
                }
            }
        }
        space
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let script = self.script(context.parameters()).map_err(Failure::Input)?;
        let target = open_target(context.target())?;
        let outside = |error| Failure::Op { phase: "outside the phases", error };
        rustix::fs::mkdirat(&target, DIRECTORY, Mode::from_raw_mode(0o755))
            .map_err(|error| outside(OpError::new("mkdir", DIRECTORY, error)))?;
        drop(target);
        let done = phases(context, self.description, &script);
        let target = open_target(context.target())?;
        walk::remove(target.as_fd(), DIRECTORY, || ()).map_err(outside)?;
        done
    }
}

fn repeat(phase: &Phase, parameters: &Parameters) -> u64 {
    let permille = u128::from(parameters.get(&PERMILLE));
    u64::try_from(u128::from(phase.repeat) * permille / 1000).unwrap_or(u64::MAX).max(1)
}

/// The phase's description: for a shipped script the one in its table, otherwise made from the
/// script. It is leaked, since a trial's process runs only a handful of phases.
fn described(
    workload: &'static Description,
    script: &Script,
    phase: &Phase,
) -> &'static PhaseDescription {
    if let Some(known) = workload.phases.iter().find(|known| known.name == phase.name) {
        return known;
    }
    let clock = format!(
        "from the moment the threads are released until each has gone through its list{}; {}",
        if phase.sync { ", and a sync" } else { "; no sync" },
        if phase.cold { "begins cold where that can be done" } else { "no cache drop before" }
    );
    Box::leak(Box::new(PhaseDescription {
        name: Box::leak(phase.name.clone().into_boxed_str()),
        summary: Box::leak(script.summary.clone().into_boxed_str()),
        clock: Box::leak(clock.into_boxed_str()),
        ops: OPS,
        disk_bound: false,
    }))
}

fn phases(
    context: &mut Context<'_>,
    workload: &'static Description,
    script: &Script,
) -> Result<(), Failure> {
    let parameters = context.parameters().clone();
    let (seed, filling) = (context.seed(), Filling::of(&parameters));
    let shares_needed = script.phase.iter().map(|phase| phase.threads).max().unwrap_or(1);
    let root = context.target().to_owned();
    let mut shares: Vec<Share> =
        (0..shares_needed).map(|number| Share::new(number, seed, filling)).collect();
    {
        let target = open_target(&root)?;
        for share in &mut shares {
            share.begin(target.as_fd()).map_err(Failure::before)?;
        }
    }
    let mut sequence = KeepGoing::default();
    for phase in &script.phase {
        let description = described(workload, script, phase);
        if phase.cold {
            context.make_cold();
        }
        let target = open_target(&root)?;
        let repeat = repeat(phase, &parameters);
        let each: u64 = phase.op.iter().map(|step| step.count).sum();
        let block = phase.op.iter().map(|step| step.block.0).max().unwrap_or(1);
        // Each thread takes every share whose number, modulo the number of threads, is its own.
        let mut workers: Vec<Worker> =
            (0..phase.threads).map(|_| Worker::new(seed, filling, block)).collect();
        for (number, share) in shares.drain(..).enumerate() {
            workers[number % phase.threads as usize].shares.push(share);
        }
        let workers: Vec<_> = workers.into_iter().map(std::sync::Mutex::new).collect();
        let after = after_failure(context);
        let ended = phase_with_threads(
            context,
            description,
            phase.threads.saturating_mul(repeat).saturating_mul(each),
            workers.iter().collect(),
            |worker, group, recorder| {
                let mut worker = worker.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                worker.work(target.as_fd(), &phase.op, repeat, group, recorder)
            },
            |_| if phase.sync { sync(target.as_fd()) } else { Ok(()) },
            |left_out, result| {
                note(left_out, result);
                not_comparable(result, after);
            },
        );
        shares = workers
            .into_iter()
            .flat_map(|worker| {
                worker.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).shares
            })
            .collect();
        shares.sort_by_key(|share| share.number);
        sequence.take(ended)?;
    }
    if context.verify() && context.phases_failed().is_empty() {
        let target = open_target(&root)?;
        shares.iter_mut().try_for_each(|share| share.verify(target.as_fd()))?;
    }
    sequence.end()
}

fn sync(target: BorrowedFd<'_>) -> Result<(), OpError> {
    rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", DIRECTORY, error))
}

fn note(left_out: &[worker::LeftOut], result: &mut PhaseResult) {
    let empty: u64 = left_out.iter().map(|left| left.no_file).sum();
    let links: u64 = left_out.iter().map(|left| left.no_links).sum();
    if empty > 0 {
        result.notes.push(format!("{empty} ops were left out: there was no file"));
    }
    if links > 0 {
        let why = format!("this filesystem has no such links: {links} were left out");
        not_comparable(result, Some(NotComparable::Other { why }));
    }
}
