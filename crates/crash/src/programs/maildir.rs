//! Mails, each a file of its own.

use std::io;

use super::{Run, SYNCED};
use crate::Version;

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    for directory in ["tmp", "new"] {
        std::fs::create_dir(run.path(directory))?;
    }
    run.sync_directory(".")?;
    run.each_round(|run, round| {
        let (tmp, new) = (format!("tmp/{round}"), format!("new/{round}"));
        let content = run.content("mail", round);
        let why = "a mail appears in `new` whole";
        run.relied(&new, vec![Version::Absent, Version::Is(content)], why);
        run.write(&tmp, content)?.sync_all()?;
        std::fs::rename(run.path(&tmp), run.path(&new))?;
        run.sync_directory("new")?;
        run.promised(&new, vec![Version::Is(content)], SYNCED);
        Ok(())
    })
}
