//! What it costs to administer a filesystem: to make, mount, fill, unmount, check and repair it,
//! and to mount it after a power failure.

mod files;
mod phases;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use units::Bytes;

use self::files::{DIRECTORY, Files};
use self::phases::*;
use crate::care::{Cared, unmounted};
use crate::engine::contents::Filling;
use crate::engine::file_io::open_target;
use crate::engine::unsupported::is_unsupported;
use crate::workloads::age::fill_state;
use crate::{
    Cache, Care, Context, Description, Failure, InputFacts, OpError, Parameters, PhaseResult,
    Space, Uncared, Workload,
};

pub(super) struct Upkeep;

impl Workload for Upkeep {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn space(&self, parameters: &Parameters, _: &InputFacts) -> Space {
        let bytes = parameters.get(&SIZE);
        Space { bytes, inodes: bytes.0 / parameters.get(&MEAN).0.max(1) }
    }

    fn largest_filesystem(&self, parameters: &Parameters) -> Option<Bytes> {
        Some(parameters.get(&SIZE) * LARGER_MAX)
    }

    fn needs_own_filesystem(&self) -> Option<&'static str> {
        Some("it makes, unmounts and damages the filesystem that it measures")
    }

    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        keep(context).inspect_err(|_| context.skip_rest("a phase before it failed"))
    }
}

fn keep(context: &mut Context<'_>) -> Result<(), Failure> {
    let warm = |why: &str| Cache::Warm { why: why.to_owned() };
    refuse_larger(context)?;
    if let Some(why) =
        context.care_phase(&MKFS, &Care::Make, warm("what was there is gone"), plain)?
    {
        context.skip_rest(&why);
        return Ok(());
    }
    context.care_phase(&FIRST_MOUNT, &Care::FirstMount, warm("it was just made"), plain)?;
    let parameters = context.parameters();
    let (mean, filling) = (parameters.get(&MEAN).0, Filling::of(parameters));
    let mut files = Files::new(context.seed(), mean, filling);
    fill(context, &mut files)?;
    change(context, &mut files)?;
    clone_files(context, &mut files)?;
    snapshots(context, &mut files)?;
    mounts(context, &mut files)?;
    check_and_repair(context)?;
    let target = open_target(context.target())?;
    match context.verify().then(|| files.damaged(target.as_fd())) {
        Some(damaged) if damaged > 0 => Err(Failure::Verify(format!(
            "{damaged} of {} files are not as they were written",
            files.count()
        ))),
        _ => Ok(()),
    }
}

/// How many times larger than was meant a filesystem may be.
const LARGER_MAX: u64 = 4;

/// Refuses a much larger filesystem: filling a large disk by mistake would take days.
fn refuse_larger(context: &Context<'_>) -> Result<(), Failure> {
    let size = context.parameters().get(&SIZE).0;
    let target = open_target(context.target())?;
    let (found, _) = fill_state(target.as_fd()).map_err(outside)?;
    match found > LARGER_MAX * size {
        false => Ok(()),
        true => Err(Failure::Input(format!(
            "the filesystem has {}, of which `full` is a part: size={} means to fill all of it",
            Bytes(found),
            Bytes(found)
        ))),
    }
}

fn fill(context: &mut Context<'_>, files: &mut Files) -> Result<(), Failure> {
    let full = context.parameters().get(&FULL);
    let mean = context.parameters().get(&MEAN).0;
    let target = open_target(context.target())?;
    let (free, used) = room(target.as_fd()).map_err(outside)?;
    let goal = (((free + used) as f64 * full) as u64).saturating_sub(used);
    let no_room = files.no_room;
    context.phase_with(
        &FILL,
        goal / mean.max(1),
        |recorder| {
            files.fill(target.as_fd(), goal, recorder, CREATE)?;
            sync(target.as_fd())?;
            Ok((files.count(), files.no_room - no_room))
        },
        |(count, no_room), result| {
            result.figures.insert("files".to_owned(), *count as f64);
            if let Ok((free, used)) = room(target.as_fd()) {
                let full = used as f64 / (free + used).max(1) as f64;
                result.figures.insert("fullness".to_owned(), full);
            }
            if *no_room > 0 {
                result.notes.push(NO_MORE.to_owned());
            }
        },
    )?;
    Ok(())
}

const NO_MORE: &str = "it was full before that: the last file did not fit";

fn change(context: &mut Context<'_>, files: &mut Files) -> Result<(), Failure> {
    let changes = context.parameters().get(&CHANGES);
    let target = open_target(context.target())?;
    context.phase_with(
        &CHANGE,
        changes,
        |recorder| {
            let replaced = files.change(target.as_fd(), changes, |size| {
                recorder.wrote(size);
                recorder.done(REPLACE);
            })?;
            sync(target.as_fd())?;
            Ok(changes - replaced.len() as u64)
        },
        |no_room, result| note_no_room(*no_room, result),
    )?;
    Ok(())
}

fn note_no_room(no_room: u64, result: &mut PhaseResult) {
    if no_room > 0 {
        result.figures.insert("no_room".to_owned(), no_room as f64);
        result.notes.push(format!("{no_room} files could not be replaced: there was no room"));
    }
}

fn clone_files(context: &mut Context<'_>, files: &mut Files) -> Result<(), Failure> {
    let count = context.parameters().get(&CHANGES).min(files.count());
    let target = open_target(context.target())?;
    if count == 0 {
        context.skip(&REFLINK, "there is no file to copy");
        return Ok(());
    }
    let tried = files.clone_file(target.as_fd(), 0);
    files.remove_clone(target.as_fd(), 0).map_err(outside)?;
    match tried {
        Err(error) if clones_are_unsupported(&error) => {
            context.skip(&REFLINK, "files cannot share blocks on it");
            return Ok(());
        }
        other => other.map_err(outside)?,
    }
    sync(target.as_fd()).map_err(outside)?;
    context.phase(&REFLINK, count, |recorder| {
        for nth in 0..count {
            files.clone_file(target.as_fd(), nth)?;
            recorder.done(CLONE);
        }
        sync(target.as_fd())
    })?;
    (0..count).try_for_each(|nth| files.remove_clone(target.as_fd(), nth)).map_err(outside)?;
    sync(target.as_fd()).map_err(outside)
}

fn clones_are_unsupported(error: &OpError) -> bool {
    let errno = Errno::from_io_error(&error.source);
    errno.is_some_and(|errno| {
        is_unsupported(errno) || matches!(errno, Errno::NOTTY | Errno::INVAL | Errno::XDEV)
    })
}

fn snapshots(context: &mut Context<'_>, files: &mut Files) -> Result<(), Failure> {
    let parameters = context.parameters();
    let (count, between) = (parameters.get(&SNAPSHOTS), parameters.get(&BETWEEN));
    let missing = match count {
        0 => Some("none was asked for (snapshots=0)".to_owned()),
        // One outside the clocks, which shows whether the filesystem supports them.
        _ => context.care(&Care::TakeSnapshot(0))?,
    };
    if let Some(why) = missing {
        context.skip(&SNAPSHOT, why.as_str());
        context.skip(&SNAPSHOT_DELETE, why);
        return Ok(());
    }
    let host = context.host();
    let target = open_target(context.target())?;
    context.phase_with(
        &SNAPSHOT,
        count * (1 + between),
        |recorder| {
            let mut no_room = 0;
            for nth in 1..=count {
                done(host.care(&Care::TakeSnapshot(nth)), "snapshot")?;
                recorder.done(TAKE);
                let replaced = files.change(target.as_fd(), between, |size| {
                    recorder.wrote(size);
                    recorder.done(REPLACE_AFTER);
                })?;
                no_room += between - replaced.len() as u64;
            }
            sync(target.as_fd())?;
            Ok(no_room)
        },
        |no_room, result| note_no_room(*no_room, result),
    )?;
    if let Some(why) = context.care(&Care::RemoveSnapshot(0))? {
        context.skip(&SNAPSHOT_DELETE, why);
        return Ok(());
    }
    context.phase(&SNAPSHOT_DELETE, count, |recorder| {
        for nth in 1..=count {
            done(host.care(&Care::RemoveSnapshot(nth)), "remove snapshot")?;
            recorder.done(REMOVE);
        }
        sync(target.as_fd())?;
        done(host.care(&Care::FreeSnapshots), "free snapshots")
    })
}

fn done(cared: Result<units::Nanos, Uncared>, op: &'static str) -> Result<(), OpError> {
    cared.map(drop).map_err(|error| match error {
        Uncared::Missing(why) | Uncared::Failed(why) => {
            OpError::new(op, DIRECTORY, io::Error::other(why))
        }
    })
}

fn mounts(context: &mut Context<'_>, files: &mut Files) -> Result<(), Failure> {
    change_outside(context, files)?;
    let warm = Cache::Warm { why: "it was in use".to_owned() };
    context.care_phase(&UNMOUNT, &Care::Unmount, warm, plain)?;
    context.care_phase(&MOUNT, &Care::Mount, unmounted(), plain)?;

    let changed = change_outside(context, files)?;
    let last = changed.last().copied();
    let target = open_target(context.target())?;
    if let Some(last) = last {
        files.fsync(target.as_fd(), last).map_err(outside)?;
    }
    drop(target);
    if let Some(why) = context.care(&Care::LosePower)? {
        context.skip(&MOUNT_AFTER_POWER_LOSS, why);
        return Ok(());
    }
    let place = context.target().to_owned();
    let look = |result: &mut PhaseResult| {
        let (Some(last), Ok(target)) = (last, open_target(&place)) else { return };
        if !files.is_whole(target.as_fd(), last) {
            result.notes.push(LOST.to_owned());
        }
    };
    context.care_phase(&MOUNT_AFTER_POWER_LOSS, &Care::Mount, unmounted(), look)?;
    // Files that were not synced may be there or not.
    files.forget(changed);
    Ok(())
}

const LOST: &str = "the file whose fsync had completed before the power failed is missing or not \
                    as it was written";

fn change_outside(context: &Context<'_>, files: &mut Files) -> Result<Vec<usize>, Failure> {
    let target = open_target(context.target())?;
    let changes = context.parameters().get(&CHANGES);
    files.change(target.as_fd(), changes, |_| ()).map_err(outside)
}

fn check_and_repair(context: &mut Context<'_>) -> Result<(), Failure> {
    needed(context.care(&Care::Unmount)?)?;
    context.care_phase(&CHECK, &Care::Check, unmounted(), plain)?;
    match context.care(&Care::Damage)? {
        Some(why) => context.skip(&REPAIR, why),
        None => {
            needed(context.care_phase(&REPAIR, &Care::Repair, unmounted(), plain)?)?;
            context.care(&Care::Check).map_err(|failure| {
                Failure::Verify(format!("the repaired filesystem is not sound: {failure}"))
            })?;
        }
    }
    needed(context.care(&Care::Mount)?)
}

/// Nothing to add to a result.
fn plain(_: &mut PhaseResult) {}

/// For an operation that must be supported if the filesystem could be made.
fn needed(cared: Cared) -> Result<(), Failure> {
    cared.map_or(Ok(()), |why| Err(Failure::Care(why)))
}

/// Bytes that can still be used, and those in use.
fn room(target: BorrowedFd<'_>) -> Result<(u64, u64), OpError> {
    let stat =
        rustix::fs::fstatvfs(target).map_err(|error| OpError::new("statvfs", DIRECTORY, error))?;
    let used = stat.f_blocks.saturating_sub(stat.f_bfree);
    Ok((stat.f_bavail * stat.f_frsize, used * stat.f_frsize))
}

fn sync(target: BorrowedFd<'_>) -> Result<(), OpError> {
    rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", DIRECTORY, error))
}

fn outside(error: OpError) -> Failure {
    Failure::Op { phase: "outside the phases", error }
}

#[cfg(test)]
mod alone_tests;
#[cfg(test)]
mod tests;
