//! An editor that keeps a backup while it writes the file anew.

use std::io;

use super::{Run, SYNCED};
use crate::Version;

const NAME: &str = "text";
const BACKUP: &str = "text~";

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    let mut old = run.content(NAME, u64::MAX);
    run.begin_with(NAME, old)?;
    run.each_round(|run, round| {
        let new = run.content(NAME, round);
        run.promised(BACKUP, vec![Version::Anything], "");
        run.write(BACKUP, old)?.sync_all()?;
        run.sync_directory(".")?;
        run.promised(BACKUP, vec![Version::Is(old)], SYNCED);
        run.promised(NAME, vec![Version::Anything], "");
        run.write(NAME, new)?.sync_all()?;
        run.promised(NAME, vec![Version::Is(new)], "fsync returned");
        old = new;
        Ok(())
    })
}
