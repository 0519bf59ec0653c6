//! A database's log: records appended, each made durable before the next.

mod description;
#[cfg(test)]
mod tests;

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use units::Bytes;

use self::description::{
    APPEND, DESCRIPTION, PREPARE, RECORD, RECORDS, ROOM, Room, SEGMENT_PARAMETER, SYNC, Sync,
    WRITERS,
};
use crate::engine::contents::Filling;
use crate::engine::file_io::{holds, open_target, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::engine::walk;
use crate::typed::buffers;
use crate::{
    Context, Description, Failure, InputFacts, Op, OpError, Parameters, PhaseResult, Recorder, Seed,
};
use crate::{Space, Workload};

pub(super) struct FsyncAppend;

const COMMIT: Op = Op(0);
const WRITE: Op = Op(1);
const SEGMENT: Op = Op(2);

const DIRECTORY: &str = "fsync-append";
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);

impl Workload for FsyncAppend {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let (record, segment) = (parameters.get(&RECORD), parameters.get(&SEGMENT_PARAMETER));
        match segment.0.is_multiple_of(record.0) {
            true => buffers(parameters.get(&WRITERS), record),
            false => Err(format!(
                "segment={segment} ({} bytes) is not a multiple of record={record} ({} bytes)",
                segment.0, record.0
            )),
        }
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let (segment, writers) = (parameters.get(&SEGMENT_PARAMETER).0, parameters.get(&WRITERS));
        let bytes = (parameters.get(&RECORD) * parameters.get(&RECORDS)).0;
        let segments = bytes.div_ceil(segment);
        Space {
            bytes: Bytes(segment) * segments * writers,
            inodes: (segments + 1).saturating_mul(writers).saturating_add(1),
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let target = open_target(context.target())?;
        in_own_directory(context, &target)
            .inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
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
    fn of(parameters: &Parameters, target: &'a OwnedFd) -> Job<'a> {
        let (record, segment) = (parameters.get(&RECORD).0, parameters.get(&SEGMENT_PARAMETER).0);
        Job {
            target: rustix::fd::AsFd::as_fd(target),
            records: parameters.get(&RECORDS),
            record,
            segment,
            sync: parameters.get(&SYNC),
            room: parameters.get(&ROOM),
        }
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
    let job = Job::of(context.parameters(), target);
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    rustix::fs::mkdirat(job.target, path.c_str(), DIRECTORY_MODE)
        .map_err(|error| Failure::before(path.failed("mkdir")(error)))?;
    let done = run(context, job);
    walk::remove(job.target, DIRECTORY, || ()).map_err(Failure::after)?;
    done
}

fn run(context: &mut Context<'_>, job: Job<'_>) -> Result<(), Failure> {
    let writers = context.parameters().get(&WRITERS);
    let mut path = PathBuffer::new();
    for writer in 0..writers {
        Job::directory(writer, &mut path);
        rustix::fs::mkdirat(job.target, path.c_str(), DIRECTORY_MODE)
            .map_err(|error| Failure::before(path.failed("mkdir")(error)))?;
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
