//! New files.

use std::io;

use super::{Run, SYNCED};
use crate::Version;

pub(super) fn safe(run: &mut Run<'_>) -> io::Result<()> {
    run.each_round(|run, round| {
        let (name, content) = (format!("new-{round}"), run.content("new", round));
        run.write(&name, content)?.sync_all()?;
        run.sync_directory(".")?;
        run.promised(&name, vec![Version::Is(content)], SYNCED);
        Ok(())
    })
}

pub(super) fn careless(run: &mut Run<'_>) -> io::Result<()> {
    run.each_round(|run, round| {
        let (name, content) = (format!("new-{round}"), run.content("new", round));
        run.write(&name, content)?.sync_all()?;
        let why = "fsync of the file returned; that its name is there too is relied on";
        run.relied(&name, vec![Version::Is(content)], why);
        Ok(())
    })
}
