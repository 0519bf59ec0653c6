//! A package manager: several files, each replaced by a new version.

use std::io;

use super::{Run, SYNCED};
use crate::Version;

const FILES: [&str; 4] = ["bin", "lib", "doc", "conf"];

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    let mut old = FILES.map(|name| run.content(name, u64::MAX));
    for (name, content) in FILES.iter().zip(old) {
        run.begin_with(name, content)?;
    }
    run.each_round(|run, round| {
        let new = FILES.map(|name| run.content(name, round));
        for (name, content) in FILES.iter().zip(new) {
            run.write(&format!("{name}.new"), content)?.sync_all()?;
        }
        for ((name, old), new) in FILES.iter().zip(old).zip(new) {
            run.promised(name, vec![Version::Anything], "");
            let why = "rename replaces the old file by the whole new one";
            run.relied(name, vec![Version::Is(old), Version::Is(new)], why);
            std::fs::rename(run.path(&format!("{name}.new")), run.path(name))?;
        }
        run.sync_directory(".")?;
        for (name, new) in FILES.iter().zip(new) {
            run.promised(name, vec![Version::Is(new)], SYNCED);
        }
        old = new;
        Ok(())
    })
}
