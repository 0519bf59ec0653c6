//! Random reads and writes of one large file by several threads.

mod description;
mod draws;
mod tally;
mod verify;
mod worker;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use self::description::{
    DESCRIPTION, DIRECT, DRAWS, Draws, FSYNC_SHARE, IO_SIZE, OPS, PREPARE, RANDOM, SIZE, THREADS,
    TIME, WRITE_SHARE,
};
use self::draws::{Drand48, Shared, Terms};
use self::tally::figures;
use self::verify::verify;
use self::worker::Worker;
use super::bigfile::ZEROS;
use crate::engine::cold_cache::{COLD, reopen_cold};
use crate::engine::contents::{Contents, Filling};
use crate::engine::direct_io::open_direct;
use crate::engine::file_io::{open_target, write_all};
use crate::engine::thread_group::phase_with_threads;
use crate::typed::buffers;
use crate::{Context, Description, Failure, InputFacts, Op, OpError, Parameters, Recorder};
use crate::{Space, Workload};

pub(super) struct RandomIo;

const OWN: &str = "randomio";
const BLOCK: usize = 1 << 20;

impl Workload for RandomIo {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        let (size, io) = (parameters.get(&SIZE), parameters.get(&IO_SIZE));
        if size.0 < 2 * io.0 {
            return Err(no_room("size", size.0, io.0));
        }
        // Each thread has one to read into and one to write from.
        buffers(2 * parameters.get(&THREADS), io)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        Space { bytes: parameters.get(&SIZE), inodes: 1 }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    let (path, size) = file(context, target.as_fd())?;
    let cold = context.parameters().get(&COLD);
    let target = if cold { reopen_cold(context, target)? } else { target };
    let done = on_file(context, target.as_fd(), path, size);
    if path == OWN {
        // By the directory that is open: another may have its path by now.
        return done.and(remove(target.as_fd()));
    }
    done
}

fn no_room(file: &str, size: u64, io: u64) -> String {
    format!("{file}={size} has no room for two I/Os of io_size={io}")
}

fn remove(target: BorrowedFd<'_>) -> Result<(), Failure> {
    rustix::fs::unlinkat(target, OWN, AtFlags::empty())
        .map_err(|error| Failure::after(OpError::new("unlink", OWN, error)))
}

fn on_file(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    size: u64,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let io = parameters.get(&IO_SIZE).0;
    if size < 2 * io {
        return Err(Failure::Input(no_room(path, size, io)));
    }
    let terms = Terms {
        size,
        io,
        write_share: parameters.get(&WRITE_SHARE),
        fsync_share: parameters.get(&FSYNC_SHARE),
        ops: parameters.get(&OPS),
    };
    let generator = match parameters.get(&DRAWS) {
        Draws::Original => Drand48::default(),
        Draws::Seed => Drand48::from_state(context.seed().stream("drand48").bits()),
    };
    random(context, target, path, terms, generator)?;
    if context.verify() {
        verify(context, target, path, terms)?;
    }
    Ok(())
}

/// The file and its size: one that is there, or phase `prepare`.
fn file(context: &mut Context<'_>, target: BorrowedFd<'_>) -> Result<(&'static str, u64), Failure> {
    match rustix::fs::statat(target, ZEROS, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            context.skip(&PREPARE, "an earlier workload has left the file");
            return Ok((ZEROS, stat.st_size as u64));
        }
        Err(Errno::NOENT) => {}
        Err(error) => {
            let error = OpError::new("stat", ZEROS, error);
            return Err(Failure::before(error));
        }
    }
    let size = context.parameters().get(&SIZE).0;
    let mut contents = Contents::new(context.seed(), OWN, BLOCK, Filling::of(context.parameters()));
    context.phase(&PREPARE, size.div_ceil(BLOCK as u64), |recorder| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(target, OWN, flags, Mode::from_raw_mode(0o644))
            .map_err(|error| OpError::new("create", OWN, error))?;
        let made = fill(&file, size, &mut contents, recorder);
        made.inspect_err(|_| _ = rustix::fs::unlinkat(target, OWN, AtFlags::empty()))
    })?;
    Ok((OWN, size))
}

fn fill(
    file: &OwnedFd,
    size: u64,
    contents: &mut Contents,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let mut at = 0;
    while at < size {
        let piece = contents.at(at, BLOCK.min((size - at) as usize));
        write_all(file, piece).map_err(|error| OpError::new("write", OWN, error))?;
        at += piece.len() as u64;
        recorder.wrote(piece.len() as u64);
        recorder.done(Op(0));
    }
    rustix::fs::fsync(file).map_err(|error| OpError::new("fsync", OWN, error))?;
    recorder.part(Op(1));
    recorder.digest(size);
    Ok(())
}

fn random(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    path: &'static str,
    terms: Terms,
    generator: Drand48,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let failed =
        |error| Failure::Op { phase: RANDOM.name, error: OpError::new("open", path, error) };
    let opened = if parameters.get(&DIRECT) {
        match open_direct(target, path, terms.io as usize).map_err(failed)? {
            Ok(file) => file,
            Err(reason) => {
                context.skip(&RANDOM, reason);
                return Ok(());
            }
        }
    } else {
        rustix::fs::openat(target, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(failed)?
    };
    let threads = parameters.get(&THREADS);
    let time = if terms.ops == 0 { Some(parameters.get(&TIME)) } else { None };
    let workers: Vec<Worker> = (0..threads).map(|_| Worker::new(terms.io as usize, time)).collect();
    let shared = Shared::new(terms, generator);
    phase_with_threads(
        context,
        &RANDOM,
        terms.ops,
        workers,
        |worker, group, recorder| worker.work(&opened, path, &shared, time, group, recorder),
        |recorder| {
            if terms.ops != 0 {
                recorder.digest(shared.digest());
            }
            Ok(())
        },
        |tallies, result| figures(tallies, terms, result),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
