//! Running a model: its files, its threads, its figures.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::AtomicU64;
use std::thread;

use rustix::fs::{Mode, OFlags};
use units::Bytes;

use super::super::model::{Does, Flowop, KINDS, Model, Target, Thread};
use super::behind::{self, Behind};
use super::course::{Course, Semaphore};
use super::descriptors::{Descriptors, behind_failed};
use super::files::{DIRECTORY, Files};
use super::hand::{Common, Count, Hand, Tally};
use super::verify::verify;
use super::{CLOCK, CREATE, LOOPS, PERMILLE, buffer_of, entries, time};
use crate::engine::contents::{Filling, Marker};
use crate::engine::direct_io::{Aligned, open_direct};
use crate::engine::file_io::{open_target, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{ThreadGroup, phase_with_threads};
use crate::engine::walk;
use crate::{
    Context, Failure, Op, OpDescription, OpError, PhaseDescription, PhaseResult, Recorder, Seed,
};

/// Bytes of a write when files are made, as Filebench's.
const CREATE_BLOCK: usize = 1 << 20;

/// Makes the sets, plays the model, removes everything.
pub(super) fn run(context: &mut Context<'_>, model: &Model) -> Result<(), Failure> {
    let target = open_target(context.target())?;
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    make_directory(target.as_fd(), &path).map_err(Failure::before)?;
    let ops = kinds(model);
    let phase = phase(&ops);
    let done = phases(context, target.as_fd(), model, phase, &ops);
    walk::remove(target.as_fd(), DIRECTORY, || ()).map_err(Failure::after)?;
    done.inspect_err(|_| context.skip_rest_of(&[&CREATE, phase], "a phase before it failed"))
}

/// The kinds of flowop in the model that do something to a file.
fn kinds(model: &Model) -> Vec<Does> {
    let used = |does: Does| model.flowops().any(|flowop| flowop.does == does);
    KINDS.iter().filter(|kind| kind.span.is_some() && used(kind.does)).map(|it| it.does).collect()
}

/// The phase with these kinds of op alone. It is leaked, since a trial's process runs only a handful
/// of phases.
fn phase(ops: &[Does]) -> &'static PhaseDescription {
    let described = |does: &Does| OpDescription {
        name: does.word(),
        span: KINDS.iter().find(|kind| kind.does == *does).and_then(|it| it.span).unwrap_or(""),
    };
    let ops: Vec<OpDescription> = ops.iter().map(described).collect();
    Box::leak(Box::new(PhaseDescription {
        name: "run",
        summary: "threads go through the model's lists",
        clock: CLOCK,
        ops: ops.leak(),
        disk_bound: false,
    }))
}

fn make_directory(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<(), OpError> {
    rustix::fs::mkdirat(target, path.c_str(), Mode::from_raw_mode(0o755))
        .map_err(path.failed("mkdir"))
}

fn phases(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    model: &Model,
    phase: &'static PhaseDescription,
    ops: &[Does],
) -> Result<(), Failure> {
    let (parameters, seed) = (context.parameters().clone(), context.seed());
    let filling = Filling::of(&parameters);
    let sets: Vec<Files> = model
        .sets
        .iter()
        .enumerate()
        .map(|(number, set)| Files::draw(set, number, entries(set, &parameters), seed))
        .collect();
    let mut path = PathBuffer::new();
    for set in &sets {
        for directory in 0..set.directory_count() {
            set.directory(directory, &mut path);
            make_directory(target, &path).map_err(Failure::before)?;
        }
    }
    create(context, target, model, &sets, filling)?;
    if let Some(reason) = without_direct(target, model, &sets)? {
        context.skip(phase, reason);
        return Ok(());
    }
    threads(context, target, model, &sets, phase, ops)?;
    if context.verify() {
        verify(target, model, &sets)?;
    }
    Ok(())
}

/// Lets the threads go.
fn threads(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    model: &Model,
    sets: &[Files],
    phase: &'static PhaseDescription,
    ops: &[Does],
) -> Result<(), Failure> {
    let (parameters, seed) = (context.parameters().clone(), context.seed());
    let filling = Filling::of(&parameters);
    let semaphores = Semaphores::of(model);
    let waits = |thread: &Thread| thread.list.iter().any(|it| it.does == Does::SemBlock);
    let all_wait = model.threads.iter().all(waits);
    let drives = |thread: &Thread| all_wait || !waits(thread);
    let driving = model.threads.iter().filter(|it| drives(it)).map(|it| it.instances).sum();
    let limit = time(model, &parameters);
    let Semaphores { made, about } = semaphores;
    let course = Course::new(limit, model.rate, made, driving);
    let (all_ops, all_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let common = Common {
        course: &course,
        quit: model.quit,
        loops: parameters.get(&LOOPS),
        ops,
        all_ops: &all_ops,
        all_bytes: &all_bytes,
        permille: parameters.get(&PERMILLE),
    };
    let instances = model.threads.iter().enumerate().flat_map(|(number, thread)| {
        (0..thread.instances as usize).map(move |instance| (number, instance, thread))
    });
    let backs: Vec<Back> =
        instances.clone().map(|(_, _, thread)| Back::of(model, sets, thread)).collect();
    let hands =
        instances.zip(&backs).enumerate().map(|(at, ((number, instance, thread), back))| {
            let name = format!("filebench model thread {at}");
            let mut buffer = Aligned::new(back.buffer, 1);
            filling.fill(&mut seed.stream("filebench contents"), &mut buffer);
            let marker = Marker::new(seed, &format!("{name} marks"), filling);
            let hand = Hand {
                common: &common,
                thread,
                semaphores: &about[number][instance],
                drives: drives(thread),
                files: Descriptors::new(target, &model.sets, sets, &back.behind, buffer, marker),
                draw: seed.stream(&name),
                counts: vec![Count::default(); thread.list.len()],
                tally: Tally::default(),
            };
            (hand, back, at)
        });
    let workers: Vec<_> = hands.collect();
    let planned = planned(model, ops, common.loops, &drives);
    phase_with_threads(
        context,
        phase,
        planned,
        workers,
        |(mut hand, back, at), group, recorder| {
            course.begin(group.start());
            with_behind(&mut hand, back, at, (seed, filling), group, recorder)
        },
        |_| Ok(()),
        figures,
    )
    .map(drop)
}

/// How many flowops of the phase's kinds are done in these rounds, by those that do not wait.
fn planned(model: &Model, ops: &[Does], loops: u64, drives: &dyn Fn(&Thread) -> bool) -> u64 {
    let threads = model.threads.iter().filter(|thread| drives(thread));
    threads.fold(0, |sum: u64, thread| {
        let counted = thread.list.iter().filter(|flowop| ops.contains(&flowop.does));
        let round: u64 = counted.map(|flowop| flowop.iters.fixed().unwrap_or(1)).sum();
        sum.saturating_add(thread.instances.saturating_mul(round).saturating_mul(loops))
    })
}

/// What stands behind one thread: its buffer, and who writes for it.
struct Back {
    buffer: usize,
    writers: usize,
    behind: Behind,
}

impl Back {
    fn of(model: &Model, sets: &[Files], thread: &Thread) -> Back {
        let writers = thread.list.iter().filter(|it| it.does == Does::AioWrite).map(|flowop| {
            match flowop.opennext {
                true => sets[flowop.set.unwrap_or(0)].len().min(behind::MOST),
                false => 1,
            }
        });
        let writers = writers.max().unwrap_or(0);
        let buffer = buffer_of(model, &thread.list) as usize;
        Back { buffer, writers, behind: Behind::new(writers) }
    }
}

/// Lets a thread work with those that write behind it, and waits for what they have left.
fn with_behind(
    hand: &mut Hand<'_>,
    back: &Back,
    at: usize,
    (seed, filling): (Seed, Filling),
    group: &ThreadGroup,
    recorder: &mut Recorder<'_>,
) -> Result<Tally, OpError> {
    if back.writers == 0 {
        return hand.work(group, recorder).map(|()| hand.tally);
    }
    let worked = thread::scope(|scope| {
        for queue in 0..back.writers {
            let mut buffer = Aligned::new(back.buffer, 1);
            filling.fill(&mut seed.stream("filebench contents"), &mut buffer);
            let marker = Marker::new(seed, &format!("filebench behind {at} {queue}"), filling);
            let serve = move || back.behind.serve(queue, buffer, marker);
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, serve) {
                back.behind.close();
                return Err(OpError::new("start", "a thread", error));
            }
        }
        recorder.restart();
        let worked = hand.work(group, recorder);
        back.behind.close();
        worked
    });
    worked?;
    match back.behind.failure() {
        Some(error) => Err(behind_failed(error)),
        None => Ok(hand.tally),
    }
}

/// The semaphores of a model: one for each semblock of each thread.
struct Semaphores {
    made: Vec<Semaphore>,
    /// For each thread of the model, each of its instances, each flowop: those that it is about.
    about: Vec<Vec<Vec<Vec<usize>>>>,
}

impl Semaphores {
    fn of(model: &Model) -> Semaphores {
        let mut made = Vec::new();
        // For each thread of the model and each flowop: those of all its instances.
        let own: Vec<Vec<Vec<usize>>> = model
            .threads
            .iter()
            .map(|thread| {
                let mut add = |flowop: &Flowop| {
                    let instances =
                        if flowop.does == Does::SemBlock { thread.instances } else { 0 };
                    (0..instances)
                        .map(|_| {
                            made.push(Semaphore::new(flowop.highwater));
                            made.len() - 1
                        })
                        .collect()
                };
                thread.list.iter().map(&mut add).collect()
            })
            .collect();
        let mut about = Vec::new();
        for (number, thread) in model.threads.iter().enumerate() {
            let of_instance = |instance: u64| -> Vec<Vec<usize>> {
                let list = thread.list.iter().enumerate();
                list.map(|(at, flowop)| match &flowop.target {
                    Target::Everywhere(all) => {
                        all.iter().flat_map(|(thread, at)| own[*thread][*at].clone()).collect()
                    }
                    _ => own[number][at].get(instance as usize).copied().into_iter().collect(),
                })
                .collect()
            };
            about.push((0..thread.instances).map(of_instance).collect());
        }
        Semaphores { made, about }
    }
}

/// Makes the files of all sets that are there at the beginning.
fn create(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    model: &Model,
    sets: &[Files],
    filling: Filling,
) -> Result<(), Failure> {
    let seed = context.seed();
    let mut contents = vec![1; CREATE_BLOCK];
    filling.fill(&mut seed.stream("filebench contents"), &mut contents);
    let mut marker = Marker::new(seed, "filebench maker", filling);
    let chosen: Vec<Vec<usize>> = sets
        .iter()
        .zip(&model.sets)
        .enumerate()
        .map(|(number, (files, set))| files.chosen(set.percent, number, seed))
        .collect();
    let count = chosen.iter().map(|set| set.len() as u64).sum();
    context.phase(&CREATE, count, |recorder| {
        let mut path = PathBuffer::new();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        for (files, chosen) in sets.iter().zip(&chosen) {
            for place in chosen {
                files.path(*place, &mut path);
                let file = rustix::fs::openat(target, path.c_str(), flags, mode)
                    .map_err(path.failed("create"))?;
                let mut left = files.planned(*place);
                while left > 0 {
                    let piece = left.min(CREATE_BLOCK as u64) as usize;
                    marker.mark(&mut contents[..piece]);
                    write_all(&file, &contents[..piece]).map_err(path.failed("write"))?;
                    left -= piece as u64;
                }
                drop(file);
                files.note_made(*place);
                recorder.wrote(files.planned(*place));
                recorder.digest(files.planned(*place));
                recorder.done(Op(0));
            }
        }
        rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", DIRECTORY, error))
    })
}

/// Why the model's direct I/O cannot be done here, if it asks for any.
fn without_direct(
    target: BorrowedFd<'_>,
    model: &Model,
    sets: &[Files],
) -> Result<Option<String>, Failure> {
    for flowop in model.flowops().filter(|flowop| flowop.direct) {
        let files = &sets[flowop.set.unwrap_or(0)];
        let Some(place) = files.present().iter().position(|is_there| *is_there) else { continue };
        let mut path = PathBuffer::new();
        files.path(place, &mut path);
        let length = flowop.iosize.fixed().unwrap_or(4096).clamp(512, 1 << 20) as usize;
        let tried = open_direct(target, &path.to_string(), length);
        if let Err(reason) = tried.map_err(|error| Failure::before(path.failed("open")(error)))? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

fn figures(threads: &[Tally], result: &mut PhaseResult) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    let sum = |of: fn(&Tally) -> u64| threads.iter().map(of).sum::<u64>();
    let rounds = sum(|thread| thread.rounds) as f64;
    let waited = sum(|thread| thread.waited.0) as f64 / 1e9;
    let mib = |bytes: Bytes| bytes.0 as f64 / 1_048_576.0 / seconds;
    let figures = [
        ("lists", rounds),
        ("lists_per_sec", rounds / seconds),
        ("ops_per_sec", result.ops as f64 / seconds),
        ("read_mib_per_s", mib(result.read_bytes)),
        ("write_mib_per_s", mib(result.write_bytes)),
        ("waited_share", waited / seconds / threads.len().max(1) as f64),
    ];
    result.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
    let left_out = sum(|thread| thread.left_out);
    if left_out > 0 {
        let why = "no file of the set was free, or others had it open";
        result.notes.push(format!("{left_out} flowops were left out: {why}"));
    }
}
