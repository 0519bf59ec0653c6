//! Metadata ops by several threads: directories and files created, statted and removed, in one
//! directory that all threads share and in one for each thread.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use units::Bytes;

use crate::engine::contents::{COMPRESSIBLE, DUPLICATE, Filling, Marker};
use crate::engine::file_io::{open_target, read, write_all};
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::phase_with_threads;
use crate::engine::walk;
use crate::typed::{CountParameter, SizeParameter, buffers};
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, Recorder, Seed,
};
use crate::{Space, Workload};

pub(super) struct Scale;

/// What is done with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    MakeDirectory,
    StatDirectory,
    RemoveDirectory,
    CreateFile,
    StatFile,
    ReadFile,
    RemoveFile,
}

macro_rules! phases {
    ($($id:ident, $act:ident, $shared:literal, $name:literal, $what:literal, $where:literal, $op:literal, $span:literal;)*) => {
        $(static $id: PhaseDescription = PhaseDescription {
            name: $name,
            summary: concat!($what, " in ", $where),
            clock: "from the moment all threads are released until the last has ended; no sync, no \
                    cache drop before. The threads' directories are made before the first clock",
            ops: &[OpDescription { name: $op, span: $span }],
            disk_bound: false,
        };)*
        /// Every phase with what it does and whether threads share the directory, in order.
        static PHASES: &[(&PhaseDescription, Act, bool)] =
            &[$((&$id, Act::$act, $shared)),*];
        static DESCRIBED: &[&PhaseDescription] = &[$(&$id),*];
    };
}

phases! {
    MKDIR_SHARED, MakeDirectory, true, "mkdir-shared", "makes directories", "one directory", "mkdir", "one mkdir";
    DIRSTAT_SHARED, StatDirectory, true, "dirstat-shared", "stats directories", "one directory", "stat", "one stat";
    RMDIR_SHARED, RemoveDirectory, true, "rmdir-shared", "removes directories", "one directory", "rmdir", "one rmdir";
    CREATE_SHARED, CreateFile, true, "create-shared", "creates files", "one directory", "create", "create, write, close";
    STAT_SHARED, StatFile, true, "stat-shared", "stats files", "one directory", "stat", "one stat";
    READ_SHARED, ReadFile, true, "read-shared", "reads files", "one directory", "read", "open, reads, close";
    UNLINK_SHARED, RemoveFile, true, "unlink-shared", "removes files", "one directory", "unlink", "one unlink";
    MKDIR_OWN, MakeDirectory, false, "mkdir-own", "makes directories", "a directory for each thread", "mkdir", "one mkdir";
    DIRSTAT_OWN, StatDirectory, false, "dirstat-own", "stats directories", "a directory for each thread", "stat", "one stat";
    RMDIR_OWN, RemoveDirectory, false, "rmdir-own", "removes directories", "a directory for each thread", "rmdir", "one rmdir";
    CREATE_OWN, CreateFile, false, "create-own", "creates files", "a directory for each thread", "create", "create, write, close";
    STAT_OWN, StatFile, false, "stat-own", "stats files", "a directory for each thread", "stat", "one stat";
    READ_OWN, ReadFile, false, "read-own", "reads files", "a directory for each thread", "read", "open, reads, close";
    UNLINK_OWN, RemoveFile, false, "unlink-own", "removes files", "a directory for each thread", "unlink", "one unlink";
}

const THREADS: CountParameter = CountParameter::new("threads", "Threads.", 1, 1024, "4");
const ENTRIES: CountParameter = CountParameter::new(
    "entries",
    "Directories, and then files, of each thread.",
    1,
    100_000_000,
    "10_000",
)
.scaled();
const BYTES: SizeParameter = SizeParameter::new(
    "bytes",
    "Size of a file; 0 leaves files empty.",
    Bytes(0),
    Bytes::from_mib(64),
    "0",
);
const NEIGHBOUR: CountParameter = CountParameter::new(
    "neighbour",
    "Distance to the thread whose entries are statted, read and removed; 0 for a thread's own.",
    0,
    1024,
    "0",
);

static DESCRIPTION: Description = Description {
    name: "scale",
    summary: "mdtest-like: directories and files by threads, in one and in separate directories",
    origin: "After mdtest (LLNL; part of IOR): each task creates, stats, reads and removes its own \
directories and files, one kind of op after another, in a directory shared by all and in one of \
its own (`-u`). To see how a filesystem scales, run trials with `threads` of 1, 2, 4 … on as many \
processors. With more threads than processors the figures carry a note, and on a single processor, \
as in the lab, lock contention cannot show at all.\n\n\
Departures: tasks are threads; there is one level of directories; entries are made in the order of \
their numbers and named `file.mdtest.THREAD.NUMBER` and `dir.mdtest.THREAD.NUMBER` as there; with \
`neighbour` (`-N`), entries are statted, read and removed by the thread that many places after the \
one that made them.",
    headline: Headline {
        question: "many threads creating files in one directory",
        phase: "create-shared",
        metric: "ops_rate",
        things: "files",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        THREADS.row,
        ENTRIES.row,
        BYTES.row,
        NEIGHBOUR.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: DESCRIBED,
};

const DIRECTORY: &str = "scale";

impl Workload for Scale {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        buffers(parameters.get(&THREADS), parameters.get(&BYTES))
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let entries = parameters.get(&ENTRIES) * parameters.get(&THREADS);
        // A directory takes at least a block.
        let each = parameters.get(&BYTES).0.div_ceil(4096).max(1) * 4096;
        Space { bytes: Bytes(each) * entries, inodes: entries + parameters.get(&THREADS) + 2 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let target = open_target(context.target())?;
        // Where there is one already, it is not this workload's to remove.
        make(target.as_fd(), DIRECTORY)
            .inspect_err(|_| context.skip_rest("the directory could not be made"))?;
        let mut sequence = KeepGoing::default();
        let done = run(context, target.as_fd(), &mut sequence);
        walk::remove(target.as_fd(), DIRECTORY, || ()).map_err(Failure::after)?;
        done.and_then(|()| sequence.end())
            .inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// What a thread needs for all its entries.
struct Worker {
    /// Whose entries.
    of: u64,
    entries: u64,
    contents: Vec<u8>,
    marker: Marker,
    buffer: Vec<u8>,
    path: PathBuffer,
}

fn make(target: BorrowedFd<'_>, directory: &str) -> Result<(), Failure> {
    rustix::fs::mkdirat(target, directory, Mode::from_raw_mode(0o755))
        .map_err(|error| Failure::before(OpError::new("mkdir", directory, error)))
}

fn run(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    sequence: &mut KeepGoing,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (threads, entries) = (parameters.get(&THREADS), parameters.get(&ENTRIES));
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let crowded = (threads > processors)
        .then(|| format!("{threads} threads on {processors} processors: contention is hidden"));
    make(target, &format!("{DIRECTORY}/shared"))?;
    for thread in 0..threads {
        make(target, &format!("{DIRECTORY}/own{thread}"))?;
    }
    let job = Job::of(context);

    // For each failed phase, the kind of entry and whether it was shared: nothing more is done
    // with those entries.
    let mut missing: Option<(bool, bool)> = None;
    for (phase, act, shared) in PHASES {
        let is_file = *act as u8 >= Act::CreateFile as u8;
        let makes = matches!(act, Act::MakeDirectory | Act::CreateFile);
        if missing == Some((is_file, *shared)) {
            context.skip(phase, "an earlier phase on the same entries failed");
            continue;
        }
        let after = after_failure(context);
        let crowded = crowded.clone();
        let ended = phase_with_threads(
            context,
            phase,
            threads * entries,
            job.workers(makes),
            |mut worker, group, recorder| {
                for number in 0..worker.entries {
                    if group.is_stopped() {
                        break;
                    }
                    worker.perform(target, *act, *shared, number, recorder)?;
                }
                Ok(())
            },
            |_| Ok(()),
            |_, result| {
                let seconds = result.wall.0.max(1) as f64 / 1e9;
                let rate = result.ops as f64 / seconds;
                result.figures.insert("ops_per_sec".to_owned(), rate);
                result.notes.extend(crowded);
                not_comparable(result, after);
            },
        );
        let done = sequence.take(ended)?.is_some();
        if !done {
            // Remove what is left of this kind: the next phases must not meet it.
            clear(target, *shared, threads)?;
            missing = Some((is_file, *shared));
        }
        if done && makes && context.verify() {
            verify(target, *shared, threads, entries)?;
        }
    }
    Ok(())
}

/// What all threads of all phases have in common.
struct Job {
    threads: u64,
    entries: u64,
    neighbour: u64,
    contents: Vec<u8>,
    seed: Seed,
    filling: Filling,
}

impl Job {
    fn of(context: &Context<'_>) -> Job {
        let parameters = context.parameters();
        let (seed, filling) = (context.seed(), Filling::of(parameters));
        let mut contents = vec![1; parameters.get(&BYTES).0 as usize];
        filling.fill(&mut seed.stream("scale contents"), &mut contents);
        Job {
            threads: parameters.get(&THREADS),
            entries: parameters.get(&ENTRIES),
            neighbour: parameters.get(&NEIGHBOUR),
            contents,
            seed,
            filling,
        }
    }

    /// One worker a thread, for its own entries where the phase `makes` them.
    fn workers(&self, makes: bool) -> Vec<Worker> {
        (0..self.threads)
            .map(|thread| Worker {
                of: if makes { thread } else { (thread + self.neighbour) % self.threads },
                entries: self.entries,
                contents: self.contents.clone(),
                marker: Marker::new(self.seed, &format!("scale marks {thread}"), self.filling),
                buffer: vec![1; self.contents.len().clamp(1, 1 << 20)],
                path: PathBuffer::new(),
            })
            .collect()
    }
}

/// Empties the directories of a failed phase.
fn clear(target: BorrowedFd<'_>, shared: bool, threads: u64) -> Result<(), Failure> {
    let failed = |error| Failure::Op { phase: "after a failed phase", error };
    let mut paths = Vec::new();
    if shared {
        paths.push(format!("{DIRECTORY}/shared"));
    } else {
        paths.extend((0..threads).map(|thread| format!("{DIRECTORY}/own{thread}")));
    }
    for path in paths {
        walk::remove(target, &path, || ()).map_err(failed)?;
        rustix::fs::mkdirat(target, path.as_str(), Mode::from_raw_mode(0o755))
            .map_err(|error| failed(OpError::new("mkdir", path, error)))?;
    }
    Ok(())
}

impl Worker {
    #[inline]
    fn perform(
        &mut self,
        target: BorrowedFd<'_>,
        act: Act,
        shared: bool,
        number: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let path = &mut self.path;
        path.clear().text(DIRECTORY);
        if shared {
            path.text("/shared/");
        } else {
            path.text("/own").number(self.of, 1).text("/");
        }
        path.text(if (act as u8) < Act::CreateFile as u8 { "dir" } else { "file" });
        path.text(".mdtest.").number(self.of, 1).text(".").number(number, 1);
        match act {
            Act::MakeDirectory => {
                rustix::fs::mkdirat(target, path.c_str(), Mode::from_raw_mode(0o755))
                    .map_err(path.failed("mkdir"))?;
            }
            Act::StatDirectory | Act::StatFile => {
                rustix::fs::statat(target, path.c_str(), AtFlags::empty())
                    .map_err(path.failed("stat"))?;
            }
            Act::RemoveDirectory => {
                rustix::fs::unlinkat(target, path.c_str(), AtFlags::REMOVEDIR)
                    .map_err(path.failed("rmdir"))?;
            }
            Act::RemoveFile => {
                rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty())
                    .map_err(path.failed("unlink"))?;
            }
            Act::CreateFile => {
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o644);
                let file = rustix::fs::openat(target, path.c_str(), flags, mode)
                    .map_err(path.failed("create"))?;
                if !self.contents.is_empty() {
                    self.marker.mark(&mut self.contents);
                    write_all(&file, &self.contents).map_err(path.failed("write"))?;
                    recorder.wrote(self.contents.len() as u64);
                }
            }
            Act::ReadFile => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = rustix::fs::openat(target, path.c_str(), flags, Mode::empty())
                    .map_err(path.failed("open"))?;
                let mut left = self.contents.len();
                while left > 0 {
                    let got = read(&file, &mut self.buffer).map_err(path.failed("read"))?;
                    if got == 0 {
                        let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                        return Err(path.failed("read")(short));
                    }
                    left = left.saturating_sub(got);
                    recorder.read(got as u64);
                }
            }
        }
        recorder.digest(self.of << 40 | number);
        recorder.done(Op(0));
        Ok(())
    }
}

/// Counts what was made.
fn verify(target: BorrowedFd<'_>, shared: bool, threads: u64, entries: u64) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    let mut found = 0;
    for thread in 0..if shared { 1 } else { threads } {
        path.clear().text(DIRECTORY);
        if shared {
            path.text("/shared");
        } else {
            path.text("/own").number(thread, 1);
        }
        found += crate::engine::file_io::list(target, path.c_str(), |_| ())
            .map_err(|error| Failure::Verify(format!("{path}: {error}")))?;
    }
    if found == threads * entries {
        return Ok(());
    }
    Err(Failure::Verify(format!("{found} entries below {DIRECTORY}, not {}", threads * entries)))
}

#[cfg(test)]
mod tests;
