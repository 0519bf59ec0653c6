//! A page of a database: overwritten in place.

use std::io;
use std::os::unix::fs::FileExt;

use super::Run;
use crate::{Content, Version};

/// Bytes of the file; each round overwrites all of it but in the order of its blocks.
const LEN: u64 = 8192;
const NAME: &str = "pages";

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    let of = |run: &Run<'_>, round| Content { len: LEN, ..run.content(NAME, round) };
    let mut old = of(run, u64::MAX);
    run.begin_with(NAME, old)?;
    run.each_round(|run, round| {
        let new = of(run, round);
        let mixed = vec![Version::Mixed(old, new)];
        run.promised(NAME, mixed, "bytes that were synced are there, or those written over them");
        let file = std::fs::File::options().write(true).open(run.path(NAME))?;
        file.write_all_at(&new.bytes(), 0)?;
        file.sync_data()?;
        run.promised(NAME, vec![Version::Is(new)], "fdatasync returned");
        old = new;
        Ok(())
    })
}
