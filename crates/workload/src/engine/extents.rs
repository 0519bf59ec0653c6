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

/// The byte of the device at which the file begins; `None` where the filesystem supports neither
/// call, or the file has no blocks.
pub(crate) fn first_place(file: BorrowedFd<'_>) -> Option<u64> {
    if let Ok(request) = ask(file, 0) {
        return (request.mapped > 0).then_some(request.extents[0].physical);
    }
    let block = place_of(file, 0).ok()?;
    let size = u64::try_from(rustix::fs::fstat(file).ok()?.st_blksize).ok()?;
    (block > 0).then_some(u64::from(block) * size)
}

/// `FIGETBSZ` of linux/fs.h: `_IO(0x00, 2)`.
const FIGETBSZ: libc::c_ulong = 2;

/// An ioctl with one `int` for both question and answer.
fn ask_number(file: BorrowedFd<'_>, what: libc::c_ulong, number: u32) -> Result<u32, Errno> {
    let mut number = libc::c_int::try_from(number).map_err(|_| Errno::RANGE)?;
    // SAFETY: the kernel reads and writes one int.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), what as _, &raw mut number) };
    if done != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    u32::try_from(number).map_err(|_| Errno::RANGE)
}

/// Where the file's block lies, in blocks of the device; 0 for nowhere.
fn place_of(file: BorrowedFd<'_>, block: u32) -> Result<u32, Errno> {
    ask_number(file, FIBMAP, block)
}

/// Runs of blocks that follow one another on the device, up to the first hole: what counting
/// with FIBMAP yields. The file is written back before. 0 for a file without blocks. By FIEMAP, or
/// as root by FIBMAP where the filesystem has only that.
///
/// # Errors
/// When the filesystem supports neither.
pub(crate) fn fragments(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    match by_extents(file) {
        Err(lacking @ (Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL)) => {
            by_blocks(file).map_err(|_| lacking)
        }
        told => told,
    }
}

fn by_blocks(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    let size = rustix::fs::fstat(file)?.st_size.unsigned_abs();
    rustix::fs::fsync(file)?;
    let block = u64::from(ask_number(file, FIGETBSZ, 0)?.max(1));
    let blocks = u32::try_from(size.div_ceil(block)).map_err(|_| Errno::RANGE)?;
    let (mut runs, mut before) = (0, None);
    for number in 0..blocks {
        let place = place_of(file, number)?;
        if place == 0 {
            break;
        }
        runs += u64::from(before != Some(place.wrapping_sub(1)));
        before = Some(place);
    }
    Ok(runs)
}

fn by_extents(file: BorrowedFd<'_>) -> Result<u64, Errno> {
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
