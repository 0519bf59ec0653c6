//! A page of a database: overwritten in place.

use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;

use super::Run;
use crate::{Content, Version};

/// Bytes of the file; each round overwrites all of it.
const LEN: u64 = 8192;
const NAME: &str = "pages";

pub(super) fn synced(run: &mut Run<'_>) -> io::Result<()> {
    overwrite(run, false)
}

pub(super) fn in_step(run: &mut Run<'_>) -> io::Result<()> {
    overwrite(run, true)
}

fn overwrite(run: &mut Run<'_>, dsync: bool) -> io::Result<()> {
    in_each_round(run, NAME, LEN, |run, _, new| {
        let mut how = std::fs::File::options();
        if dsync {
            how.custom_flags(OFlags::DSYNC.bits() as i32);
        }
        let file = how.write(true).open(run.path(NAME))?;
        file.write_all_at(&new.bytes(), 0)?;
        let why = if dsync { "write to a file opened with O_DSYNC returned" } else { DATA_SYNCED };
        if !dsync {
            file.sync_data()?;
        }
        run.promised(NAME, vec![Version::Is(new)], why);
        Ok(())
    })
}

/// Overwrites a file of so many bytes in each round; `write` gets the old and the new contents.
pub(super) fn in_each_round(
    run: &mut Run<'_>,
    name: &str,
    len: u64,
    mut write: impl FnMut(&mut Run<'_>, Content, Content) -> io::Result<()>,
) -> io::Result<()> {
    let of = |run: &Run<'_>, round| Content { len, ..run.content(name, round) };
    let mut old = of(run, u64::MAX);
    run.begin_with(name, old)?;
    run.each_round(|run, round| {
        let new = of(run, round);
        let mixed = vec![Version::Mixed(old, new)];
        run.promised(name, mixed, "bytes that were synced are there, or those written over them");
        write(run, old, new)?;
        old = new;
        Ok(())
    })
}

pub(super) const DATA_SYNCED: &str = "fdatasync returned";
