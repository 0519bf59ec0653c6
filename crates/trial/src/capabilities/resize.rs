//! Growing and shrinking, with the device under the filesystem growing before or cut after.

use stack::filesystems::Change;
use units::Bytes;

use super::finding::Finding;
use super::stage::{SIZE, Stage, Subject};

const LARGER: Bytes = Bytes::from_mib(512);
const SMALLER: Bytes = Bytes::from_mib(320);

pub(super) fn grow_mounted(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let steps = subject.upkeep(LARGER).grow_mounted;
    grow(&mut subject, &steps, true)
}

pub(super) fn grow_unmounted(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let steps = subject.upkeep(LARGER).resize_unmounted;
    grow(&mut subject, &steps, false)
}

pub(super) fn shrink_mounted(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let steps = subject.upkeep(SMALLER).shrink_mounted;
    shrink(&mut subject, &steps, true)
}

pub(super) fn shrink_unmounted(stage: &Stage<'_>) -> Result<Finding, String> {
    let mut subject = stage.make(SIZE)?;
    let steps = subject.upkeep(SMALLER).resize_unmounted;
    shrink(&mut subject, &steps, false)
}

fn grow(subject: &mut Subject<'_>, steps: &[Change], mounted: bool) -> Result<Finding, String> {
    if steps.is_empty() {
        return Ok(Finding::without_command());
    }
    subject.fill()?;
    let before = subject.room()?;
    if !mounted {
        subject.unmount()?;
    }
    subject.resize_device(LARGER)?;
    if let Err(error) = carry_out(subject, steps) {
        return Ok(refused(error));
    }
    if !mounted {
        subject.mount()?;
    }
    let grown = Bytes(subject.room()?.0.saturating_sub(before.0));
    // Nine tenths are enough: an allocation group that is not whole stays unused.
    if grown.0 < (LARGER.0 - SIZE.0) / 10 * 9 {
        return Ok(Finding::no(format!("it has {grown} more")));
    }
    Ok(sound(subject))
}

fn shrink(subject: &mut Subject<'_>, steps: &[Change], mounted: bool) -> Result<Finding, String> {
    if steps.is_empty() {
        return Ok(Finding::without_command());
    }
    subject.fill()?;
    if !mounted {
        subject.unmount()?;
    }
    if let Err(error) = carry_out(subject, steps) {
        return Ok(refused(error));
    }
    if subject.device().is_some() {
        subject.unmount()?;
        subject.resize_device(SMALLER)?;
        if let Err(error) = subject.mount() {
            return Ok(Finding::no(format!("on the smaller device: {error}")));
        }
    }
    let room = subject.room()?;
    if room > SMALLER {
        return Ok(Finding::no(format!("it says it has {room} on {SMALLER}")));
    }
    Ok(match sound(subject) {
        // Some shrink no further than this: XFS by its last allocation group alone.
        Finding::Yes(_) => Finding::Yes("by a sixth".to_owned()),
        other => other,
    })
}

fn carry_out(subject: &Subject<'_>, steps: &[Change]) -> Result<(), String> {
    steps.iter().try_for_each(|step| match step {
        Change::Run(command) => {
            let done = subject.stage.programs.run(command);
            done.map(|_| ()).map_err(|error| error.to_string())
        }
        Change::Remount(options) => subject.remount(options),
    })
}

/// A program that asks a question and gets no answer has not refused.
fn refused(error: String) -> Finding {
    match error.contains("[y/N]") {
        true => Finding::untried(format!("it wants an answer first: {error}")),
        false => Finding::no(error),
    }
}

/// Whether contents and check are right.
fn sound(subject: &mut Subject<'_>) -> Finding {
    match subject.contents().and_then(|()| subject.unmount()).and_then(|()| subject.check()) {
        Ok(()) => Finding::yes(""),
        Err(error) => Finding::no(error),
    }
}
