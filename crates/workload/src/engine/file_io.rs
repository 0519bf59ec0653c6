//! Reading and writing file contents in pieces, each piece one system call.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::{Failure, OpError};

/// Opens a directory to resolve paths from. Close it before the cache is dropped or the
/// filesystem unmounted.
pub(crate) fn open_target(target: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, target, flags, Mode::empty()).map_err(|error| Failure::Op {
        phase: "before the first",
        error: OpError::new("open", target, error),
    })
}

/// Writes all of `bytes`; one call unless the kernel takes less.
#[inline]
pub(crate) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(wrote) => bytes = &bytes[wrote..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `buffer` as far as the file goes; 0 at its end.
#[inline]
pub(crate) fn read(file: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(&file, &mut *buffer) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Calls `each` with every name of a directory, and how many there were.
/// Buffer and flags are those of glibc's `opendir` and `readdir`.
pub(crate) fn list(
    directory: impl AsFd,
    path: &CStr,
    mut each: impl FnMut(&CStr),
) -> Result<u64, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, path, flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(32 << 10);
    let mut names = RawDir::new(opened, buffer.spare_capacity_mut());
    let mut count = 0;
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            count += 1;
            each(name);
        }
    }
    Ok(count)
}

/// Whether a file's contents are `expected`. Not for use within a clock.
pub(crate) fn holds(directory: impl AsFd, path: &CStr, expected: &[u8]) -> Result<bool, Errno> {
    use std::io::Read;
    let opened =
        rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::with_capacity(expected.len() + 1);
    File::from(opened)
        .read_to_end(&mut found)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(found == expected)
}
