//! What the file of a loop device says about where it holds data.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use rustix::fs::{CWD, Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::Errno;

use crate::ioctl;
use crate::sysfs::Entry;

/// Holes smaller than this are read: that is quicker than to ask for each.
const SMALLEST_HOLE: u64 = 1 << 20;

/// The parts of the loop device that may hold anything but zeros. `None` if that cannot be known
/// from its file: it is no loop device, stands on a block device, is encrypted or a partition, or
/// its file has no name any more. `None` also if asking takes longer than `deadline`.
pub(crate) fn data(
    device: &File,
    entry: &Entry,
    size: u64,
    deadline: Instant,
) -> Option<Vec<Range<u64>>> {
    if entry.is_partition() {
        return None;
    }
    let status = ioctl::loop_status(device).ok()?;
    if status.rdevice != 0 || status.encrypt_type != 0 {
        return None;
    }
    let file = backing_file(entry, (status.device, status.inode))?;
    // What was written to the device or the file and not yet stored must not count as a hole.
    device.sync_all().ok()?;
    file.sync_all().ok()?;
    let inside = status.offset..status.offset.checked_add(size)?;
    let found = data_in(&file, inside, deadline).ok()??;
    let status_now = ioctl::loop_status(device).ok()?;
    let same = (status_now.device, status_now.inode, status_now.offset)
        == (status.device, status.inode, status.offset);
    same.then_some(found)
}

/// The very file that is attached, whatever its name leads to by now.
fn backing_file(entry: &Entry, identity: (u64, u64)) -> Option<File> {
    let name = entry.read("loop/backing_file")?;
    // A handle first: opening a file that took the name could do something.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = File::from(openat(CWD, name, flags, Mode::empty()).ok()?);
    let metadata = handle.metadata().ok()?;
    if !metadata.is_file() || (metadata.dev(), metadata.ino()) != identity {
        return None;
    }
    File::open(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()
}

/// The ranges with data, counted from the start of `inside`, neighbours joined.
fn data_in(
    file: &File,
    inside: Range<u64>,
    deadline: Instant,
) -> io::Result<Option<Vec<Range<u64>>>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut position = inside.start;
    while position < inside.end {
        if Instant::now() > deadline {
            return Ok(None);
        }
        let start = match seek(file, SeekFrom::Data(position)) {
            Ok(start) if start < inside.end => start,
            Ok(_) | Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(start))?.min(inside.end);
        let (start, after) = (start - inside.start, end - inside.start);
        match found.last_mut() {
            Some(last) if start - last.end < SMALLEST_HOLE => last.end = after,
            _ => found.push(start..after),
        }
        position = end;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[test]
    fn data_is_counted_from_the_start_and_cut_at_the_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        for offset in [1 << 20, 20 << 20, (20 << 20) + 65536, 60 << 20] {
            // Not stored yet: what is only in the cache counts as well.
            file.write_all_at(&[1; 4096], offset).unwrap();
        }
        let found = data_in(&file, 2 << 20..60 << 20, soon()).unwrap().unwrap();
        let [range] = &found[..] else { panic!("{found:?}") };
        assert_eq!(range.start, 18 << 20);
        assert!(range.end >= (18 << 20) + 65536 + 4096 && range.end < 58 << 20, "{found:?}");
        let nothing = data_in(&file, 30 << 20..50 << 20, soon()).unwrap().unwrap();
        assert_eq!(nothing, []);
        let late = Instant::now() - Duration::from_millis(1);
        assert_eq!(data_in(&file, 0..64 << 20, late).unwrap(), None);
    }
}
