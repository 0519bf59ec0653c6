//! Bonnie++: one large file, then many small ones.

mod csv;
mod description;
mod large;
pub(super) mod parameters;
mod small;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, OwnedFd};

use units::Bytes;

pub use self::csv::{BonnieCsv, bonnie_csv};
use self::description::{
    DESCRIPTION, FSYNC, LARGE_PHASES, LINKS, MANNER, Manner, READ_BLOCK, READ_CHAR, REWRITE,
    SEEKERS, SEEKS, SEEKS_PARAMETER, SIZE, SMALL_PHASES, WRITE_BLOCK, WRITE_CHAR,
};
use self::large::{Large, Seeks};
use self::small::Small;
use crate::engine::cold_cache::COLD;
use crate::engine::file_io::open_target;
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::thread_group::phase_with_threads;
use crate::engine::walk;
use crate::{
    Context, Description, Failure, InputFacts, OpError, Parameters, PhaseDescription, PhaseResult,
    Recorder,
};
use crate::{Space, Workload};

pub(super) struct Bonnie;

/// Name of the large file.
const FILE: &str = "Bonnie.1";

impl Workload for Bonnie {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let files = parameters.get(&parameters::FILES) * 1024;
        let each = parameters.get(&parameters::MAX_SIZE).0.div_ceil(4096) * 4096;
        let small = Bytes(each) * files + Bytes(4096) * parameters.get(&parameters::DIRECTORIES);
        Space {
            bytes: parameters.get(&SIZE).max(small),
            inodes: files + parameters.get(&parameters::DIRECTORIES) + 2,
        }
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let (size, chunk) = (parameters.get(&SIZE), parameters.get(&parameters::CHUNK));
        if size > Bytes::ZERO && size < chunk {
            return Err(format!("size={size} is below chunk={chunk}; 0 leaves the large file out"));
        }
        check(parameters)
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// Whether the sizes fit each other.
///
/// # Errors
/// With a sentence that names the size that does not.
pub(super) fn check(parameters: &Parameters) -> Result<(), String> {
    let chunk = parameters.get(&parameters::CHUNK);
    if !chunk.0.is_power_of_two() {
        return Err(format!("chunk={chunk} is no power of two"));
    }
    let (min, max) = (parameters.get(&parameters::MIN_SIZE), parameters.get(&parameters::MAX_SIZE));
    match min > max {
        true => Err(format!("min_size={min} is above max_size={max}")),
        false => Ok(()),
    }
}

fn seekers(parameters: &Parameters) -> u64 {
    match (parameters.get(&SEEKERS), parameters.get(&MANNER)) {
        (0, Manner::V103a) => 3,
        (0, Manner::V200a) => 5,
        (given, _) => given,
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let chunk = parameters.get(&parameters::CHUNK).0;
    let (min, max) =
        (parameters.get(&parameters::MIN_SIZE).0, parameters.get(&parameters::MAX_SIZE).0);
    let size = parameters.get(&SIZE).0 / chunk * chunk;
    let large = Large {
        manner: parameters.get(&MANNER),
        size,
        chunk: chunk as usize,
        fsync: parameters.get(&FSYNC),
        cold: parameters.get(&COLD),
    };
    let small = Small {
        manner: large.manner,
        files: parameters.get(&parameters::FILES) as u32 * 1024,
        min: min as u32,
        max: max as u32,
        directories: parameters.get(&parameters::DIRECTORIES) as u32,
        chunk: large.chunk,
        links: parameters.get(&LINKS),
        fsync: large.fsync,
    };
    let mut sequence = KeepGoing::default();
    if size == 0 {
        skip(context, LARGE_PHASES, "not asked for");
    } else {
        large_file(context, &mut sequence, large)?;
    }
    if small.files == 0 {
        skip(context, SMALL_PHASES, "not asked for");
    } else {
        small_files(context, &mut sequence, small)?;
    }
    sequence.end()
}

fn skip(context: &mut Context<'_>, phases: &'static [&'static PhaseDescription], reason: &str) {
    for phase in phases {
        context.skip(phase, reason);
    }
}

/// Adds the original's figures: a rate under its name, and its share of CPU.
pub(super) fn figures(result: &mut PhaseResult, name: &str, count: f64) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    result.figures.insert(name.to_owned(), count / seconds);
    let cpu = result.cpu.total().0 as f64 / result.wall.0.max(1) as f64 * 100.0;
    result.figures.insert("cpu_percent".to_owned(), cpu);
}

/// Twice the memory that files can be cached in, in bytes; `None` where the kernel does not report
/// it.
fn twice_the_memory() -> Option<u64> {
    Some(measure::usable_memory()?.0.saturating_mul(2))
}

/// Whether the file is smaller than `twice` the memory, where that is known, and no phase begins
/// with an empty cache.
fn caches_matter(large: Large, twice: Option<u64>) -> bool {
    !large.cold && twice.is_some_and(|memory| large.size < memory)
}

/// Ops of a phase that goes byte by byte.
fn char_ops(large: Large) -> u64 {
    match large.manner {
        Manner::V103a => large.bytes_by_char().div_ceil(4096),
        Manner::V200a => large.bytes_by_char(),
    }
}

fn large_file(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    large: Large,
) -> Result<(), Failure> {
    let mut buffer = vec![1; large.chunk];
    let small_for_memory = caches_matter(large, twice_the_memory());
    let mut one = |context: &mut Context<'_>,
                   phase: &'static PhaseDescription,
                   ops: u64,
                   new: bool,
                   body: &mut Body<'_>| {
        let after = after_failure(context);
        let target = begin(context, large, new)?;
        let opened = large.open(target.as_fd(), new);
        let ended = context.phase_with(
            phase,
            ops,
            |recorder| body(opened?, recorder),
            |(), result| {
                let bytes = result.read_bytes.0.max(result.write_bytes.0);
                figures(result, "k_per_sec", bytes as f64 / 1024.0);
                if small_for_memory {
                    let note = "the file is smaller than twice the memory: caches matter";
                    result.notes.push(note.to_owned());
                }
                not_comparable(result, after);
            },
        );
        sequence.take(ended).map(|done| done.is_some())
    };
    let chunks = large.size / large.chunk as u64;
    let chars = char_ops(large);
    let fast = context.parameters().get(&parameters::FAST);
    if fast {
        context.skip(&WRITE_CHAR, "not asked for");
    } else {
        one(context, &WRITE_CHAR, chars, true, &mut |files, r| large.write_chars(files, r))?;
        remove(context, large)?;
    }
    let written = one(context, &WRITE_BLOCK, chunks, true, &mut |files, r| {
        large.write_blocks(files, &mut buffer, r)
    })?;
    if !written {
        remove(context, large)?;
        skip(context, &LARGE_PHASES[2..], "the file could not be written");
        return Ok(());
    }
    let rewritten = one(context, &REWRITE, chunks, false, &mut |files, r| {
        large.rewrite(files, &mut buffer, r)
    })?;
    if fast {
        context.skip(&READ_CHAR, "not asked for");
    } else {
        one(context, &READ_CHAR, chars, false, &mut |files, r| large.read_chars(files, r))?;
    }
    one(context, &READ_BLOCK, chunks, false, &mut |files, r| {
        large.read_blocks(files, &mut buffer, r)
    })?;
    let sought = seek(context, large);
    sequence.take(sought)?;
    if context.verify() && rewritten {
        let target = open_target(context.target())?;
        large
            .verify(target.as_fd())
            .map_err(|why| Failure::Verify(format!("the large file: {why}")))?;
    }
    remove(context, large)
}

/// Opens the target for a phase, `new` if that makes the file. Nothing else of the target may
/// be open, so that its cache can be emptied.
fn begin(context: &mut Context<'_>, large: Large, new: bool) -> Result<OwnedFd, Failure> {
    if large.cold && !new {
        context.make_cold();
    }
    open_target(context.target())
}

fn remove(context: &Context<'_>, large: Large) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    large.remove(target.as_fd()).map_err(|error| Failure::Op { phase: "before it", error })
}

/// A phase on the large file.
type Body<'a> = dyn FnMut(large::Files, &mut Recorder<'_>) -> Result<(), OpError> + 'a;

fn seek(context: &mut Context<'_>, large: Large) -> Result<(), Failure> {
    let target = begin(context, large, false)?;
    let target = target.as_fd();
    let parameters = context.parameters();
    let count = parameters.get(&SEEKS_PARAMETER);
    let seeks = Seeks::draw(context.seed(), count, large, context.verify());
    let mut workers = Vec::new();
    for _ in 0..seekers(parameters) {
        let files =
            large.open(target, false).map_err(|error| Failure::Op { phase: SEEKS.name, error })?;
        workers.push((files, vec![1; large.chunk]));
    }
    let after = after_failure(context);
    phase_with_threads(
        context,
        &SEEKS,
        count,
        workers,
        |(files, mut buffer), group, recorder| {
            seeks.perform(large, target, files, &mut buffer, group, recorder)
        },
        |recorder| {
            seeks.digest(recorder);
            Ok(())
        },
        |rewritten, result| {
            figures(result, "seeks_per_sec", count as f64);
            result.figures.insert("rewritten".to_owned(), rewritten.iter().sum::<u64>() as f64);
            not_comparable(result, after);
        },
    )?;
    Ok(())
}

fn small_files(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    small: Small,
) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    let target = target.as_fd();
    if let Err(reason) = small.probe_links(target) {
        skip(context, SMALL_PHASES, &reason);
        return Ok(());
    }
    let mut buffer = vec![1; small.chunk];
    let mut contents = vec![1; small.chunk];
    contents.fill(0);
    let before = |error| Failure::Op { phase: "before it", error };
    let mut orders = context.seed().stream("bonnie orders");
    let count = u64::from(small.files);
    for random in [false, true] {
        let mut one =
            |context: &mut Context<'_>,
             phase: &'static PhaseDescription,
             body: &mut dyn FnMut(&mut Recorder<'_>) -> Result<(), OpError>| {
                let after = after_failure(context);
                let ended = context.phase_with(
                    phase,
                    count,
                    |recorder| body(recorder),
                    |(), result| {
                        figures(result, "files_per_sec", count as f64);
                        not_comparable(result, after);
                    },
                );
                sequence.take(ended).map(|done| done.is_some())
            };
        let phases = &SMALL_PHASES[if random { 3..6 } else { 0..3 }];
        let mut files = small.draw(context.seed(), random);
        let own = small.make_directories(target).map_err(before)?;
        let own = own.as_fd();
        if !one(context, phases[0], &mut |r| small.create(own, &files, &contents, r))? {
            walk::remove(target, small::DIRECTORY, || ()).map_err(before)?;
            skip(context, &phases[1..], "the files could not be created");
            continue;
        }
        orders.shuffle(&mut files);
        one(context, phases[1], &mut |recorder| {
            if random {
                small.stat_in_order(own, &files, &mut buffer, recorder)
            } else {
                small.stat_listed(own, &mut buffer, recorder)
            }
        })?;
        orders.shuffle(&mut files);
        one(context, phases[2], &mut |recorder| {
            if random {
                small.delete_in_order(target, own, &files, recorder)
            } else {
                small.delete_listed(target, own, recorder)
            }
        })?;
        walk::remove(target, small::DIRECTORY, || ()).map_err(before)?;
    }
    Ok(())
}
