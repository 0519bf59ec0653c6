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
    let of = |run: &Run<'_>, round| Content { len: LEN, ..run.content(NAME, round) };
    let mut old = of(run, u64::MAX);
    run.begin_with(NAME, old)?;
    run.each_round(|run, round| {
        let new = of(run, round);
        let mixed = vec![Version::Mixed(old, new)];
        run.promised(NAME, mixed, "bytes that were synced are there, or those written over them");
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
        old = new;
        Ok(())
    })
}

const DATA_SYNCED: &str = "fdatasync returned";
