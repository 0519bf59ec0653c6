//! New files: made so that nobody else can read or write them, and given their mode when they are
//! complete.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fremovexattr, openat, unlinkat};
use rustix::io::Errno;

use crate::reach::ACCESS_LIST;
use crate::{is_root, random_name};

pub(crate) fn unfinished_name() -> io::Result<String> {
    Ok(format!(".fstrial-{}.unfinished", random_name()?))
}

/// A new file that nobody else can read or write.
pub(crate) fn create_new(directory: BorrowedFd<'_>, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Gives a new file its mode. As root, that mode is all: what the directory's default ACL gives to
/// others is taken away, since it could let them write.
pub(crate) fn share(file: &File, mode: u32) -> io::Result<()> {
    if is_root() {
        match fremovexattr(file, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(fchmod(file, Mode::from_raw_mode(mode))?)
}

/// The umask of this process, read without changing it for other threads; the strictest one if it
/// cannot be read.
pub(crate) fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// Finds out whether a file can be made in a directory, without leaving one.
pub(crate) fn check_writable(directory: BorrowedFd<'_>) -> io::Result<()> {
    let name = unfinished_name()?;
    create_new(directory, &name)?;
    Ok(unlinkat(directory, name.as_str(), AtFlags::empty())?)
}
