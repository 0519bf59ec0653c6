//! Whether files run out before room does.

use std::fs::{self, File};

use super::finding::{Finding, words};
use super::stage::{SIZE, Stage};

const FILES: usize = 30_000;
const IN_A_DIRECTORY: usize = 500;

pub(super) fn dynamic(stage: &Stage<'_>) -> Result<Finding, String> {
    let subject = stage.make(SIZE)?;
    for nth in 0..FILES {
        let directory = subject.path().join((nth / IN_A_DIRECTORY).to_string());
        let made = match nth % IN_A_DIRECTORY {
            0 => fs::create_dir(&directory),
            _ => Ok(()),
        };
        let made = made.and_then(|()| File::create(directory.join(nth.to_string())).map(|_| ()));
        let Err(error) = made else { continue };
        let free = subject.statfs().map_or(0, |stat| (stat.f_bfree * stat.f_frsize) >> 20);
        let seen = format!("{} after {nth} files, {free} MiB free", words(&error));
        return Ok(match error.raw_os_error() {
            Some(libc::ENOSPC) if free >= 32 => Finding::no(seen),
            _ => Finding::untried(seen),
        });
    }
    Ok(Finding::yes(""))
}
