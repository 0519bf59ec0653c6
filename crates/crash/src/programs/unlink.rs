//! Files that are removed.

use std::io;

use super::Run;
use crate::Version;

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    let name = |round: u64| format!("old-{round}");
    let contents: Vec<_> = (0..run.rounds).map(|round| run.content("old", round)).collect();
    for (round, content) in (0..).zip(&contents) {
        run.begin_with(&name(round), *content)?;
    }
    run.each_round(|run, round| {
        let content = contents[round as usize];
        let either = vec![Version::Is(content), Version::Absent];
        run.promised(&name(round), either, "nothing but its removal was asked for");
        std::fs::remove_file(run.path(&name(round)))?;
        run.sync_directory(".")?;
        run.promised(&name(round), vec![Version::Absent], "fsync of its directory returned");
        Ok(())
    })
}
