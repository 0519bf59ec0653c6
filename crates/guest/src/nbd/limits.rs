//! What mkfs reads of a disk in sysfs. nbd cannot be told it: its devices report an optimal request
//! of 128 KiB from Linux 6.9 on, from which mke2fs derives `stripe=32`, and physical sectors as small
//! as the logical ones. Files with what ublk reports are mounted over these, so that a contender is
//! made alike on both front ends.

use std::io;
use std::path::Path;

use units::SECTOR_BYTES;

use crate::order::QueueOrder;

/// Where the files lie.
const FILES: &str = "/run/nbd-limits";

/// The files below `queue` and what a disk has in them.
fn of(disk: &QueueOrder) -> [(&'static str, u64); 3] {
    let sector = u64::from(disk.physical_sector);
    [
        ("physical_block_size", sector),
        ("minimum_io_size", sector),
        ("optimal_io_size", SECTOR_BYTES),
    ]
}

/// Mounts them over those in `queue`, the directory of a device in sysfs.
///
/// # Errors
/// The kernel's.
pub(crate) fn cover(queue: &str, disk: &QueueOrder) -> io::Result<()> {
    std::fs::create_dir_all(FILES)?;
    for (name, value) in of(disk) {
        // Devices with the same value share a file.
        let file = format!("{FILES}/{name}-{value}");
        std::fs::write(&file, format!("{value}\n"))?;
        rustix::mount::mount_bind(Path::new(&file), Path::new(&format!("{queue}/{name}")))?;
    }
    Ok(())
}
