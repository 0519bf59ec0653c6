//! What of a file has reached the disk, as the kernel's cachestat tells.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::{Ending, skip};

/// The same on every kind of processor; the crate libc has no name for it.
const CACHESTAT: libc::c_long = 451;

/// Pages of a file that are not on the disk yet. On a filesystem in memory they never are.
///
/// # Errors
/// When the kernel does not tell.
pub fn unwritten(file: &File) -> io::Result<u64> {
    let whole = [0u64; 2];
    // Pages in memory, changed, on their way, and two more counts.
    let mut counts = [0u64; 5];
    let (from, to) = (whole.as_ptr(), counts.as_mut_ptr());
    // SAFETY: cachestat reads two numbers and writes five; both arrays live on.
    match unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), from, to, 0) } {
        0 => Ok(counts[1] + counts[2]),
        _ => Err(io::Error::last_os_error()),
    }
}

/// # Errors
/// Skips the test unless it can be seen in this directory whether a file was written out.
pub fn needs_to_see_what_is_written(directory: &Path) -> Ending {
    let look = || -> io::Result<u64> {
        let mut file = tempfile::tempfile_in(directory)?;
        file.write_all(b"text")?;
        file.sync_all()?;
        unwritten(&file)
    };
    match look() {
        Ok(0) => Ok(()),
        Ok(_) => skip(format!("{} is not on a disk", directory.display())),
        Err(error) => skip(format!("needs cachestat, of Linux 6.5 ({error})")),
    }
}
