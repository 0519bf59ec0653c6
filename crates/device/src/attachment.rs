//! Attaches a file to a loop device of fstrial's own, and detaches it.
//!
//! Discards are switched off before anything is mounted. That setting outlives the attachment, and
//! it cannot be undone (Linux 6.18): with a maximum of 0 the granularity becomes 0 too, and every
//! other value is then refused. So it is set only on a loop device that was made for this file. Its
//! number is so high that `losetup -f` does not reach it while lower ones are free, and the loop
//! device is removed afterwards.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use stack::Refusal;

use crate::patience::patiently;
use crate::sysfs::Entry;
use crate::{ioctl, usage};

/// The first number tried for a loop device of our own.
const FIRST_OWN: u32 = 64;
/// Numbers tried.
const OWN_NUMBERS: u32 = 1024;
/// Attempts to win a free loop device against other processes.
const ATTEMPTS: u32 = 64;

const NO_DISCARD: (&str, &str) = ("queue/discard_max_bytes", "0");

/// Why there is no loop file.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// Refused, before anything was made or because the host does not support loop files.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A step failed.
    #[error("cannot {step} {}: {source}", path.display())]
    Failed {
        /// The step: `allocate`, `attach`.
        step: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// A file on a loop device.
pub(crate) struct Attachment {
    /// Read-only: keeps the file attached.
    pub(crate) device: File,
    pub(crate) entry: Entry,
    pub(crate) discard_disabled: bool,
}

/// Attaches the file with direct I/O, to be detached by the kernel after its last user.
pub(crate) fn attach(file: &File, path: &Path, block_size: u32) -> Result<Attachment, LoopError> {
    let control = control().map_err(|error| {
        Refusal::new(path.display().to_string(), format!("/dev/loop-control: {error}")).with_next(
            "loop files need root and the loop module (modprobe loop); or use --testbed dir",
        )
    })?;
    let failed = |source| LoopError::Failed { step: "attach", path: path.to_owned(), source };
    let (device, own) = match own_device(&control, file, path, block_size) {
        Some(device) => (device, true),
        None => (free_device(&control, file, path, block_size).map_err(failed)?, false),
    };
    let (device, entry) = device;
    let discard_disabled = own
        && entry.write(NO_DISCARD.0, NO_DISCARD.1).is_ok()
        && entry.read(NO_DISCARD.0).as_deref() == Some(NO_DISCARD.1);
    let logical = entry.read("queue/logical_block_size").unwrap_or_default();
    if logical != block_size.to_string() {
        detach(device, entry.number.minor, own);
        let rule = format!("blocks of {block_size} bytes were requested, but it has {logical}");
        return Err(Refusal::new(path.display().to_string(), rule).into());
    }
    Ok(Attachment { device, entry, discard_disabled })
}

/// Detaches the file, at once or after its last user, and removes a loop device of our own.
pub(crate) fn detach(device: File, number: u32, own: bool) {
    let _ = ioctl::detach_loop(&device);
    drop(device);
    if own && let Ok(control) = control() {
        // Another process, such as udev, may have it open for a moment, so removal is retried. If
        // it is still mounted, it stays; it loses its file after the last use, and the next loop
        // file with its number or a sweep removes it.
        let node = PathBuf::from(format!("/dev/loop{number}"));
        let _ = patiently(
            || ioctl::remove_loop(&control, number),
            |removed| {
                let busy = removed.as_ref().err()?.raw_os_error() == Some(libc::EBUSY);
                busy.then(|| node.clone())
            },
        );
    }
}

/// Removes loop devices of our own that a killed process left behind, with nothing attached.
/// Only those with discards switched off are ours; the kernel refuses those in use.
pub(crate) fn remove_idle(number: u32) -> bool {
    let idle = || {
        let entry =
            Entry::of(usage::block_number(Path::new(&format!("/dev/loop{number}")))?).ok()?;
        let ours = number >= FIRST_OWN
            && entry.read("loop/backing_file").is_none()
            && entry.read(NO_DISCARD.0).as_deref() == Some(NO_DISCARD.1);
        (ours && ioctl::remove_loop(control().ok()?, number).is_ok()).then_some(())
    };
    idle().is_some()
}

/// Whether this process can have loop devices: the driver answers.
///
/// # Errors
/// Why not.
pub fn loop_devices() -> io::Result<()> {
    ioctl::free_loop(control()?).map(drop)
}

fn control() -> io::Result<File> {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/loop-control")
}

/// A loop device made for this file; `None` where the kernel or `/dev` does not allow it.
fn own_device(control: &File, file: &File, path: &Path, block_size: u32) -> Option<(File, Entry)> {
    for number in FIRST_OWN..FIRST_OWN + OWN_NUMBERS {
        match ioctl::add_loop(control, number) {
            Ok(()) => {}
            // Left by a loop file that was dropped while mounted, or by a killed process.
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                if !remove_idle(number) || ioctl::add_loop(control, number).is_err() {
                    continue;
                }
            }
            Err(_) => return None,
        }
        match configure(file, path, number, block_size) {
            Ok(device) => return Some(device),
            Err(error) => {
                let _ = ioctl::remove_loop(control, number);
                // Another process attached its own file to it first, or removed it as idle.
                if !lost_to_another(&error) {
                    return None;
                }
            }
        }
    }
    None
}

/// One of the machine's free loop devices.
fn free_device(
    control: &File,
    file: &File,
    path: &Path,
    block_size: u32,
) -> io::Result<(File, Entry)> {
    let mut last = io::Error::from_raw_os_error(libc::EBUSY);
    for _ in 0..ATTEMPTS {
        let number = ioctl::free_loop(control)?;
        match configure(file, path, number, block_size) {
            Ok(device) => return Ok(device),
            Err(error) if lost_to_another(&error) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Whether another process attached its file first, or removed the loop device.
fn lost_to_another(error: &io::Error) -> bool {
    let lost = [libc::EBUSY, libc::ENXIO, libc::ENOENT, libc::ENODEV];
    error.raw_os_error().is_some_and(|code| lost.contains(&code))
}

fn configure(file: &File, path: &Path, number: u32, block_size: u32) -> io::Result<(File, Entry)> {
    let node = format!("/dev/loop{number}");
    let device = std::fs::OpenOptions::new().read(true).write(true).open(&node)?;
    let flags = ioctl::LO_FLAGS_AUTOCLEAR | ioctl::LO_FLAGS_DIRECT_IO;
    let label = path.as_os_str().as_encoded_bytes();
    ioctl::configure_loop(&device, file, block_size, flags, label)?;
    let kept = File::open(&node)?;
    let number = usage::block_number(Path::new(&node))
        .ok_or_else(|| io::Error::other("its node is not a block device"))?;
    Ok((kept, Entry::of(number)?))
}
