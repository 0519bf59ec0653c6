//! A new version that takes the old one's place.

use std::io;

use super::{Run, SYNCED};
use crate::Version;

const NAME: &str = "settings";
const NEW: &str = "settings.new";

pub(super) fn safe(run: &mut Run<'_>) -> io::Result<()> {
    replace(run, true, true)
}

pub(super) fn no_directory(run: &mut Run<'_>) -> io::Result<()> {
    replace(run, true, false)
}

pub(super) fn careless(run: &mut Run<'_>) -> io::Result<()> {
    replace(run, false, false)
}

fn replace(run: &mut Run<'_>, fsync: bool, directory: bool) -> io::Result<()> {
    let mut old = run.content(NAME, u64::MAX);
    run.begin_with(NAME, old)?;
    // Where no version is known to be durable, each one since is what may be there.
    let mut since = vec![Version::Is(old)];
    run.each_round(|run, round| {
        let new = run.content(NAME, round);
        since.push(Version::Is(new));
        let why = "rename replaces the old file by the whole new one";
        run.promised(NAME, vec![Version::Anything], "");
        run.relied(NAME, since.clone(), why);
        let file = run.write(NEW, new)?;
        if fsync {
            file.sync_all()?;
        }
        drop(file);
        std::fs::rename(run.path(NEW), run.path(NAME))?;
        if directory {
            run.sync_directory(".")?;
            since = vec![Version::Is(new)];
            run.promised(NAME, since.clone(), SYNCED);
        }
        old = new;
        Ok(())
    })
}
