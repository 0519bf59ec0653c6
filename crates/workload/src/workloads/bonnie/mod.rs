//! Bonnie++: one large file, then many small ones.

mod csv;
mod large;
pub(super) mod parameters;
mod small;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, OwnedFd};

use units::Bytes;

pub use self::csv::{BonnieCsv, bonnie_csv};
use self::large::{Large, Seeks};
use self::small::{Links, Small};
use crate::engine::cold_cache::COLD;
use crate::engine::file_io::open_target;
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::thread_group::phase_with_threads;
use crate::engine::walk;
use crate::typed::{ChoiceParameter, CountParameter, SizeParameter, SwitchParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, OpDescription, OpError, Parameters,
    PhaseDescription, PhaseResult, Recorder,
};
use crate::{Space, Workload};

pub(super) struct Bonnie;

/// Which version is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    V103a,
    V200a,
}

const FSYNC_OP: OpDescription =
    OpDescription { name: "fsync", span: "the fsync before close, where there is one" };
const SYNC_OP: OpDescription =
    OpDescription { name: "syncfs", span: "the sync at the end, in the manner of 2.00a" };

static WRITE_CHAR: PhaseDescription = PhaseDescription {
    name: "write-char",
    summary: "writes byte by byte",
    clock: "from the open file to its close. 1.03a: the whole file through a buffer of 4096 \
            bytes, no fsync. 2.00a: 3 MiB in writes of one byte, fsync",
    ops: &[
        OpDescription { name: "write", span: "4096 bytes, including filling a buffer" },
        FSYNC_OP,
    ],
    disk_bound: false,
};
static WRITE_BLOCK: PhaseDescription = PhaseDescription {
    name: "write-block",
    summary: "writes the whole file anew in chunks",
    clock: "from the open file, which is new, to its close. 1.03a: no fsync, so what is still in \
            memory is not waited for. 2.00a: fsync",
    ops: &[OpDescription { name: "write", span: "one write of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
static REWRITE: PhaseDescription = PhaseDescription {
    name: "rewrite",
    summary: "reads each chunk, changes a byte, goes back and writes it",
    clock: "from the open file to its close. 1.03a: no fsync. 2.00a: fsync. Each byte counts once \
            in the figures; no cache drop before unless `cold`",
    ops: &[OpDescription { name: "rewrite", span: "read, lseek, write of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
static READ_CHAR: PhaseDescription = PhaseDescription {
    name: "read-char",
    summary: "reads byte by byte",
    clock: "from the open file to its close; no cache drop before unless `cold`. 1.03a: the whole file through \
            a buffer of 4096 bytes. 2.00a: 3 MiB in reads of one byte, fsync",
    ops: &[
        OpDescription { name: "read", span: "4096 bytes, including emptying a buffer" },
        FSYNC_OP,
    ],
    disk_bound: false,
};
static READ_BLOCK: PhaseDescription = PhaseDescription {
    name: "read-block",
    summary: "reads the whole file in chunks",
    clock: "from the open file to its close; no cache drop before unless `cold`. 2.00a: fsync, though nothing \
            was written",
    ops: &[OpDescription { name: "read", span: "one read of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
static SEEKS: PhaseDescription = PhaseDescription {
    name: "seeks",
    summary: "several seekers read random chunks and rewrite a tenth of them",
    clock: "from the moment all seekers are released until the last one has closed the file; no \
            cache drop before unless `cold`. 2.00a: one fsync at the start, and one at the end of \
            each seeker; the first to end removes the file, so that the last to close it frees it \
            (not with `--verify`)",
    ops: &[
        OpDescription { name: "read", span: "lseek, read of a chunk" },
        OpDescription { name: "rewrite", span: "lseek, read, lseek, write of a chunk" },
        FSYNC_OP,
    ],
    disk_bound: false,
};

macro_rules! file_phase {
    ($name:ident, $text:literal, $summary:literal, $clock:literal, $($op:expr),+) => {
        static $name: PhaseDescription = PhaseDescription {
            name: $text,
            summary: $summary,
            clock: $clock,
            ops: &[$($op),+],
            disk_bound: false,
        };
    };
}

const CREATE_OP: OpDescription =
    OpDescription { name: "create", span: "create, writes, close of a file, or one link" };
const STAT_OP: OpDescription =
    OpDescription { name: "stat", span: "one stat; with contents also open, reads, close" };
const DELETE_OP: OpDescription = OpDescription { name: "delete", span: "one unlink" };

file_phase!(
    CREATE_SEQUENTIAL,
    "create-sequential",
    "creates files whose names begin with a counter",
    "creates; 2.00a: and sync. Directories are made before",
    CREATE_OP,
    SYNC_OP
);
file_phase!(
    STAT_SEQUENTIAL,
    "stat-sequential",
    "stats and reads each file while the directory is being listed",
    "listing, stats, reads; no cache drop before",
    STAT_OP
);
file_phase!(
    DELETE_SEQUENTIAL,
    "delete-sequential",
    "deletes files while the directory is being listed",
    "listing, unlinks, rmdirs; 2.00a: also a sync",
    DELETE_OP,
    SYNC_OP
);
file_phase!(
    CREATE_RANDOM,
    "create-random",
    "creates files whose names begin with random letters",
    "creates; 2.00a: and sync. Directories are made before",
    CREATE_OP,
    SYNC_OP
);
file_phase!(
    STAT_RANDOM,
    "stat-random",
    "stats and reads each file in random order",
    "stats, reads; no cache drop before. The order is drawn beforehand",
    STAT_OP
);
file_phase!(
    DELETE_RANDOM,
    "delete-random",
    "deletes in another random order",
    "unlinks, rmdirs; 2.00a: also a sync. The order is drawn beforehand",
    DELETE_OP,
    SYNC_OP
);

/// The order of fields in Bonnie++'s lines.
static LARGE_PHASES: &[&PhaseDescription] =
    &[&WRITE_CHAR, &WRITE_BLOCK, &REWRITE, &READ_CHAR, &READ_BLOCK, &SEEKS];
static SMALL_PHASES: &[&PhaseDescription] = &[
    &CREATE_SEQUENTIAL,
    &STAT_SEQUENTIAL,
    &DELETE_SEQUENTIAL,
    &CREATE_RANDOM,
    &STAT_RANDOM,
    &DELETE_RANDOM,
];

const MANNER: ChoiceParameter = ChoiceParameter::new(
    "manner",
    "Which version's behaviour to follow.",
    &[
        ("1.03a", "buffered bytes, no fsync, three seekers"),
        ("2.00a", "a system call for each byte, fsync, sync, five seekers"),
    ],
    "2.00a",
);
pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the large file, at least twice the memory; 0 leaves its phases out.",
    "2G",
)
.scaled();
pub(super) const LINKS: ChoiceParameter = ChoiceParameter::new(
    "links",
    "Whether small files after the first are links to it.",
    &[("none", "files of their own"), ("hard", "hard links"), ("symbolic", "symbolic links")],
    "none",
);
pub(super) const FSYNC: SwitchParameter = SwitchParameter::new(
    "fsync",
    "As `-b`: fsync at each close, rewritten seek, created and deleted file.",
    "off",
);
pub(super) const SEEKS_PARAMETER: CountParameter =
    CountParameter::new("seeks", "Total number of seeks of all seekers.", 1, 100_000_000, "8192");
pub(super) const SEEKERS: CountParameter = CountParameter::new(
    "seekers",
    "Number of seekers; 0 for that of the version (3 or 5).",
    0,
    1024,
    "0",
);

static DESCRIPTION: Description = Description {
    name: "bonnie",
    summary: "Bonnie++ 1.03a or 2.00a: one large file by byte, by block and at random, then many \
              small ones",
    origin: "Bonnie++ (Russell Coker), in the manner of 1.03a (2003, used for older published \
results) or of 2.00a (current). They differ in how single bytes are read and written, in fsync and \
sync, in the number of seekers and in file names; each phase says how. Figures are always given, \
however short a phase is: `k_per_sec` in KiB/s, `seeks_per_sec`, `files_per_sec`, `cpu_percent` of \
the process alone, as in the original. Lines in the original's format are made from them, with its \
`+++++` for anything that took less than half a second.\n\n\
The system calls of 2.00a are taken from a trace, those of 1.03a from its source code. Departures: \
sizes, names and orders come from the trial's seed; `size` is not derived from the machine's \
memory (a note says when it is less than twice the memory); seekers are threads that take their \
offsets from a list drawn beforehand instead of from a pipe, and start together instead of after a \
pause; with `cold`, even a file that fits into memory is written to the disk and read from it; \
sync is syncfs, so that the rest of the machine is not affected; paths are resolved from the \
target directory; `-D` is not offered. With `max_size=0` files are empty, which is the original's \
default.",
    headline: Headline {
        question: "one large file and many small ones (bonnie++)",
        phase: "write-block",
        metric: "write_rate",
        things: "written",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        MANNER.row,
        SIZE.row,
        parameters::CHUNK.row,
        parameters::FAST.row,
        parameters::FILES.row,
        parameters::MAX_SIZE.row,
        parameters::MIN_SIZE.row,
        parameters::DIRECTORIES.row,
        LINKS.row,
        FSYNC.row,
        COLD.with_help(
            "For a large file that fits into memory: whether phases that write it end with fsync \
             and phases that read it begin with an empty cache, where the testbed can.",
        )
        .row,
        SEEKS_PARAMETER.row,
        SEEKERS.row,
    ],
    phases: &[
        &WRITE_CHAR,
        &WRITE_BLOCK,
        &REWRITE,
        &READ_CHAR,
        &READ_BLOCK,
        &SEEKS,
        &CREATE_SEQUENTIAL,
        &STAT_SEQUENTIAL,
        &DELETE_SEQUENTIAL,
        &CREATE_RANDOM,
        &STAT_RANDOM,
        &DELETE_RANDOM,
    ],
};

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

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn manner(parameters: &Parameters) -> Manner {
    if parameters.get(&MANNER) == "1.03a" { Manner::V103a } else { Manner::V200a }
}

fn seekers(parameters: &Parameters) -> u64 {
    match (parameters.get(&SEEKERS), manner(parameters)) {
        (0, Manner::V103a) => 3,
        (0, Manner::V200a) => 5,
        (given, _) => given,
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let chunk = parameters.get(&parameters::CHUNK).0;
    if !(256..=1 << 20).contains(&chunk) || !chunk.is_power_of_two() {
        return Err(Failure::Input(format!(
            "chunk={chunk} is not a power of two from 256 bytes to 1 MiB"
        )));
    }
    let (min, max) =
        (parameters.get(&parameters::MIN_SIZE).0, parameters.get(&parameters::MAX_SIZE).0);
    if min > max || max > 1 << 30 {
        return Err(Failure::Input("min_size is above max_size, or that above 1 GiB".to_owned()));
    }
    let size = parameters.get(&SIZE).0 / chunk * chunk;
    let large = Large {
        manner: manner(parameters),
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
        links: match parameters.get(&LINKS) {
            "hard" => Links::Hard,
            "symbolic" => Links::Symbolic,
            _ => Links::None,
        },
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

/// Twice the machine's memory, in bytes; `None` where the kernel does not report it.
fn twice_the_memory() -> Option<u64> {
    twice_the_total(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// Twice the `MemTotal` of a text like `/proc/meminfo`, which tells it in KiB, in bytes.
fn twice_the_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 2048)
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
