//! Direct I/O: suitable buffers, and a test whether a file supports it.

use std::ops::{Deref, DerefMut};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Bytes that begin at a page, touched before any clock.
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

const PAGE: usize = 4096;

impl Aligned {
    pub(crate) fn new(length: usize, fill: u8) -> Aligned {
        // A value other than zero: zeroed memory would not be touched here and would fault later.
        let mut bytes = vec![fill | 1; length + PAGE];
        bytes.fill(fill);
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Aligned { bytes, start, length }
    }
}

impl Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// Opens a file for reading and writing with direct I/O and tries a read of `length`. If that does
/// not work, the reason is returned as text.
pub(crate) fn open_direct(
    target: BorrowedFd<'_>,
    path: &str,
    length: usize,
) -> Result<Result<OwnedFd, String>, Errno> {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(target, path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {
            return Ok(Err("this filesystem has no direct I/O (O_DIRECT)".to_owned()));
        }
        Err(error) => return Err(error),
    };
    let mut buffer = Aligned::new(length, 0);
    match rustix::io::pread(&file, &mut *buffer, 0) {
        Err(Errno::INVAL) => Ok(Err(format!(
            "direct I/O of {length} bytes is not taken here; ask for a multiple of the \
             device's sector, or of {PAGE} where the filesystem takes whole pages"
        ))),
        Err(error) => Err(error),
        Ok(_) => Ok(Ok(file)),
    }
}
