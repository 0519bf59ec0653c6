//! Whether anybody holds a device, and the locks that hold it for us. Module `claim` says why
//! both are needed.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use stack::Refusal;
use units::DeviceNumber;

use crate::patience::patiently;
use crate::sysfs::Entry;

/// Opens the node and makes sure that it is the device meant.
pub(crate) fn open_node(
    node: &Path,
    name: &str,
    number: DeviceNumber,
    flags: i32,
) -> Result<File, Refusal> {
    let opened = patiently(
        || {
            std::fs::OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | flags)
                .open(node)
        },
        |opened| {
            let error = opened.as_ref().err()?;
            (error.raw_os_error() == Some(libc::EBUSY)).then(|| node.to_owned())
        },
    );
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => Refusal::new(name, format!("{} is held by someone", node.display()))
            .with_next(
                "see `lsof`, `fuser -v`, `lsblk` and `zpool status` for who holds it; name \
                 another device",
            ),
        Some(libc::EACCES | libc::EPERM) => {
            Refusal::new(name, format!("it cannot be opened ({error})"))
                .with_next("block devices need root; use --dir without")
        }
        _ => Refusal::new(name, format!("it cannot be opened ({error})")),
    })?;
    match file.metadata() {
        Ok(metadata) if DeviceNumber::from_raw(metadata.rdev()) == number => Ok(file),
        _ => Err(Refusal::new(name, "another device took over its name meanwhile")
            .with_next("see `lsblk` and start again")),
    }
}

/// Opens the device and the whole disk exclusively and closes them again. Opening for reading is
/// enough, and unlike the close of a writer it does not make udev examine the disk again.
pub(crate) fn probe_exclusively(
    node: &Path,
    name: &str,
    number: DeviceNumber,
) -> Result<(), Refusal> {
    open_node(node, name, number, libc::O_EXCL)?;
    if let Some(disk) = disk_of_partition(name, number)? {
        open_node(&disk.node(), name, disk.number, libc::O_EXCL)?;
    }
    Ok(())
}

fn disk_of_partition(name: &str, number: DeviceNumber) -> Result<Option<Entry>, Refusal> {
    let disk = Entry::of(number).and_then(|entry| entry.whole_disk());
    let disk =
        disk.map_err(|error| Refusal::new(name, format!("sysfs does not answer ({error})")))?;
    Ok((disk.number != number).then_some(disk))
}

/// Locks the device for us alone and a partition's disk against a claim of the whole.
pub(crate) fn lock(
    device: &File,
    node: &Path,
    name: &str,
    number: DeviceNumber,
) -> Result<Option<File>, Refusal> {
    let locked = |node: &Path| {
        Refusal::new(name, format!("{} is locked by another process", node.display()))
            .with_next("wait for the other fstrial to end, or name another device")
    };
    // A child that was just forked shares our locks until it executes its program, and udev locks a
    // disk while it examines it. Both last only a moment, so the lock is retried.
    let flock = |file: &File, node: &Path, operation: FlockOperation| {
        patiently(
            || flock(file, operation),
            |locked| (*locked == Err(Errno::WOULDBLOCK)).then(|| node.to_owned()),
        )
        .map_err(|_| locked(node))
    };
    flock(device, node, FlockOperation::NonBlockingLockExclusive)?;
    let Some(disk) = disk_of_partition(name, number)? else { return Ok(None) };
    let file = open_node(&disk.node(), name, disk.number, 0)?;
    flock(&file, &disk.node(), FlockOperation::NonBlockingLockShared)?;
    Ok(Some(file))
}
