//! A header of a file, which is believed to change as a whole.

use std::io;
use std::os::unix::fs::FileExt;

use super::Run;
use crate::{Content, Version};

/// Bytes of the header: what most filesystems write at once, and more than a sector.
const LEN: u64 = 4096;
const NAME: &str = "header";

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    let of = |run: &Run<'_>, round| Content { len: LEN, ..run.content(NAME, round) };
    let mut old = of(run, u64::MAX);
    run.begin_with(NAME, old)?;
    run.each_round(|run, round| {
        let new = of(run, round);
        let mixed = vec![Version::Mixed(old, new)];
        run.promised(NAME, mixed, "bytes that were synced are there, or those written over them");
        let why = "a header is the old or the new one, whole";
        run.relied(NAME, vec![Version::Is(old), Version::Is(new)], why);
        let file = std::fs::File::options().write(true).open(run.path(NAME))?;
        file.write_all_at(&new.bytes(), 0)?;
        file.sync_data()?;
        run.promised(NAME, vec![Version::Is(new)], "fdatasync returned");
        old = new;
        Ok(())
    })
}
