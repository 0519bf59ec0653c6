//! Settings of a disk that the guest's kernel takes once the device is there.

use crate::nbd;
use crate::order::{DiskOrder, FrontEndKind};
use crate::ublk::REQUEST_BYTES;

/// Sets how the kernel treats a disk.
pub(crate) fn configure(
    front_end: FrontEndKind,
    nth: usize,
    disk: &DiskOrder,
) -> Result<(), String> {
    let set = |name: &str, value: &str| {
        let path = format!("{}/{name}", front_end.queue_directory(nth));
        std::fs::write(&path, value).map_err(|error| format!("{path} = {value}: {error}"))
    };
    if front_end == FrontEndKind::Nbd {
        // Settings that ublk takes when the device is made are set afterwards for nbd. The number
        // of requests is the driver's only while there is no scheduler; Linux accepts no fewer
        // than four, and the server takes no more than the disk's own queue depth.
        set("rotational", if disk.queue.rotational { "1" } else { "0" })?;
        set("max_sectors_kb", &(REQUEST_BYTES >> 10).to_string())?;
        set("scheduler", "none")?;
        set("nr_requests", &disk.queue.depth.max(4).to_string())?;
        nbd::cover(&front_end.queue_directory(nth), &disk.queue)
            .map_err(|error| format!("limits of disk {nth} (nbd): {error}"))?;
    }
    set("scheduler", &disk.queue.scheduler)?;
    set("read_ahead_kb", &(disk.queue.read_ahead.0 >> 10).to_string())
}
