//! How files take room and give it up.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FallocateFlags;

use super::finding::{Finding, words};

const MEBI: u64 = 1 << 20;

/// Bytes that no filesystem can compress or share.
pub(super) fn noise(len: usize, mut state: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 8);
    state = (state + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    while bytes.len() < len {
        // xorshift64*, for bytes that differ, nothing more.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes.extend(state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn written(path: &Path, contents: &[u8]) -> Result<File, Finding> {
    let write = || {
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        file.write_all(contents)?;
        // Data that has no block yet can be neither shared nor freed.
        rustix::fs::syncfs(&file)?;
        Ok(file)
    };
    write().map_err(|error: io::Error| Finding::untried(words(&error)))
}

/// The room that the file takes, as soon as it is as expected, or after a time limit: ZFS updates
/// its counts every five seconds.
fn room(file: &File, wanted: impl Fn(u64) -> bool) -> u64 {
    let look = || {
        let _ = rustix::fs::syncfs(file);
        file.metadata().map_or(0, |data| data.blocks() * 512)
    };
    let found = look();
    if wanted(found) {
        return found;
    }
    waiting::pause(std::time::Duration::from_secs(11), "blocks are freed some seconds later");
    look()
}

pub(super) fn reflink(directory: &Path) -> Finding {
    let contents = noise(MEBI as usize, 1);
    let path = directory.join("first");
    let attempt = |first: &File| -> io::Result<bool> {
        let clone = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(directory.join("second"))?;
        rustix::fs::ioctl_ficlone(&clone, first)?;
        clone.write_all_at(b"other", 0)?;
        Ok(fs::read(&path)? == contents)
    };
    match written(&path, &contents) {
        Err(finding) => finding,
        Ok(first) => match attempt(&first) {
            Ok(whole) => Finding::if_so(whole, "the first changed with the second"),
            Err(error) => Finding::no(words(&error)),
        },
    }
}

pub(super) fn punch_hole(directory: &Path) -> Finding {
    let file = match written(&directory.join("file"), &noise(MEBI as usize, 2)) {
        Ok(file) => file,
        Err(finding) => return finding,
    };
    let before = room(&file, |found| found >= MEBI);
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if let Err(error) = rustix::fs::fallocate(&file, flags, MEBI / 2, MEBI / 4) {
        return Finding::no(words(&error.into()));
    }
    let mut read = vec![1_u8; (MEBI / 4) as usize];
    match file.read_exact_at(&mut read, MEBI / 2) {
        Err(error) => Finding::no(words(&error)),
        Ok(()) if read.iter().any(|byte| *byte != 0) => Finding::no("the hole is not all zeros"),
        Ok(()) => Finding::if_so(
            room(&file, |found| found < before) < before,
            "the file takes as much room as before",
        ),
    }
}

pub(super) fn preallocate(directory: &Path) -> Finding {
    let file = match written(&directory.join("file"), b"") {
        Ok(file) => file,
        Err(finding) => return finding,
    };
    match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, MEBI) {
        Err(error) => Finding::no(words(&error.into())),
        Ok(()) => Finding::if_so(
            room(&file, |found| found >= MEBI) >= MEBI,
            "it was accepted and takes no room",
        ),
    }
}

pub(super) fn sparse(directory: &Path) -> Finding {
    let file = match written(&directory.join("file"), b"") {
        Ok(file) => file,
        Err(finding) => return finding,
    };
    match file.write_all_at(b"x", 64 * MEBI) {
        Err(error) => Finding::no(words(&error)),
        Ok(()) => Finding::if_so(room(&file, |_| true) < 8 * MEBI, "the gap takes room"),
    }
}

pub(super) fn direct(directory: &Path) -> Finding {
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_DIRECT)
        .open(directory.join("file"));
    let file = match open {
        Ok(file) => file,
        Err(error) => return Finding::no(words(&error)),
    };
    // Memory on a page's boundary: the kernel takes no other.
    let mut memory = vec![0_u8; 3 * 4096];
    let start = memory.as_ptr().align_offset(4096);
    let contents = noise(4096, 3);
    memory[start..start + 4096].copy_from_slice(&contents);
    if let Err(error) = file.write_all_at(&memory[start..start + 4096], 0) {
        return Finding::no(words(&error));
    }
    match file.read_exact_at(&mut memory[start + 4096 - 4096..start + 4096], 0) {
        Err(error) => Finding::no(words(&error)),
        Ok(()) => Finding::if_so(memory[start..start + 4096] == contents, "it reads differently"),
    }
}

/// `struct fiemap` of linux/fiemap.h with room for one extent.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extent: [u64; 7],
}

/// `FS_IOC_FIEMAP` of linux/fs.h.
const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;

pub(super) fn fiemap(directory: &Path) -> Finding {
    let file = match written(&directory.join("file"), &noise(MEBI as usize, 4)) {
        Ok(file) => file,
        Err(finding) => return finding,
    };
    let mut map = Fiemap {
        start: 0,
        length: u64::MAX,
        flags: 0,
        mapped_extents: 0,
        extent_count: 1,
        reserved: 0,
        extent: [0; 7],
    };
    // SAFETY: the structure is laid out as the kernel's, with room for the one extent it
    // says it has, and outlives the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
    if answer != 0 {
        return Finding::no(words(&io::Error::last_os_error()));
    }
    Finding::if_so(map.mapped_extents > 0 && map.extent[2] > 0, "it says that nothing is mapped")
}
