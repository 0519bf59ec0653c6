//! FFSB: weighted ops by many threads on a set of files.

mod aging;
mod description;
mod files;
mod profile;
mod worker;

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;
use units::Bytes;

use self::aging::Aging;
use self::description::{AGE, CREATE, DESCRIPTION, RUN};
use self::files::{DIRECTORY, Files};
use self::profile::{Kind as Does, Profile};
use self::worker::{Job, Worker};
use super::age::fill_state;
use crate::engine::cold_cache::{COLD, reopen_cold};
use crate::engine::contents::{Contents, Filling};
use crate::engine::direct_io::open_direct;
use crate::engine::file_io::open_target;
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{phase_with_threads, think};
use crate::engine::walk;
use crate::{Context, Description, Failure, InputFacts, OpError, Parameters, PhaseResult};
use crate::{Space, Workload};

pub(super) struct Ffsb;

impl Workload for Ffsb {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn check(&self, parameters: &Parameters) -> Result<(), String> {
        checked(parameters).map(drop)
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let profile = Profile::of(parameters);
        let does = |kind| profile.as_ref().is_ok_and(|profile| profile.has(kind));
        // Creates may fill as many places again.
        let files = parameters.get(&description::FILES) * if does(Does::Create) { 2 } else { 1 };
        // Over a time nobody knows how many there will be.
        let ops = parameters.get(&description::OPS);
        let appended = profile.as_ref().map_or(0, |profile| profile.most_appended(ops));
        let largest =
            parameters.get(&description::MAX_SIZE).max(parameters.get(&description::MIN_SIZE));
        Space {
            bytes: Bytes((largest * files).0.saturating_add(appended)),
            inodes: files + parameters.get(&description::DIRECTORIES) + 1,
        }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        run(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

/// The profile, if all parameters fit each other.
fn checked(parameters: &Parameters) -> Result<Profile, String> {
    let profile = Profile::of(parameters)?;
    let (min, max) =
        (parameters.get(&description::MIN_SIZE).0, parameters.get(&description::MAX_SIZE).0);
    if min > max {
        return Err(format!("min_size={} is above max_size={}", Bytes(min), Bytes(max)));
    }
    let whole = profile.groups.iter().all(|group| group.block.is_multiple_of(512));
    if parameters.get(&description::DIRECT) && (!whole || !min.is_multiple_of(4096) || min != max) {
        return Err("direct I/O needs blocks of whole sectors and files of one size, whole \
                    blocks of 4 KiB; or set direct=off"
            .to_owned());
    }
    if parameters.get(&description::KEEP) && parameters.get(&description::AGE_PARAMETER) > 0.0 {
        return Err("what ages the filesystem goes with the files: set keep=off".to_owned());
    }
    Ok(profile)
}

fn run(context: &mut Context<'_>) -> Result<(), Failure> {
    let parameters = context.parameters();
    let profile = checked(parameters).map_err(Failure::Input)?;
    let (min, max) =
        (parameters.get(&description::MIN_SIZE).0, parameters.get(&description::MAX_SIZE).0);
    let direct = parameters.get(&description::DIRECT);
    let directories = parameters.get(&description::DIRECTORIES);
    let (count, keep) = (parameters.get(&description::FILES), parameters.get(&description::KEEP));
    let opened = open_target(context.target())?;
    let target = opened.as_fd();
    let left = Files::left(target, count, directories).map_err(Failure::before)?;
    if let Some(files) = &left {
        let refused = |why: &str| {
            let what = "the files that an earlier workload has left";
            Err(Failure::Input(format!("{what} {why}")))
        };
        if files.without_place(target).map_err(Failure::before)? > 0 {
            return refused(
                "are more or lie elsewhere: `files` and `directories` must be the same",
            );
        }
        if direct && files.holds_other_than(min) {
            return refused("have other sizes than these, which direct I/O does not take");
        }
    }
    let made = left.is_none();
    let files = left.unwrap_or_else(|| Files::draw(context.seed(), count, min, max, directories));
    if parameters.get(&description::AGE_PARAMETER) > 0.0 {
        let (size, used) = fill_state(target).map_err(Failure::before)?;
        if used * 2 > size {
            return Err(Failure::Input(format!(
                "the filesystem is in use, {} of {}: age would fill it",
                Bytes(used),
                Bytes(size)
            )));
        }
    }
    if made {
        make_directories(target, directories).map_err(Failure::before)?;
    }
    let cold = parameters.get(&COLD);
    let first = job(target, &files, parameters);
    let mut done = prepare(context, &first, &profile, made);
    let opened = if cold && done.is_ok() { reopen_cold(context, opened)? } else { opened };
    let target = opened.as_fd();
    if done.is_ok() {
        let second = job(target, &files, context.parameters());
        done = perform(context, &second, &profile);
    }
    if !keep {
        walk::remove(target, DIRECTORY, || ()).map_err(Failure::after)?;
    }
    done
}

fn job<'a>(target: BorrowedFd<'a>, files: &'a Files, parameters: &Parameters) -> Job<'a> {
    Job {
        target,
        files,
        direct: parameters.get(&description::DIRECT),
        align: parameters.get(&description::ALIGN),
        filling: Filling::of(parameters),
        min: parameters.get(&description::MIN_SIZE).0,
        max: parameters.get(&description::MAX_SIZE).0,
    }
}

fn make_directories(target: BorrowedFd<'_>, directories: u64) -> Result<(), OpError> {
    let mut path = PathBuffer::new();
    path.text(DIRECTORY);
    let mode = Mode::from_raw_mode(0o755);
    rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
    for number in 0..directories {
        path.clear().text(DIRECTORY).text("/d").number(number, 4);
        rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
    }
    Ok(())
}

/// Makes the files, if `make` says so, and ages the filesystem.
fn prepare(
    context: &mut Context<'_>,
    job: &Job<'_>,
    profile: &Profile,
    make: bool,
) -> Result<(), Failure> {
    let parameters = context.parameters();
    let seed = context.seed();
    let age = parameters.get(&description::AGE_PARAMETER);
    if make {
        let block = parameters.get(&description::CREATE_BLOCK).0.clamp(1, 64 << 20) as usize;
        let mut contents = vec![1; block];
        job.filling.fill(&mut seed.stream("ffsb contents"), &mut contents);
        let mut maker = Worker::new(job, &profile.groups[0], 0, seed, "ffsb maker");
        let count = (job.files.len() / 2) as u64;
        context.phase(&CREATE, count, |recorder| {
            for place in 0..job.files.len() {
                if let Some(size) = *job.files.read(place) {
                    maker.fill(place, size, &mut contents, recorder)?;
                }
            }
            sync(job)
        })?;
    } else {
        context.skip(&CREATE, "an earlier workload has left the files");
    }
    if age > 0.0 {
        let contents = Contents::new(seed, "ffsb aged", 64 << 10, job.filling);
        let mut aging = Aging::new(job.target, seed.stream("ffsb aging"), contents);
        context.phase_with(
            &AGE,
            0,
            |recorder| {
                let full = aging.until(age, recorder)?;
                sync(job)?;
                Ok(full)
            },
            |full, result| {
                result.figures.insert("fullness".to_owned(), *full);
                if *full < age {
                    let note = "no more files fitted: it is less full than asked for";
                    result.notes.push(note.to_owned());
                }
            },
        )?;
    } else {
        context.skip(&AGE, "not asked for");
    }
    Ok(())
}

fn sync(job: &Job<'_>) -> Result<(), OpError> {
    rustix::fs::syncfs(job.target).map_err(|error| OpError::new("syncfs", DIRECTORY, error))
}

/// Lets the threads go.
fn perform(context: &mut Context<'_>, job: &Job<'_>, profile: &Profile) -> Result<(), Failure> {
    let parameters = context.parameters();
    let seed = context.seed();
    let ops = parameters.get(&description::OPS);
    let time = parameters.get(&description::TIME);
    if job.direct
        && let Some(place) = job.files.first()
    {
        let mut path = PathBuffer::new();
        job.files.path(place, &mut path);
        let tried = open_direct(job.target, &path.to_string(), profile.groups[0].block);
        match tried.map_err(|e| Failure::Op { phase: RUN.name, error: path.failed("open")(e) })? {
            Ok(_) => {}
            Err(reason) => {
                context.skip(&RUN, reason);
                return Ok(());
            }
        }
    }
    let groups = profile.groups.iter();
    let each = groups.flat_map(|group| (0..group.threads).map(move |_| group));
    let workers: Vec<Worker<'_>> = (0..)
        .zip(each)
        .map(|(number, group)| {
            Worker::new(job, group, number, seed, &format!("ffsb thread {number}"))
        })
        .collect();
    let threads = workers.len() as u64;
    phase_with_threads(
        context,
        &RUN,
        threads * ops,
        workers,
        |mut worker, group, recorder| {
            let start = group.start();
            let mut performed = 0;
            while !group.is_stopped()
                && if ops == 0 { recorder.lap() - start < time } else { performed < ops }
            {
                worker.perform(recorder, ops != 0)?;
                performed += 1;
                if !worker.group.delay.is_zero() {
                    think(worker.group.delay);
                    // What it waited is no part of the next op.
                    recorder.restart();
                }
            }
            Ok(worker.transactions)
        },
        |_| sync(job),
        figures,
    )?;
    if context.verify() {
        verify(job)?;
    }
    Ok(())
}

fn figures(transactions: &[u64], result: &mut PhaseResult) {
    let seconds = result.wall.0.max(1) as f64 / 1e9;
    let mib = |bytes: Bytes| bytes.0 as f64 / 1_048_576.0 / seconds;
    let all: u64 = transactions.iter().sum();
    let figures = [
        ("transactions", all as f64),
        ("transactions_per_sec", all as f64 / seconds),
        ("ops_per_sec", result.ops as f64 / seconds),
        ("read_mib_per_s", mib(result.read_bytes)),
        ("write_mib_per_s", mib(result.write_bytes)),
        ("cpu_percent", result.cpu.total().0 as f64 / result.wall.0.max(1) as f64 * 100.0),
    ];
    result.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
}

/// Every file has the size that the ops must have left it with.
fn verify(job: &Job<'_>) -> Result<(), Failure> {
    let mut path = PathBuffer::new();
    for place in 0..job.files.len() {
        job.files.path(place, &mut path);
        let found = match rustix::fs::statat(
            job.target,
            path.c_str(),
            rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(stat) => Some(stat.st_size as u64),
            Err(rustix::io::Errno::NOENT) => None,
            Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
        };
        let expected = *job.files.read(place);
        if found != expected {
            return Err(Failure::Verify(format!("{path}: {found:?} bytes, not {expected:?}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
