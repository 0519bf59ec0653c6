//! Loop devices for tests, which go with the process that made them, however it ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::{Ending, needs_root, skip};

const LOOP_CLR_FD: u64 = 0x4c01;
const LOOP_CONFIGURE: u64 = 0x4c0a;
const LOOP_CTL_GET_FREE: u64 = 0x4c82;
const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_PARTSCAN: u32 = 8;

/// # Errors
/// Skips the test unless it runs as root on a kernel that gives it a loop device.
pub fn needs_loop_devices() -> Ending {
    needs_root()?;
    match free_number() {
        Ok(_) => Ok(()),
        Err(error) => skip(format!("needs loop devices (/dev/loop-control: {error})")),
    }
}

fn free_number() -> io::Result<i32> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    // SAFETY: the request takes no argument.
    match unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE as _) } {
        ..0 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

/// What of a file is attached, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    /// Where the device begins in the file.
    pub offset: u64,
    /// Its length; 0 is all that follows.
    pub length: u64,
    /// It cannot be written to.
    pub read_only: bool,
    /// The kernel looks for partitions on it.
    pub partitions: bool,
}

/// A file attached to a loop device. It is detached when this is dropped, and by the kernel when
/// the process dies: nothing but this descriptor keeps it.
#[derive(Debug)]
pub struct Attached {
    node: PathBuf,
    device: File,
}

impl Attached {
    /// Attaches all of a file, or of a device.
    pub fn over(file: &Path) -> Attached {
        Attached::part_of(file, Part::default())
    }

    /// Attaches a part of it.
    pub fn part_of(file: &Path, part: Part) -> Attached {
        let open = |path: &Path| OpenOptions::new().read(true).write(!part.read_only).open(path);
        let backing = open(file).unwrap();
        loop {
            let number = free_number().unwrap();
            let node = PathBuf::from(format!("/dev/loop{number}"));
            let attached = open(&node).and_then(|device| configure(&device, &backing, part));
            match attached {
                // Kept read-only: one that can write would be a use of the device.
                Ok(writer) => {
                    let device = File::open(&node).unwrap();
                    drop(writer);
                    return Attached { node, device };
                }
                // Another process took the number first.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::ENOENT)) => {}
                Err(error) => panic!("{}: {error}", node.display()),
            }
        }
    }

    /// The loop device's node.
    pub fn node(&self) -> &Path {
        &self.node
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // SAFETY: the request takes no argument. If it fails, closing the descriptor detaches.
        unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_CLR_FD as _, 0) };
    }
}

/// Detaches what is attached of files below a directory.
pub(crate) fn detach_all_of(directory: &Path) {
    for device in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = std::fs::read_to_string(device.path().join("loop/backing_file"));
        if backing.is_ok_and(|backing| Path::new(backing.trim()).starts_with(directory))
            && let Ok(node) = File::open(Path::new("/dev").join(device.file_name()))
        {
            // SAFETY: the request takes no argument.
            unsafe { libc::ioctl(node.as_raw_fd(), LOOP_CLR_FD as _, 0) };
        }
    }
}

fn configure(device: &File, backing: &File, part: Part) -> io::Result<File> {
    let flags = LO_FLAGS_AUTOCLEAR
        | if part.read_only { LO_FLAGS_READ_ONLY } else { 0 }
        | if part.partitions { LO_FLAGS_PARTSCAN } else { 0 };
    // `struct loop_config` of linux/loop.h, whose `struct loop_info64` begins at byte 8.
    let mut config = [0_u8; 304];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &backing.as_raw_fd().to_ne_bytes());
    put(8 + 24, &part.offset.to_ne_bytes());
    put(8 + 32, &part.length.to_ne_bytes());
    put(8 + 52, &flags.to_ne_bytes());
    // SAFETY: the request reads the structure, which outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE as _, config.as_ptr()) } {
        ..0 => Err(io::Error::last_os_error()),
        _ => device.try_clone(),
    }
}
