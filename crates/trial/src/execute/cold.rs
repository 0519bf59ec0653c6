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
    /// By unmounting it and mounting it again: touches nothing else on the machine.
    Remount { mounted: &'a Mounted, plan: &'a Plan, devices: Vec<PathBuf> },
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
            Cooling::Remount { mounted, plan, devices } => {
                // A pool keeps its own cache until it is let go of.
                let between = || {
                    if let Some(attachment) = &plan.attachment {
                        run(&attachment.detach)?;
                    }
                    devices.iter().for_each(drop_device_buffers);
                    plan.attachment.as_ref().map_or(Ok(()), |attachment| run(&attachment.attach))
                };
                if let Err(error) = mounted.remount(&plan.mount, between) {
                    return warm(format!("it could not be mounted again: {error}"));
                }
                if let Err(error) = settle() {
                    return warm(format!("after it was mounted again: {error}"));
                }
                match target.refresh() {
                    Ok(()) => Cache::Cold {
                        how: match plan.attachment {
                            None => "unmounted and mounted again".to_owned(),
                            Some(_) => "exported and imported again".to_owned(),
                        },
                    },
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
