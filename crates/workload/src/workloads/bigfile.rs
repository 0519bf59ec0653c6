//! Large files: written, read, both at once, deleted.

mod description;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use measure::now;
use rustix::fs::{AtFlags, Mode, OFlags};
use units::Nanos;

use self::description::{
    BLOCK, DD, DD_FSYNC, DD_SIZE, DELETE, DESCRIPTION, FSYNC, KEEP, READ, READ_WRITE, SIZE, WRITE,
};
use crate::engine::contents::{Contents, Filling};
use crate::engine::file_io::{open_target, read, write_all};
use crate::engine::keep_going::{KeepGoing, after_failure, not_comparable};
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::{Context, Description, Failure, InputFacts, Op, OpError, Parameters, Recorder, Seed};
use crate::{Space, Workload};

pub(super) struct BigFile;

/// The file of zeros; `randomio` finds it there.
pub(super) const ZEROS: &str = "bigfile";
const FIRST: &str = "bigfile-first";
const SECOND: &str = "bigfile-second";
const DD_BLOCK: usize = 1 << 20;

impl Workload for BigFile {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        Space { bytes: parameters.get(&DD_SIZE) + parameters.get(&SIZE) * 2, inodes: 3 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let mut sequence = KeepGoing::default();
    let parameters = context.parameters();
    let (zeros, size) = (parameters.get(&DD_SIZE).0, parameters.get(&SIZE).0);
    let block = parameters.get(&BLOCK).0;
    let (fsync, keep) = (parameters.get(&FSYNC), parameters.get(&KEEP));
    if zeros == 0 {
        context.skip(&DD, "not asked for");
    } else {
        let target = open_target(context.target())?;
        let mut buffer = vec![1; DD_BLOCK];
        let blocks = zeros.div_ceil(DD_BLOCK as u64);
        let wait = parameters.get(&DD_FSYNC);
        let ended = context
            .phase(&DD, blocks, |recorder| dd(target.as_fd(), zeros, &mut buffer, wait, recorder));
        if sequence.take(ended)?.is_none() {
            remove(target.as_fd(), ZEROS)?;
        }
    }
    if size == 0 {
        context.skip_rest("not asked for");
    } else {
        let filling = Filling::of(context.parameters());
        let job = Job { size, block: block as usize, fsync, seed: context.seed(), filling };
        streams(context, &mut sequence, job)?;
    }
    let target = open_target(context.target())?;
    if !keep {
        remove(target.as_fd(), ZEROS)?;
    }
    sequence.end()
}

/// What is the same for all streams.
#[derive(Clone, Copy)]
struct Job {
    size: u64,
    block: usize,
    fsync: bool,
    seed: Seed,
    filling: Filling,
}

impl Job {
    fn blocks(self) -> u64 {
        self.size.div_ceil(self.block as u64)
    }
}

fn streams(context: &mut Context<'_>, sequence: &mut KeepGoing, job: Job) -> Result<(), Failure> {
    if !write_first(context, sequence, job)? {
        context.skip_rest("the file could not be written");
        return Ok(());
    }
    let mut buffer = vec![1; job.block];
    read_first(context, sequence, job, &mut buffer)?;

    context.make_cold();
    let target = open_target(context.target())?;
    let target = target.as_fd();
    let both = read_and_write(context, sequence, job, target, buffer)?;
    if context.verify() {
        for (file, written) in [(FIRST, true), (SECOND, both)] {
            if written {
                verify(target, file, job)?;
            }
        }
    }
    delete_first(context, sequence, job, target)?;
    remove(target, SECOND)
}

/// Phase `write`; returns whether the file is there.
fn write_first(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    job: Job,
) -> Result<bool, Failure> {
    let target = open_target(context.target())?;
    let mut contents = Contents::new(job.seed, FIRST, job.block, job.filling);
    let after = after_failure(context);
    let ended = context.phase_with(
        &WRITE,
        job.blocks(),
        |recorder| {
            let kinds = (Op(0), Op(1));
            write(target.as_fd(), FIRST, &mut contents, job, kinds, recorder, None)
        },
        |spent, result| {
            result.figures.insert("write_mib_per_s".to_owned(), rate(job.size, *spent));
            not_comparable(result, after);
        },
    );
    if sequence.take(ended)?.is_none() {
        remove(target.as_fd(), FIRST)?;
        return Ok(false);
    }
    Ok(true)
}

/// Phase `read`.
fn read_first(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    job: Job,
    buffer: &mut [u8],
) -> Result<(), Failure> {
    context.make_cold();
    let target = open_target(context.target())?;
    let after = after_failure(context);
    let ended = context.phase_with(
        &READ,
        job.blocks(),
        |recorder| read_all(target.as_fd(), buffer, job, recorder, None),
        |spent, result| {
            result.figures.insert("read_mib_per_s".to_owned(), rate(job.size, *spent));
            not_comparable(result, after);
        },
    );
    sequence.take(ended)?;
    Ok(())
}

/// Phase `read-write`; returns whether the second file is there.
fn read_and_write(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    job: Job,
    target: BorrowedFd<'_>,
    buffer: Vec<u8>,
) -> Result<bool, Failure> {
    let after = after_failure(context);
    let workers = vec![
        Worker::Reader(buffer),
        Worker::Writer(Contents::new(job.seed, SECOND, job.block, job.filling)),
    ];
    let ended = phase_with_threads(
        context,
        &READ_WRITE,
        2 * job.blocks(),
        workers,
        |worker, group, recorder| match worker {
            Worker::Reader(mut buffer) => read_all(target, &mut buffer, job, recorder, Some(group)),
            Worker::Writer(mut contents) => {
                let kinds = (Op(1), Op(2));
                write(target, SECOND, &mut contents, job, kinds, recorder, Some(group))
            }
        },
        |_| Ok(()),
        |spent, result| {
            for (name, spent) in ["read_mib_per_s", "write_mib_per_s"].iter().zip(spent) {
                result.figures.insert((*name).to_owned(), rate(job.size, *spent));
            }
            not_comparable(result, after);
        },
    );
    Ok(sequence.take(ended)?.is_some())
}

/// Phase `delete`.
fn delete_first(
    context: &mut Context<'_>,
    sequence: &mut KeepGoing,
    job: Job,
    target: BorrowedFd<'_>,
) -> Result<(), Failure> {
    let after = after_failure(context);
    let ended = context.phase_with(
        &DELETE,
        1,
        |recorder| {
            let start = now();
            rustix::fs::unlinkat(target, FIRST, AtFlags::empty())
                .map_err(|error| OpError::new("unlink", FIRST, error))?;
            recorder.done(Op(0));
            Ok(now() - start)
        },
        |spent, result| {
            result.figures.insert("delete_mib_per_s".to_owned(), rate(job.size, *spent));
            not_comparable(result, after);
        },
    );
    sequence.take(ended)?;
    Ok(())
}

enum Worker {
    Reader(Vec<u8>),
    Writer(Contents),
}

/// MiB/s; a clock that did not move counts as a nanosecond.
fn rate(bytes: u64, spent: Nanos) -> f64 {
    bytes as f64 / 1_048_576.0 / (spent.0.max(1) as f64 / 1e9)
}

fn dd(
    target: BorrowedFd<'_>,
    size: u64,
    buffer: &mut [u8],
    wait: bool,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::openat(target, ZEROS, flags, Mode::from_raw_mode(0o644))
        .map_err(|error| OpError::new("create", ZEROS, error))?;
    let mut at = 0;
    while at < size {
        let length = buffer.len().min((size - at) as usize);
        let piece = std::hint::black_box(&mut buffer[..length]);
        piece.fill(0);
        write_all(&file, piece).map_err(|error| OpError::new("write", ZEROS, error))?;
        at += length as u64;
        recorder.wrote(length as u64);
        recorder.done(Op(0));
    }
    if wait {
        rustix::fs::fsync(&file).map_err(|error| OpError::new("fsync", ZEROS, error))?;
        recorder.part(Op(1));
    }
    recorder.digest(size);
    Ok(())
}

fn write(
    target: BorrowedFd<'_>,
    path: &'static str,
    contents: &mut Contents,
    job: Job,
    (write, fsync): (Op, Op),
    recorder: &mut Recorder<'_>,
    group: Option<&ThreadGroup>,
) -> Result<Nanos, OpError> {
    let start = now();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(target, path, flags, Mode::from_raw_mode(0o644))
        .map_err(|error| OpError::new("create", path, error))?;
    let mut at = 0;
    while at < job.size && !group.is_some_and(ThreadGroup::is_stopped) {
        let length = contents.block().min((job.size - at) as usize);
        let piece = contents.at(at, length);
        write_all(&file, piece).map_err(|error| OpError::new("write", path, error))?;
        at += length as u64;
        recorder.wrote(length as u64);
        recorder.digest(at);
        recorder.done(write);
    }
    if job.fsync {
        rustix::fs::fsync(&file).map_err(|error| OpError::new("fsync", path, error))?;
        recorder.part(fsync);
    }
    drop(file);
    Ok(now() - start)
}

fn read_all(
    target: BorrowedFd<'_>,
    buffer: &mut [u8],
    job: Job,
    recorder: &mut Recorder<'_>,
    group: Option<&ThreadGroup>,
) -> Result<Nanos, OpError> {
    let start = now();
    let file = open(target, FIRST)?;
    let mut at = 0;
    while !group.is_some_and(ThreadGroup::is_stopped) {
        let got = read(&file, buffer).map_err(|error| OpError::new("read", FIRST, error))?;
        if got == 0 {
            break;
        }
        at += got as u64;
        recorder.read(got as u64);
        recorder.digest(at);
        recorder.done(Op(0));
    }
    if at != job.size && !group.is_some_and(ThreadGroup::is_stopped) {
        let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        return Err(OpError::new("read", FIRST, short));
    }
    drop(file);
    Ok(now() - start)
}

fn open(target: BorrowedFd<'_>, path: &'static str) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(target, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| OpError::new("open", path, error))
}

/// Reads a file back and compares it.
fn verify(target: BorrowedFd<'_>, path: &'static str, job: Job) -> Result<(), Failure> {
    use std::io::Read;
    let wrong = |what: String| Failure::Verify(format!("{path}: {what}"));
    let mut file = File::from(open(target, path).map_err(|error| wrong(error.to_string()))?);
    let mut contents = Contents::new(job.seed, path, job.block, job.filling);
    let mut buffer = vec![0; job.block];
    let mut at = 0;
    while at < job.size {
        let length = job.block.min((job.size - at) as usize);
        file.read_exact(&mut buffer[..length]).map_err(|error| wrong(error.to_string()))?;
        if buffer[..length] != *contents.at(at, length) {
            return Err(wrong(format!("other contents than written at byte {at}")));
        }
        at += length as u64;
    }
    match file.read(&mut buffer[..1]) {
        Ok(0) => Ok(()),
        _ => Err(wrong("longer than written".to_owned())),
    }
}

/// Removes a file if it is there, outside any clock.
fn remove(target: BorrowedFd<'_>, path: &'static str) -> Result<(), Failure> {
    match rustix::fs::unlinkat(target, path, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(Failure::after(OpError::new("unlink", path, error))),
    }
}
