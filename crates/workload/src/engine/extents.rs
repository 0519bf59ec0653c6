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

impl Request {
    /// The extents that the kernel has filled in.
    fn told(&self) -> &[Extent] {
        &self.extents[..(self.mapped as usize).min(EXTENTS)]
    }
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
        return request.told().first().map(|extent| extent.physical);
    }
    let block = place_of(file, 0).ok()?;
    // Not `st_blksize`: on FAT that is a cluster, and blocks are sectors.
    byte_of(block, ask_number(file, FIGETBSZ, 0).ok()?)
}

/// The byte at which a block of this size lies; `None` for nowhere.
fn byte_of(block: u32, size: u32) -> Option<u64> {
    (block > 0).then_some(u64::from(block) * u64::from(size))
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
    runs_of_blocks(blocks, |number| place_of(file, number))
}

/// The runs of a file of this many blocks, each of which `ask` places.
fn runs_of_blocks(
    blocks: u32,
    mut ask: impl FnMut(u32) -> Result<u32, Errno>,
) -> Result<u64, Errno> {
    let (mut runs, mut before) = (0, None);
    for number in 0..blocks {
        let place = ask(number)?;
        if place == 0 {
            break;
        }
        runs += u64::from(before != Some(place.wrapping_sub(1)));
        before = Some(place);
    }
    Ok(runs)
}

fn by_extents(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    runs_of_extents(|start| ask(file, start))
}

/// The runs of a file whose extents from a byte on are told by `ask`, some at a time.
fn runs_of_extents(mut ask: impl FnMut(u64) -> Result<Request, Errno>) -> Result<u64, Errno> {
    let mut runs = 0;
    // Where the next block would lie, in the file and on the device.
    let mut expected = (0, None);
    loop {
        let request = ask(expected.0)?;
        for extent in request.told() {
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
        if request.told().is_empty() {
            return Ok(runs);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// Runs of a file of these extents: place in the file, place on the device, length. They are
    /// told as the kernel does: those that end after `start`, no more than 64 at a time.
    fn runs(extents: &[(u64, u64, u64)]) -> u64 {
        let mut asked = 0;
        let told = |start: u64| {
            asked += 1;
            assert!(asked < 10, "asked again and again");
            let extents_told = [NO_EXTENT; EXTENTS];
            let (flags, mapped, room, reserved) = (0, 0, EXTENTS as u32, 0);
            let length = u64::MAX - start;
            let mut request =
                Request { start, length, flags, mapped, room, reserved, extents: extents_told };
            let after = extents.iter().filter(|(logical, _, length)| logical + length > start);
            for (extent, place) in after.zip(&mut request.extents) {
                let (logical, physical, length) = *extent;
                let flags = u32::from(extents.last() == Some(extent));
                *place = Extent { logical, physical, length, flags, ..NO_EXTENT };
                request.mapped += 1;
            }
            Ok(request)
        };
        runs_of_extents(told).unwrap()
    }

    #[test]
    fn extents_that_follow_one_another_are_one_run() {
        const MIB: u64 = 1 << 20;
        assert_eq!(runs(&[(0, 8 * MIB, 4096), (4096, 8 * MIB + 4096, 8192)]), 1);
        let back = [(0, 8 * MIB, 4096), (4096, 5 * MIB, 4096), (8192, 5 * MIB + 4096, 4096)];
        assert_eq!(runs(&back), 2);
        // More than the kernel tells at a time, from the end of the device to its beginning.
        let many: Vec<_> = (0..70_u64).map(|at| (at * 4096, (1000 - at) * 4096, 4096)).collect();
        assert_eq!(runs(&many), 70);
    }

    #[test]
    fn runs_are_counted_up_to_the_first_hole() {
        assert_eq!(runs(&[(0, 1 << 20, 8192), (16384, 1 << 22, 4096)]), 1);
        assert_eq!(runs(&[(4096, 1 << 20, 4096)]), 0);
        assert_eq!(runs(&[]), 0);
        let blocks = |places: &[u32]| {
            runs_of_blocks(places.len() as u32, |number| Ok(places[number as usize]))
        };
        assert_eq!(blocks(&[100, 101, 102, 200, 201, 0, 300]), Ok(2));
        assert_eq!(blocks(&[7, 6, 5]), Ok(3));
        assert_eq!(blocks(&[0, 5]), Ok(0));
        assert_eq!(runs_of_blocks(2, |_| Err(Errno::PERM)), Err(Errno::PERM));
    }

    #[test]
    fn a_block_is_counted_in_the_size_of_blocks() {
        assert_eq!(byte_of(3, 512), Some(1536));
        assert_eq!(byte_of(u32::MAX, 4096), Some(17_592_186_040_320));
        assert_eq!(byte_of(0, 512), None);
    }

    #[test]
    fn a_file_begins_where_the_filesystem_says() {
        let home = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: usize| {
            std::fs::write(home.path().join(name), vec![7; bytes]).unwrap();
            File::open(home.path().join(name)).unwrap()
        };
        let (one, other, empty) = (file("one", 1 << 16), file("other", 1 << 16), file("empty", 0));
        assert_eq!(first_place(empty.as_fd()), None);
        assert_eq!(first_place(File::open("/dev/null").unwrap().as_fd()), None);
        // The directory for temporary files may lie on a filesystem that does not say.
        if ask(one.as_fd(), 0).is_ok() {
            let places = [first_place(one.as_fd()), first_place(other.as_fd())];
            assert!(places.iter().all(|place| place.is_some_and(|at| at >= 512)), "{places:?}");
            assert_ne!(places[0], places[1]);
        }
    }

    #[test]
    fn blocks_and_extents_are_the_same_runs() {
        let home = tempfile::tempdir().unwrap();
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = options.open(home.path().join("file")).unwrap();
        file.write_all_at(&[7; 8192], 0).unwrap();
        file.write_all_at(&[7; 8192], 1 << 20).unwrap();
        // Either may be refused, by the filesystem or to who is not root.
        if let (Ok(extents), Ok(blocks)) = (by_extents(file.as_fd()), by_blocks(file.as_fd())) {
            assert_eq!(extents, blocks);
            assert!(blocks >= 1, "what is before the hole");
        }
        if let Ok(request) = ask(file.as_fd(), 4096) {
            let end = request.told().last().map_or(0, |extent| extent.logical + extent.length);
            assert!(end >= (1 << 20) + 8192, "all up to the end is told: {end}");
        }
    }

    #[test]
    fn a_number_that_is_asked_for_is_told_or_refused() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("ten"), "0123456789").unwrap();
        let file = File::open(home.path().join("ten")).unwrap();
        assert_eq!(ask_number(file.as_fd(), libc::FIONREAD as _, 0), Ok(10));
        let null = File::open("/dev/null").unwrap();
        assert_eq!(ask_number(null.as_fd(), FIBMAP, 7), Err(Errno::NOTTY));
        assert_eq!(ask_number(file.as_fd(), FIBMAP, u32::MAX), Err(Errno::RANGE));
    }
}
