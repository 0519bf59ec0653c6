//! Mongo: trees of small files created, copied, linked, read, listed, renamed, deleted.

mod plan;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use units::Bytes;

use self::plan::{Plan, Step};
use crate::engine::extents::fragments;
use crate::engine::file_io::{open_target, read, write_all};
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::engine::unsupported::is_unsupported;
use crate::engine::walk::{self, Walker};
use crate::typed::CountParameter;
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, PhaseResult, Recorder,
};
use crate::{Space, Workload};

pub(super) struct Mongo;

const MKDIR_OP: OpDescription = OpDescription { name: "mkdir", span: "one mkdir" };

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "makes the first trees",
    clock: "mkdirs; create exclusively, writes of at most 4095 bytes and close of each file; no \
            sync. A sync and counting of fragments follow after the clock",
    ops: &[OpDescription { name: "create", span: "create, writes, close" }, MKDIR_OP],
    disk_bound: false,
};
static COPY: PhaseDescription = PhaseDescription {
    name: "copy",
    summary: "copies each tree as `cp -r` does",
    clock: "listing, mkdirs; lstat, open, reads and writes of 4096 bytes, close of each file; no \
            sync and no cache drop before. A sync and counting of fragments follow after the clock",
    ops: &[OpDescription { name: "copy", span: "listing before it, lstat to close" }, MKDIR_OP],
    disk_bound: false,
};
static SYMLINKS: PhaseDescription = PhaseDescription {
    name: "symlinks",
    summary: "makes a symbolic link beside each file of the first trees, and reads it",
    clock: "listing, symlink to the absolute path, lstat, readlink; sync after the clock",
    ops: &[OpDescription { name: "symlink", span: "symlink, lstat, readlink" }],
    disk_bound: false,
};
static READ: PhaseDescription = PhaseDescription {
    name: "read",
    summary: "reads every file of all trees, once for each first tree",
    clock: "listing, open, reads of 4096 bytes, close; no cache drop before",
    ops: &[OpDescription { name: "read", span: "listing before it, open to close" }],
    disk_bound: false,
};
static STATS: PhaseDescription = PhaseDescription {
    name: "stats",
    summary: "finds all files of all trees, once for each first tree",
    clock: "listing and lstat of every entry",
    ops: &[OpDescription { name: "stat", span: "listing before it, one lstat" }],
    disk_bound: false,
};
static RENAME: PhaseDescription = PhaseDescription {
    name: "rename",
    summary: "renames each file of the first trees",
    clock: "listing and renames within the same directory; sync after the clock",
    ops: &[OpDescription { name: "rename", span: "listing before it, one rename" }],
    disk_bound: false,
};
static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes all trees as `rm -r` does",
    clock: "listing, unlinks, rmdirs; sync after the clock. Verification comes before it",
    ops: &[OpDescription { name: "delete", span: "one unlink or rmdir" }],
    disk_bound: false,
};

const MEDIAN: CountParameter = CountParameter::new(
    "median",
    "Median size of a file in bytes: 100, 1000, 10000.",
    0,
    1_000_000,
    "100",
);
pub(super) const FILES: CountParameter =
    CountParameter::new("files", "Files of a tree.", 1, 100_000_000, "11_500").scaled();
const REPETITIONS: CountParameter = CountParameter::new(
    "repetitions",
    "How often each phase is done, on trees of its own.",
    1,
    100,
    "3",
);
const PROCESSES: CountParameter =
    CountParameter::new("processes", "Threads, each with trees of its own.", 1, 256, "1");

static DESCRIPTION: Description = Description {
    name: "mongo",
    summary: "Namesys Mongo: trees of small files created, copied, linked, read, renamed, deleted",
    origin: "Mongo of Namesys (2000, 2001). The generator of its trees is the original's, with \
glibc's `rand()` of fixed seed, so every trial has the same trees; sizes have a heavy tail (P(size \
> s) = m/(m+s) for m = median + 1). With three repetitions and one process `median=100 \
files=11500`, `median=1000 files=2000` and `median=10000 files=383` are the trees of a published \
seminar: 69,000, 12,000 and 2,300 files in 241, 43 and 31 directories. A phase is the sum of its \
repetitions, as reported there.\n\n\
`fragments_per_file` is the mean number of pieces in which a regular file above 16 KiB lies on the \
device, up to its first hole (1 is ideal), by FIEMAP, or by FIBMAP, which the original uses, where \
a filesystem has only that.\n\n\
Departures: the size of a tree is given in files, not in bytes; each median is a trial of its own; \
processes are threads and do not wait for one another between repetitions; a single program does \
the work of find, cp, rm and shell loops, so the cost of starting programs is missing; paths are \
resolved from the target directory; sync is syncfs.",
    headline: Headline {
        question: "trees of small files (Mongo)",
        phase: "create",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[],
    parameters: &[MEDIAN.row, FILES.row, REPETITIONS.row, PROCESSES.row],
    phases: &[&CREATE, &COPY, &SYMLINKS, &READ, &STATS, &RENAME, &DELETE],
};

const DIRECTORY: &str = "mongo";
/// Writes of the generator.
const WRITE: usize = 4095;
const READ_BLOCK: usize = 4096;
/// Files above this size count for fragmentation.
const FRAGMENTS_ABOVE: i64 = 16 << 10;

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

/// One process.
struct Worker<'a> {
    target: BorrowedFd<'a>,
    plan: &'a Plan,
    absolute: &'a [u8],
    /// Its trees: `i-j` of each repetition.
    trees: Vec<String>,
}

fn first(tree: &str) -> String {
    format!("{DIRECTORY}/testdir1-{tree}")
}

fn second(tree: &str) -> String {
    format!("{DIRECTORY}/testdir2-{tree}")
}

type Work<'w> =
    &'w (dyn Fn(&Worker<'_>, &ThreadGroup, &mut Recorder<'_>) -> Result<(), OpError> + Sync);

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let plan = Plan::draw(parameters.get(&FILES), parameters.get(&MEDIAN));
    let (repetitions, processes) = (parameters.get(&REPETITIONS), parameters.get(&PROCESSES));
    let trees = repetitions * processes;
    let target: OwnedFd = open_target(context.target())?;
    let target = target.as_fd();
    let absolute = context.target().as_os_str().as_encoded_bytes().to_owned();
    let outside = |error| Failure::Op { phase: "before the first", error };
    rustix::fs::mkdirat(target, DIRECTORY, Mode::from_raw_mode(0o755))
        .map_err(|error| outside(OpError::new("mkdir", DIRECTORY, error)))?;

    let mut sequence = KeepGoing::default();
    let mut phase = |context: &mut Context<'_>,
                     phase: &'static PhaseDescription,
                     ops: u64,
                     parts: Option<&[&str]>,
                     without: Option<&String>,
                     work: Work<'_>| {
        let without = without.map(|reason| format!("without the symbolic links: {reason}"));
        let after = after_failure(context).or(without);
        let workers: Vec<Worker<'_>> = (1..=processes)
            .map(|process| Worker {
                target,
                plan: &plan,
                absolute: &absolute,
                trees: (1..=repetitions).map(|i| format!("{i}-{process}")).collect(),
            })
            .collect();
        let ended = phase_with_threads(
            context,
            phase,
            ops,
            workers,
            |worker, group, recorder| work(&worker, group, recorder),
            |_| Ok(()),
            |_, result| {
                not_comparable(result, after);
                if let Some(parts) = parts {
                    note_fragments(target, parts, result);
                }
            },
        );
        let done = sequence.take(ended)?.is_some();
        rustix::fs::syncfs(target).map_err(|error| Failure::Op {
            phase: phase.name,
            error: OpError::new("syncfs", DIRECTORY, error),
        })?;
        Ok::<bool, Failure>(done)
    };
    let entries = plan.files + plan.directories.len() as u64;
    if !phase(context, &CREATE, trees * entries, Some(&["testdir1"]), None, &create)? {
        walk::remove(target, DIRECTORY, || ()).map_err(outside)?;
        context.skip_rest("the trees could not be made");
        return sequence.end();
    }
    let both = ["testdir1", "testdir2"];
    let copied = phase(context, &COPY, trees * entries, Some(&both), None, &copy)?;
    let lacking = probe_symlinks(target).err();
    match &lacking {
        Some(reason) => context.skip(&SYMLINKS, reason),
        None => {
            phase(context, &SYMLINKS, trees * plan.files, None, None, &symlinks)?;
        }
    }
    let without = lacking.as_ref();
    let copies = if copied { 2 } else { 1 };
    let links = u64::from(lacking.is_none()) * trees * plan.files;
    let all = copies * trees * entries + links;
    phase(context, &READ, trees * copies * trees * plan.files, None, without, &read_all)?;
    // The directory of the trees is an entry, too.
    phase(context, &STATS, trees * (all + 1), None, without, &stats)?;
    phase(context, &RENAME, trees * plan.files, None, without, &rename)?;
    if context.verify() {
        verify(target, &plan, copies * trees, copied)?;
    }
    phase(context, &DELETE, all, None, without, &delete)?;
    // Removing what a failed copy left belongs to no phase.
    walk::remove(target, DIRECTORY, || ()).map_err(outside)?;
    sequence.end()
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

fn create(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let data = [b'a'; WRITE];
    let mut path = PathBuffer::new();
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    recorder.restart();
    for tree in &worker.trees {
        let root = first(tree);
        for step in &worker.plan.steps {
            if group.is_stopped() {
                return Ok(());
            }
            match *step {
                Step::Directory(directory) => {
                    path.clear().text(&root);
                    path.text(&worker.plan.directories[directory as usize]);
                    rustix::fs::mkdirat(worker.target, path.c_str(), Mode::from_raw_mode(0o755))
                        .map_err(path.failed("mkdir"))?;
                    recorder.done(Op(1));
                }
                Step::File { directory, number, bytes } => {
                    path.clear().text(&root).text(&worker.plan.directories[directory as usize]);
                    path.text("/").number(u64::from(number), 1);
                    let mode = Mode::from_raw_mode(0o777);
                    let file = rustix::fs::openat(worker.target, path.c_str(), flags, mode)
                        .map_err(path.failed("create"))?;
                    let mut left = bytes as usize;
                    while left > 0 {
                        let piece = &data[..left.min(WRITE)];
                        write_all(&file, piece).map_err(path.failed("write"))?;
                        left -= piece.len();
                    }
                    drop(file);
                    recorder.wrote(u64::from(bytes));
                    recorder.digest(u64::from(number) << 32 | u64::from(bytes));
                    recorder.done(Op(0));
                }
            }
        }
    }
    Ok(())
}

fn open(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(target, path.c_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(path.failed("open"))
}

fn lstat(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<rustix::fs::Stat, OpError> {
    rustix::fs::statat(target, path.c_str(), AtFlags::SYMLINK_NOFOLLOW).map_err(path.failed("stat"))
}

fn is_regular(step: walk::Step) -> bool {
    step == walk::Step::File(FileType::RegularFile)
}

/// Walks a tree until another process has failed.
fn each(
    target: BorrowedFd<'_>,
    root: &str,
    group: &ThreadGroup,
    mut visit: impl FnMut(walk::Step, &PathBuffer) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    path.text(root);
    Walker::new().walk(target, &mut path, &mut |step, path| {
        if group.is_stopped() { Ok(()) } else { visit(step, path) }
    })
}

fn copy(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut buffer = [1u8; READ_BLOCK];
    let mut to = PathBuffer::new();
    recorder.restart();
    for tree in &worker.trees {
        let (from, copied) = (first(tree), second(tree));
        let mut sum = 0u64;
        each(worker.target, &from, group, |step, path| {
            to.clear().text(&copied).bytes(&path.as_bytes()[from.len()..]);
            match step {
                walk::Step::Left => return Ok(()),
                walk::Step::Directory => {
                    rustix::fs::mkdirat(worker.target, to.c_str(), Mode::from_raw_mode(0o755))
                        .map_err(to.failed("mkdir"))?;
                    recorder.done(Op(1));
                    return Ok(());
                }
                walk::Step::File(_) => {}
            }
            let stat = lstat(worker.target, path)?;
            let source = open(worker.target, path)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
            let made = rustix::fs::openat(worker.target, to.c_str(), flags, mode)
                .map_err(to.failed("create"))?;
            loop {
                let got = read(&source, &mut buffer).map_err(path.failed("read"))?;
                if got == 0 {
                    break;
                }
                write_all(&made, &buffer[..got]).map_err(to.failed("write"))?;
                recorder.read(got as u64);
                recorder.wrote(got as u64);
                sum += got as u64;
            }
            drop((source, made));
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(sum);
    }
    Ok(())
}

fn symlinks(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let (mut link, mut to) = (PathBuffer::new(), PathBuffer::new());
    let mut buffer = Vec::with_capacity(4096);
    recorder.restart();
    for tree in &worker.trees {
        let mut links = 0;
        each(worker.target, &first(tree), group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            to.clear().bytes(worker.absolute).text("/").bytes(path.as_bytes());
            link.clear().bytes(path.as_bytes()).text(".lnk");
            rustix::fs::symlinkat(to.c_str(), worker.target, link.c_str())
                .map_err(link.failed("symlink"))?;
            lstat(worker.target, &link)?;
            buffer.clear();
            let read = rustix::fs::readlinkat_raw(
                worker.target,
                link.c_str(),
                rustix::buffer::spare_capacity(&mut buffer),
            );
            read.map_err(link.failed("read the link"))?;
            links += 1;
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(links);
    }
    Ok(())
}

fn read_all(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut buffer = [1u8; READ_BLOCK];
    recorder.restart();
    for _ in &worker.trees {
        let mut sum = 0;
        each(worker.target, DIRECTORY, group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            let file = open(worker.target, path)?;
            loop {
                let got = read(&file, &mut buffer).map_err(path.failed("read"))?;
                if got == 0 {
                    break;
                }
                recorder.read(got as u64);
                sum += got as u64;
            }
            drop(file);
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(sum);
    }
    Ok(())
}

fn stats(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    recorder.restart();
    for _ in &worker.trees {
        let mut files = 0;
        each(worker.target, DIRECTORY, group, |step, path| {
            if step == walk::Step::Left {
                return Ok(());
            }
            let stat = lstat(worker.target, path)?;
            files += u64::from(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(files);
    }
    Ok(())
}

fn rename(
    worker: &Worker<'_>,
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut to = PathBuffer::new();
    recorder.restart();
    for tree in &worker.trees {
        let mut files = 0;
        each(worker.target, &first(tree), group, |step, path| {
            if !is_regular(step) {
                return Ok(());
            }
            to.clear().bytes(path.as_bytes()).text(".r");
            rustix::fs::renameat(worker.target, path.c_str(), worker.target, to.c_str())
                .map_err(path.failed("rename"))?;
            files += 1;
            recorder.done(Op(0));
            Ok(())
        })?;
        recorder.digest(files);
    }
    Ok(())
}

fn delete(
    worker: &Worker<'_>,
    _: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    recorder.restart();
    for tree in &worker.trees {
        for root in [first(tree), second(tree)] {
            let mut entries = 0;
            walk::remove(worker.target, &root, || {
                entries += 1;
                recorder.done(Op(0));
            })?;
            recorder.digest(entries);
        }
    }
    Ok(())
}

/// Adds the mean number of pieces of the larger files below trees of these names.
fn note_fragments(target: BorrowedFd<'_>, trees: &[&str], result: &mut PhaseResult) {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let (mut files, mut pieces, mut refused) = (0u64, 0u64, None::<Errno>);
    let walked = Walker::new().walk(target, &mut path, &mut |step, path| {
        let wanted =
            |tree: &&str| path.as_bytes()[DIRECTORY.len() + 1..].starts_with(tree.as_bytes());
        if !is_regular(step) || refused.is_some() || !trees.iter().any(wanted) {
            return Ok(());
        }
        if lstat(target, path)?.st_size > FRAGMENTS_ABOVE {
            match fragments(open(target, path)?.as_fd()) {
                Ok(found) => {
                    files += 1;
                    pieces += found;
                }
                Err(error) => refused = Some(error),
            }
        }
        Ok(())
    });
    if let Err(error) = walked {
        result.notes.push(format!("fragments were not counted: {error}: {}", error.source));
    } else if let Some(error) = refused {
        result.notes.push(format!("this filesystem does not report where files lie: {error}"));
    } else if files > 0 {
        result.figures.insert("fragments_per_file".to_owned(), pieces as f64 / files as f64);
    }
}

/// Counts files and reads them back: nothing but `a` in them.
fn verify(target: BorrowedFd<'_>, plan: &Plan, trees: u64, copied: bool) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let mut buffer = [0u8; READ_BLOCK];
    let (mut files, mut bytes, mut foreign) = (0, 0, None);
    let walked = Walker::new().walk(target, &mut path, &mut |step, path| {
        let is_copy = path.as_bytes()[DIRECTORY.len()..].starts_with(b"/testdir2");
        if !is_regular(step) || (is_copy && !copied) {
            return Ok(());
        }
        let file = open(target, path)?;
        files += 1;
        loop {
            let got = read(&file, &mut buffer).map_err(path.failed("read"))?;
            if got == 0 {
                return Ok(());
            }
            bytes += got as u64;
            if buffer[..got].iter().any(|byte| *byte != b'a') {
                foreign.get_or_insert(path.to_string());
            }
        }
    });
    walked.map_err(|error| Failure::Verify(format!("{error}: {}", error.source)))?;
    if let Some(path) = foreign {
        return Err(Failure::Verify(format!("{path} has other contents than written")));
    }
    if (files, bytes) != (trees * plan.files, trees * plan.bytes) {
        return Err(Failure::Verify(format!(
            "{files} files of {bytes} bytes instead of {} of {}",
            trees * plan.files,
            trees * plan.bytes
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
