//! A log that grows.

use std::io::{self, Write};

use super::Run;
use crate::{Content, Version};

const NAME: &str = "log";
/// Bytes of a record.
const RECORD: u64 = 700;

pub(super) fn safe(run: &mut Run<'_>) -> io::Result<()> {
    append(run, true)
}

pub(super) fn careless(run: &mut Run<'_>) -> io::Result<()> {
    append(run, false)
}

fn append(run: &mut Run<'_>, sync: bool) -> io::Result<()> {
    let whole = Content { len: RECORD * (run.rounds + 1), ..run.content(NAME, 0) };
    let bytes = whole.bytes();
    run.write(NAME, Content { len: RECORD, ..whole })?.sync_all()?;
    run.sync_directory(".")?;
    let at_least = |records: u64| vec![Version::Begins(whole, RECORD * records)];
    run.promised(NAME, at_least(1), "fsync returned");
    let mut file = std::fs::File::options().append(true).open(run.path(NAME))?;
    run.each_round(|run, round| {
        let from = RECORD * (round + 1);
        file.write_all(&bytes[from as usize..(from + RECORD) as usize])?;
        if sync {
            file.sync_data()?;
            run.promised(NAME, at_least(round + 2), "fdatasync returned");
        } else {
            run.relied(NAME, at_least(round + 2), "the record was written, but not synced");
        }
        Ok(())
    })
}
