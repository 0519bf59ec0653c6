//! Emptying the target's cache, limited to the target wherever that is possible.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use stack::Command;
use stack::filesystems::Plan;
use workload::Cache;

use super::mounting::Mounted;
use super::target::Target;

/// How a target's cache is emptied.
pub(super) enum Cooling<'a> {
    /// By unmounting it and mounting it again: touches nothing else on the machine, unless
    /// the machine is there for this trial `alone`.
    Remount { mounted: &'a Mounted, plan: &'a Plan, devices: Vec<PathBuf>, alone: bool },
    /// By dropping the whole machine's caches, if that was asked for.
    Directory { drop_machine_caches: bool },
}

impl Cooling<'_> {
    /// How long the last mount took, where mounting is how the cache is emptied.
    pub(super) fn mount_took(&self) -> Option<units::Nanos> {
        match self {
            Cooling::Remount { mounted, .. } => Some(mounted.took()),
            Cooling::Directory { .. } => None,
        }
    }

    /// Empties the cache and says how, or says why it stays warm. `run` runs a command,
    /// `settle` does what is done after each mount.
    pub(super) fn make_cold(
        &self,
        target: &mut Target,
        run: &dyn Fn(&Command) -> Result<(), String>,
        settle: &dyn Fn() -> Result<(), String>,
    ) -> Cache {
        let warm = |why: String| Cache::Warm { why };
        match self {
            Cooling::Remount { devices, .. } if devices.is_empty() => {
                warm("the filesystem lives in memory".to_owned())
            }
            Cooling::Remount { mounted, plan, devices, alone } => {
                let mut how = "unmounted and mounted again";
                // A pool keeps its own cache until that is emptied or it is let go of.
                let between = || {
                    let attachment = plan.attachment.as_ref();
                    let empty = attachment.filter(|_| *alone).and_then(|a| a.empty.as_ref());
                    // A lab of an older build lacks the program for it.
                    if empty.is_some_and(|empty| run(empty).is_ok()) {
                        how = "unmounted, the pool's cache emptied, and mounted again";
                        return Ok(());
                    }
                    if let Some(attachment) = attachment {
                        how = "exported and imported again";
                        run(&attachment.detach)?;
                    }
                    devices.iter().for_each(drop_device_buffers);
                    attachment.map_or(Ok(()), |attachment| run(&attachment.attach))
                };
                if let Err(error) = mounted.remount(&plan.mount, between) {
                    return warm(format!("it could not be mounted again: {error}"));
                }
                if let Err(error) = settle() {
                    return warm(format!("after it was mounted again: {error}"));
                }
                match target.refresh() {
                    Ok(()) => Cache::Cold { how: how.to_owned() },
                    Err(found) => warm(found),
                }
            }
            Cooling::Directory { drop_machine_caches: false } => warm(
                "dropping it would drop the whole machine's; --drop-caches allows that".to_owned(),
            ),
            Cooling::Directory { drop_machine_caches: true } => {
                rustix::fs::sync();
                match std::fs::write("/proc/sys/vm/drop_caches", "3") {
                    Ok(()) => Cache::Cold { how: "the whole machine's caches dropped".to_owned() },
                    Err(error) => warm(format!("/proc/sys/vm/drop_caches: {error}")),
                }
            }
        }
    }
}

/// Drops the block device's own page cache. Closing a device does that only when nobody
/// else has it open, and the trial's claim does.
fn drop_device_buffers(device: &PathBuf) {
    // BLKFLSBUF of linux/fs.h: _IO(0x12, 97).
    const BLKFLSBUF: libc::c_ulong = 0x1261;
    if let Ok(file) = File::open(device) {
        // SAFETY: the request takes no argument and the descriptor is open.
        unsafe {
            libc::ioctl(file.as_raw_fd(), BLKFLSBUF as _, 0);
        }
    }
}
