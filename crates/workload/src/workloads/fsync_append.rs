//! A database's log: records appended, each made durable before the next.

#[cfg(test)]
mod tests;

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use units::Bytes;

use crate::engine::contents::{COMPRESSIBLE, Filling};
use crate::engine::file_io::{holds, open_target, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::engine::walk;
use crate::typed::{ChoiceParameter, CountParameter, SizeParameter};
use crate::{
    Context, Description, Failure, Headline, InputFacts, Op, OpDescription, OpError, Parameters,
    PhaseDescription, PhaseResult, Preset, Recorder, Seed,
};
use crate::{Space, Workload};

pub(super) struct FsyncAppend;

static PREPARE: PhaseDescription = PhaseDescription {
    name: "prepare",
    summary: "reserves room for the logs, if requested",
    clock: "for each segment create, fallocate or writes of zeros, fsync, close",
    ops: &[OpDescription { name: "segment", span: "create to close of one segment" }],
    disk_bound: false,
};
static APPEND: PhaseDescription = PhaseDescription {
    name: "append",
    summary: "writers append records, each made durable before the next",
    clock: "from the moment all writers are released until the last has closed its log: beginning \
            each segment, with fsync of its directory; writes; syncs",
    ops: &[
        OpDescription { name: "commit", span: "the sync of one record, or its write with O_DSYNC" },
        OpDescription { name: "write", span: "the write of one record, left out of its commit" },
        OpDescription {
            name: "segment",
            span: "create or open of a segment, fsync of the directory",
        },
    ],
    disk_bound: true,
};
const COMMIT: Op = Op(0);
const WRITE: Op = Op(1);
const SEGMENT: Op = Op(2);

const RECORDS: CountParameter =
    CountParameter::new("records", "Records of each writer.", 1, 1_000_000_000, "10_000").scaled();
const RECORD: SizeParameter = SizeParameter::new("record", "Bytes of a record.", "8K");
const SYNC: ChoiceParameter = ChoiceParameter::new(
    "sync",
    "What makes a record durable.",
    &[
        ("fsync", "fsync"),
        ("fdatasync", "fdatasync, which may leave out timestamps"),
        ("dsync", "the file is open with O_DSYNC"),
        ("none", "nothing: for comparison"),
    ],
    "fsync",
);
const ROOM: ChoiceParameter = ChoiceParameter::new(
    "room",
    "State of a segment before records are written to it.",
    &[
        ("none", "it does not exist"),
        ("fallocate", "reserved blocks"),
        ("zeros", "blocks of zeros, so that no append changes metadata"),
    ],
    "none",
);
const SEGMENT_PARAMETER: SizeParameter = SizeParameter::new(
    "segment",
    "Size at which a new file is begun, a multiple of the record.",
    "16M",
);
const WRITERS: CountParameter =
    CountParameter::new("writers", "Threads, each with a log of its own.", 1, 1024, "1");

static DESCRIPTION: Description = Description {
    name: "fsync-append",
    summary: "a database's log: append a record, make it durable, again",
    origin: "Our own, after what databases do with their write-ahead logs: SQLite and many \
key-value stores append and fsync; PostgreSQL writes segments of 16 MiB that hold zeros already, \
and calls fdatasync. Each writer has a log of its own. A segment that does not exist yet is \
created, and its directory made durable, before its first record. A commit's latency is that of \
its sync alone; the write before it has a row of its own.",
    headline: Headline {
        question: "a database's commits to its log",
        phase: "append",
        metric: "ops_rate",
        things: "commits",
    },
    presets: &[
        Preset {
            name: "postgresql",
            question: "committing to PostgreSQL's log: fdatasync of 8 KiB in segments of zeros",
            set: &[("sync", "fdatasync"), ("room", "zeros")],
        },
        Preset {
            name: "kv-store",
            question: "committing to a key-value store's log: small records, fdatasync, a file that grows",
            set: &[("record", "512"), ("sync", "fdatasync"), ("room", "none")],
        },
    ],
    inputs: &[],
    parameters: &[
        RECORDS.row,
        RECORD.row,
        SYNC.row,
        ROOM.row,
        SEGMENT_PARAMETER.row,
        WRITERS.row,
        COMPRESSIBLE.row,
    ],
    phases: &[&PREPARE, &APPEND],
};

const DIRECTORY: &str = "fsync-append";
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
/// Where a failure is that comes before any phase.
const BEFORE: &str = "before the first";

impl Workload for FsyncAppend {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (segment, writers) =
            (parameters.get(&SEGMENT_PARAMETER).0.max(1), parameters.get(&WRITERS));
        let bytes = parameters.get(&RECORDS) * parameters.get(&RECORD).0;
        let segments = bytes.div_ceil(segment);
        Space { bytes: Bytes(segments * segment) * writers, inodes: (segments + 1) * writers + 1 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let target = open_target(context.target())?;
        in_own_directory(context, &target)
            .inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    Fsync,
    Fdatasync,
    Dsync,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    None,
    Fallocate,
    Zeros,
}

/// What all writers have in common.
#[derive(Clone, Copy)]
struct Job<'a> {
    target: BorrowedFd<'a>,
    records: u64,
    record: u64,
    segment: u64,
    sync: Sync,
    room: Room,
}

impl<'a> Job<'a> {
    fn of(parameters: &Parameters, target: &'a OwnedFd) -> Result<Job<'a>, Failure> {
        let (record, segment) = (parameters.get(&RECORD).0, parameters.get(&SEGMENT_PARAMETER).0);
        if record == 0 || record > 64 << 20 || segment == 0 || !segment.is_multiple_of(record) {
            return Err(Failure::Input(format!(
                "segment={segment} is not a multiple of record={record} (up to 64 MiB)"
            )));
        }
        Ok(Job {
            target: rustix::fd::AsFd::as_fd(target),
            records: parameters.get(&RECORDS),
            record,
            segment,
            sync: match parameters.get(&SYNC) {
                "fsync" => Sync::Fsync,
                "fdatasync" => Sync::Fdatasync,
                "dsync" => Sync::Dsync,
                _ => Sync::None,
            },
            room: match parameters.get(&ROOM) {
                "fallocate" => Room::Fallocate,
                "zeros" => Room::Zeros,
                _ => Room::None,
            },
        })
    }

    fn segments(&self) -> u64 {
        (self.records * self.record).div_ceil(self.segment)
    }

    fn path(writer: u64, segment: u64, path: &mut PathBuffer) {
        path.clear().text(DIRECTORY).text("/").number(writer, 1).text("/").number(segment, 8);
    }

    fn directory(writer: u64, path: &mut PathBuffer) {
        path.clear().text(DIRECTORY).text("/").number(writer, 1);
    }
}

/// Makes the directory, runs in it and removes it: only what it made, since what another left under
/// that name is not ours.
fn in_own_directory(context: &mut Context<'_>, target: &OwnedFd) -> Result<(), Failure> {
    let job = Job::of(context.parameters(), target)?;
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    rustix::fs::mkdirat(job.target, path.c_str(), DIRECTORY_MODE)
        .map_err(|error| Failure::Op { phase: BEFORE, error: path.failed("mkdir")(error) })?;
    let done = run(context, job);
    walk::remove(job.target, DIRECTORY, || ())
        .map_err(|error| Failure::Op { phase: "after the last", error })?;
    done
}

fn run(context: &mut Context<'_>, job: Job<'_>) -> Result<(), Failure> {
    let writers = context.parameters().get(&WRITERS);
    let outside = |error| Failure::Op { phase: BEFORE, error };
    let mut path = PathBuffer::new();
    for writer in 0..writers {
        Job::directory(writer, &mut path);
        rustix::fs::mkdirat(job.target, path.c_str(), DIRECTORY_MODE)
            .map_err(|error| outside(path.failed("mkdir")(error)))?;
    }
    if job.room == Room::None {
        context.skip(&PREPARE, "not asked for");
    } else {
        if job.room == Room::Fallocate
            && let Err(reason) = probe_fallocate(job.target)
        {
            context.skip_rest(&reason);
            return Ok(());
        }
        context.phase(&PREPARE, writers * job.segments(), |recorder| {
            prepare(&job, writers, recorder)
        })?;
    }
    let seed = context.seed();
    let filling = Filling::compressible(context.parameters());
    let workers: Vec<(u64, Vec<u8>)> =
        (0..writers).map(|writer| (writer, contents(seed, writer, job.record, filling))).collect();
    phase_with_threads(
        context,
        &APPEND,
        writers * job.records,
        workers,
        |(writer, mut contents), group, recorder| {
            append(&job, writer, &mut contents, group, recorder)
        },
        |_| Ok(()),
        |_, result| figures(&job, writers, result),
    )?;
    if context.verify() {
        verify(&job, writers, seed, filling)?;
    }
    Ok(())
}

fn contents(seed: Seed, writer: u64, record: u64, filling: Filling) -> Vec<u8> {
    let mut contents = vec![1; record as usize];
    filling.fill(&mut seed.stream(&format!("log of writer {writer}")), &mut contents);
    contents
}

/// Marks a record with its number, so that no two are equal.
#[inline]
fn number(contents: &mut [u8], record: u64) {
    let bytes = record.to_le_bytes();
    let fits = bytes.len().min(contents.len());
    contents[..fits].copy_from_slice(&bytes[..fits]);
}

fn probe_fallocate(target: BorrowedFd<'_>) -> Result<(), String> {
    let probe = "fsync-append/probe";
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    rustix::fs::openat(target, probe, flags, Mode::from_raw_mode(0o600))
        .and_then(|file| rustix::fs::fallocate(file, FallocateFlags::empty(), 0, 4096))
        .map_err(|error| format!("this filesystem does not reserve blocks (fallocate): {error}"))
}

fn prepare(job: &Job<'_>, writers: u64, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    let zeros = vec![0; 1 << 20];
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    recorder.restart();
    for writer in 0..writers {
        for segment in 0..job.segments() {
            Job::path(writer, segment, &mut path);
            let file =
                rustix::fs::openat(job.target, path.c_str(), flags, Mode::from_raw_mode(0o644))
                    .map_err(path.failed("create"))?;
            if job.room == Room::Fallocate {
                rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, job.segment)
                    .map_err(path.failed("fallocate"))?;
            } else {
                let mut left = job.segment;
                while left > 0 {
                    let piece = &zeros[..(zeros.len() as u64).min(left) as usize];
                    write_all(&file, piece).map_err(path.failed("write"))?;
                    left -= piece.len() as u64;
                }
                recorder.wrote(job.segment);
            }
            rustix::fs::fsync(&file).map_err(path.failed("fsync"))?;
            drop(file);
            recorder.done(Op(0));
        }
    }
    Ok(())
}

fn append(
    job: &Job<'_>,
    writer: u64,
    contents: &mut [u8],
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    let mut file = None;
    let each = job.segment / job.record;
    for record in 0..job.records {
        if group.is_stopped() {
            break;
        }
        if record % each == 0 {
            file = Some(begin(job, writer, record / each, &mut path)?);
            recorder.part(SEGMENT);
        }
        let Some(file) = &file else { break };
        number(contents, record);
        write_all(file, contents).map_err(path.failed("write"))?;
        match job.sync {
            Sync::Dsync => {}
            Sync::Fsync => {
                recorder.part(WRITE);
                rustix::fs::fsync(file).map_err(path.failed("fsync"))?;
            }
            Sync::Fdatasync => {
                recorder.part(WRITE);
                rustix::fs::fdatasync(file).map_err(path.failed("fdatasync"))?;
            }
            Sync::None => recorder.part(WRITE),
        }
        recorder.wrote(job.record);
        recorder.digest(record);
        recorder.done(COMMIT);
    }
    Ok(())
}

/// Opens a segment; a new one's name is made durable too.
fn begin(
    job: &Job<'_>,
    writer: u64,
    segment: u64,
    path: &mut PathBuffer,
) -> Result<OwnedFd, OpError> {
    let mut flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if job.room == Room::None {
        flags |= OFlags::CREATE | OFlags::EXCL;
    }
    if job.sync == Sync::Dsync {
        // What rustix calls `DSYNC` is O_SYNC on Linux, which also waits for metadata that no read
        // needs.
        flags |= OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());
    }
    Job::path(writer, segment, path);
    let file = rustix::fs::openat(job.target, path.c_str(), flags, Mode::from_raw_mode(0o644))
        .map_err(path.failed("open"))?;
    if job.room == Room::None && job.sync != Sync::None {
        Job::directory(writer, path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(job.target, path.c_str(), flags, Mode::empty())
            .map_err(path.failed("open"))?;
        match rustix::fs::fsync(directory) {
            // Some filesystems have no fsync of directories; nothing more can be done there.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(path.failed("fsync")(error)),
        }
        Job::path(writer, segment, path);
    }
    Ok(file)
}

fn figures(job: &Job<'_>, writers: u64, result: &mut PhaseResult) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    let commits = (writers * job.records) as f64;
    result.figures.insert("commits_per_sec".to_owned(), commits / seconds);
}

fn verify(job: &Job<'_>, writers: u64, seed: Seed, filling: Filling) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    let each = job.segment / job.record;
    for writer in 0..writers {
        let mut contents = contents(seed, writer, job.record, filling);
        for segment in 0..job.segments() {
            let last = ((segment + 1) * each).min(job.records);
            let mut expected = Vec::with_capacity(job.segment as usize);
            for record in segment * each..last {
                number(&mut contents, record);
                expected.extend_from_slice(&contents);
            }
            if job.room != Room::None {
                expected.resize(job.segment as usize, 0);
            }
            Job::path(writer, segment, &mut path);
            match holds(job.target, path.c_str(), &expected) {
                Ok(true) => {}
                Ok(false) => {
                    return Err(Failure::Verify(format!("{path} has other contents than written")));
                }
                Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
            }
        }
    }
    Ok(())
}
