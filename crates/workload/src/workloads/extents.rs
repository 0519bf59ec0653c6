//! Where a file lies on its device, and in how many pieces.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// The kernel's `struct fiemap` with room for extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

const EXTENTS: usize = 64;
/// `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;

const NO_EXTENT: Extent =
    Extent { logical: 0, physical: 0, length: 0, reserved: [0; 2], flags: 0, reserved_too: [0; 3] };

fn ask(file: BorrowedFd<'_>, start: u64) -> Result<Request, Errno> {
    let mut request = Request {
        start,
        length: u64::MAX - start,
        flags: FIEMAP_FLAG_SYNC,
        mapped: 0,
        room: EXTENTS as u32,
        reserved: 0,
        extents: [NO_EXTENT; EXTENTS],
    };
    // SAFETY: the kernel writes no more than `room` extents into the request, which is
    // laid out as its `struct fiemap` and lives until the call returns.
    let done = unsafe {
        libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, std::ptr::from_mut(&mut request))
    };
    if done != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    Ok(request)
}

/// `FIBMAP` of linux/fs.h: `_IO(0x00, 1)`; needs root.
const FIBMAP: libc::c_ulong = 1;

/// The byte of the device at which the file begins; `None` where the filesystem tells
/// neither way, or the file has no blocks.
pub(super) fn first_place(file: BorrowedFd<'_>) -> Option<u64> {
    if let Ok(request) = ask(file, 0) {
        return (request.mapped > 0).then_some(request.extents[0].physical);
    }
    let mut block: libc::c_int = 0;
    // SAFETY: the kernel reads and writes one int.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), FIBMAP as _, &raw mut block) };
    let size = u64::try_from(rustix::fs::fstat(file).ok()?.st_blksize).ok()?;
    (done == 0 && block > 0).then_some(u64::from(block.unsigned_abs()) * size)
}

/// Runs of blocks that follow one another on the device, up to the first hole: what counting
/// with FIBMAP yields. The file is written back before. 0 for a file without blocks.
pub(super) fn fragments(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut runs = 0;
    // Where the next block would lie, in the file and on the device.
    let mut expected = (0, None);
    loop {
        let request = ask(file, expected.0)?;
        let mapped = (request.mapped as usize).min(EXTENTS);
        for extent in &request.extents[..mapped] {
            if extent.logical > expected.0 {
                return Ok(runs);
            }
            if expected.1 != Some(extent.physical) {
                runs += 1;
            }
            expected =
                (extent.logical + extent.length, Some(extent.physical.wrapping_add(extent.length)));
            if extent.flags & FIEMAP_EXTENT_LAST != 0 {
                return Ok(runs);
            }
        }
        if mapped == 0 {
            return Ok(runs);
        }
    }
}
