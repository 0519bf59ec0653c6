//! A header of a file, which is believed to change as a whole.

use std::io;
use std::os::unix::fs::FileExt;

use super::Run;
use super::overwrite::{DATA_SYNCED, in_each_round};
use crate::Version;

/// Bytes of the header: what most filesystems write at once, and more than a sector.
const LEN: u64 = 4096;
const NAME: &str = "header";

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    in_each_round(run, NAME, LEN, |run, old, new| {
        let why = "a header is the old or the new one, whole";
        run.relied(NAME, vec![Version::Is(old), Version::Is(new)], why);
        let file = std::fs::File::options().write(true).open(run.path(NAME))?;
        file.write_all_at(&new.bytes(), 0)?;
        file.sync_data()?;
        run.promised(NAME, vec![Version::Is(new)], DATA_SYNCED);
        Ok(())
    })
}
