//! Running a personality.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use units::{Bytes, Nanos};

use super::actor::Actor;
use super::set::Set;
use super::{Action, CREATE, RUN};
use crate::Space;
use crate::engine::contents::{Filling, Marker};
use crate::engine::file_io::{open_target, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::phase_with_threads;
use crate::engine::walk;
use crate::typed::buffers;
use crate::{Context, Failure, Op, OpError, Parameters, PhaseResult};

/// Room for a personality's set.
pub(super) fn space(parameters: &Parameters) -> Space {
    let files = parameters.get(&super::FILES);
    let each = parameters.get(&super::MEAN_SIZE).0 + parameters.get(&super::APPEND_SIZE).0 + 4096;
    let directories = files / parameters.get(&super::DIRECTORY_WIDTH).max(2) * 2 + 2;
    // Files grow by appends; those that live long reach twice their size.
    Space {
        bytes: Bytes(each * 2) * files + Bytes(4096) * directories,
        inodes: files + directories,
    }
}

/// Whether the sizes fit each other and memory.
///
/// # Errors
/// With a sentence that names the size that does not.
pub(super) fn check(parameters: &Parameters) -> Result<(), String> {
    let (io, append) = (parameters.get(&super::IO_SIZE), parameters.get(&super::APPEND_SIZE));
    if append > io {
        return Err(format!("append_size={append} is above io_size={io}"));
    }
    buffers(parameters.get(&super::THREADS), io)
}

/// Makes the set, goes through `list`, removes everything.
pub(super) fn run(
    context: &mut Context<'_>,
    root: &'static str,
    list: &'static [Action],
) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    let done = phases(context, target.as_fd(), root, list);
    walk::remove(target.as_fd(), root, || ()).map_err(Failure::after)?;
    done.inspect_err(|_| context.skip_rest("a phase before it failed"))
}

fn phases(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    root: &'static str,
    list: &'static [Action],
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let seed = context.seed();
    let io = parameters.get(&super::IO_SIZE).0 as usize;
    let append = parameters.get(&super::APPEND_SIZE).0;
    let (threads, loops) = (parameters.get(&super::THREADS), parameters.get(&super::LOOPS));
    let time = parameters.get(&super::TIME);
    let set = draw_set(context, target, root)?;
    let mut contents = vec![1; io];
    let filling = Filling::of(parameters);
    filling.fill(&mut seed.stream("filebench contents"), &mut contents);
    let mut marker = Marker::new(seed, "filebench maker", filling);
    create(context, target, &set, &mut contents, &mut marker)?;

    let mut log_path = PathBuffer::new();
    log_path.text(root).text("/log");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let log = rustix::fs::openat(target, log_path.c_str(), flags, Mode::from_raw_mode(0o644))
        .map_err(|error| Failure::before(log_path.failed("create")(error)))?;
    let actors: Vec<Actor<'_>> = (0..threads)
        .map(|number| Actor {
            target,
            set: &set,
            log: log.as_fd(),
            draw: seed.stream(&format!("filebench thread {number}")),
            buffer: contents.clone(),
            marker: Marker::new(seed, &format!("filebench marks {number}"), filling),
            append,
            path: PathBuffer::new(),
            open: None,
            left_out: 0,
            logged: 0,
        })
        .collect();
    let done = phase_with_threads(
        context,
        &RUN,
        threads * loops * list.len() as u64,
        actors,
        |mut actor, group, recorder| {
            let start = group.start();
            let mut done = 0;
            while !group.is_stopped() && goes_on(loops, done, recorder.lap() - start, time) {
                for action in list {
                    actor.act(*action, recorder, loops != 0)?;
                }
                done += 1;
            }
            actor.close();
            Ok((done, actor.left_out, actor.logged))
        },
        |_| Ok(()),
        figures,
    )?;
    if context.verify() {
        let logged = done.iter().map(|(_, _, logged)| logged).sum();
        verify(target, &set, &log_path, logged)?;
    }
    Ok(())
}

/// Draws the set and makes its directories.
fn draw_set(
    context: &Context<'_>,
    target: BorrowedFd<'_>,
    root: &'static str,
) -> Result<Set, Failure> {
    let parameters = context.parameters();
    let set = Set::draw(
        context.seed(),
        parameters.get(&super::FILES),
        parameters.get(&super::MEAN_SIZE).0,
        parameters.get(&super::PREALLOCATED),
        parameters.get(&super::DIRECTORY_WIDTH),
        root,
    );
    set.directories(|path| {
        rustix::fs::mkdirat(target, path.c_str(), Mode::from_raw_mode(0o755))
            .map_err(path.failed("mkdir"))
    })
    .map_err(Failure::before)?;
    Ok(set)
}

/// Whether a thread begins another round: `loops` of them, or for 0 until the time is over.
fn goes_on(loops: u64, done: u64, spent: Nanos, time: Nanos) -> bool {
    if loops == 0 { spent < time } else { done < loops }
}

fn create(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    set: &Set,
    contents: &mut [u8],
    marker: &mut Marker,
) -> Result<(), Failure> {
    let places = set.places();
    let present = places.iter().filter(|place| place.exists).count() as u64;
    context.phase(&CREATE, present, |recorder| {
        let mut path = PathBuffer::new();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for (number, place) in places.iter().enumerate().filter(|(_, place)| place.exists) {
            set.path(number, &mut path);
            let file = rustix::fs::openat(target, path.c_str(), flags, Mode::from_raw_mode(0o644))
                .map_err(path.failed("create"))?;
            let mut left = place.planned;
            while left > 0 {
                let piece = (contents.len() as u64).min(left) as usize;
                marker.mark(&mut contents[..piece]);
                write_all(&file, &contents[..piece]).map_err(path.failed("write"))?;
                left -= piece as u64;
            }
            drop(file);
            recorder.wrote(place.planned);
            recorder.digest(place.planned);
            recorder.done(Op(0));
        }
        rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", ".", error))
    })
}

fn figures(threads: &[(u64, u64, u64)], result: &mut PhaseResult) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    let sum = |of: fn(&(u64, u64, u64)) -> u64| threads.iter().map(of).sum::<u64>() as f64;
    let (lists, left_out) = (sum(|thread| thread.0), sum(|thread| thread.1));
    let mib = |bytes: Bytes| bytes.0 as f64 / 1_048_576.0 / seconds;
    let figures = [
        ("lists", lists),
        ("lists_per_sec", lists / seconds),
        ("ops_per_sec", result.ops as f64 / seconds),
        ("read_mib_per_s", mib(result.read_bytes)),
        ("write_mib_per_s", mib(result.write_bytes)),
    ];
    result.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
    if left_out > 0.0 {
        result.notes.push(format!("{left_out} ops were left out: no file of the set was free"));
    }
}

/// Every file, and the log, has the size the ops must have left it with.
fn verify(target: BorrowedFd<'_>, set: &Set, log: &PathBuffer, logged: u64) -> Result<(), Failure> {
    let size = |path: &PathBuffer| match rustix::fs::statat(target, path.c_str(), AtFlags::empty())
    {
        Ok(stat) => Ok(Some(stat.st_size as u64)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(Failure::Verify(format!("{path}: {error}"))),
    };
    let expect = |path: &PathBuffer, expected: Option<u64>| match size(path)? {
        found if found == expected => Ok(()),
        found => Err(Failure::Verify(format!("{path}: {found:?} bytes, not {expected:?}"))),
    };
    let mut path = PathBuffer::new();
    for (number, place) in set.places().iter().enumerate() {
        set.path(number, &mut path);
        expect(&path, place.exists.then_some(place.size))?;
    }
    expect(log, Some(logged))
}

#[cfg(test)]
mod tests;
