//! A file that has no name before it is whole.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::Run;
use crate::Version;

pub(super) fn run(run: &mut Run<'_>) -> io::Result<()> {
    run.each_round(|run, round| {
        let (name, content) = (format!("whole-{round}"), run.content("whole", round));
        let flags = OFlags::TMPFILE | OFlags::RDWR;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file: File = rustix::fs::open(run.path("."), flags, mode)?.into();
        let why = "linked when it was whole and synced";
        run.relied(&name, vec![Version::Absent, Version::Is(content)], why);
        file.write_all(&content.bytes())?;
        file.sync_all()?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, unnamed, CWD, run.path(&name), AtFlags::SYMLINK_FOLLOW)?;
        run.sync_directory(".")?;
        let why = "fsync of the file, then link, then fsync of its directory returned";
        run.promised(&name, vec![Version::Is(content)], why);
        Ok(())
    })
}
