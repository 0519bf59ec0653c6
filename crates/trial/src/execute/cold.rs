//! Emptying the target's cache, limited to the target wherever that is possible.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

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
    /// How long the last mount took, if the cache is emptied by mounting.
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
                let mut how = "";
                let between = || {
                    how = empty_below(plan, devices, *alone, run, &mut drop_device_buffers)?;
                    Ok(())
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

/// Empties the caches below a filesystem that is unmounted, and says what was done in all.
fn empty_below(
    plan: &Plan,
    devices: &[PathBuf],
    alone: bool,
    run: &dyn Fn(&Command) -> Result<(), String>,
    drop_buffers: &mut dyn FnMut(&Path),
) -> Result<&'static str, String> {
    let attachment = plan.attachment.as_ref();
    // A pool keeps its own cache until the cache is emptied or the pool is exported.
    let empty = attachment.filter(|_| alone).and_then(|a| a.empty.as_ref());
    // A lab that was built earlier does not have the program for it.
    if empty.is_some_and(|empty| run(empty).is_ok()) {
        return Ok("unmounted, the pool's cache emptied, and mounted again");
    }
    if let Some(attachment) = attachment {
        run(&attachment.detach)?;
    }
    devices.iter().for_each(|device| drop_buffers(device));
    match attachment {
        None => Ok("unmounted and mounted again"),
        Some(attachment) => {
            run(&attachment.attach)?;
            Ok("exported and imported again")
        }
    }
}

/// Drops the block device's own page cache. Closing a device does that only when nobody else has
/// it open, but the trial's claim has.
pub(super) fn drop_device_buffers(device: &Path) {
    // BLKFLSBUF of linux/fs.h: _IO(0x12, 97).
    const BLKFLSBUF: libc::c_ulong = 0x1261;
    if let Ok(file) = File::open(device) {
        // SAFETY: the request takes no argument and the descriptor is open.
        unsafe {
            libc::ioctl(file.as_raw_fd(), BLKFLSBUF as _, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(empty: bool) -> stack::filesystems::Attachment {
        let command = |word: &str| Command::new("pool", [word]);
        stack::filesystems::Attachment {
            detach: command("detach"),
            attach: command("attach"),
            empty: empty.then(|| command("empty")),
            remove: command("remove"),
            commit: command("commit"),
            service: None,
        }
    }

    fn plan(attachment: Option<stack::filesystems::Attachment>) -> Plan {
        Plan {
            make: Vec::new(),
            mount: stack::filesystems::Mount {
                source: "/dev/a".to_owned(),
                kernel_type: "ext4".to_owned(),
                options: Vec::new(),
            },
            settle: Vec::new(),
            attachment,
            check: Vec::new(),
            inspect: Vec::new(),
            durability: stack::Durability::Full,
            served_by: "a test".to_owned(),
        }
    }

    /// The steps done below an unmounted filesystem, in order, and the description of the method.
    /// The command `failing` fails.
    fn done(
        plan: &Plan,
        alone: bool,
        failing: &str,
    ) -> (Vec<String>, Result<&'static str, String>) {
        let steps = std::cell::RefCell::new(Vec::new());
        let run = |command: &Command| {
            steps.borrow_mut().push(command.to_string());
            if command.to_string() == failing { Err("it failed".to_owned()) } else { Ok(()) }
        };
        let mut drop_buffers =
            |device: &Path| steps.borrow_mut().push(format!("drop {}", device.display()));
        let devices = ["/dev/a", "/dev/b"].map(PathBuf::from);
        let how = empty_below(plan, &devices, alone, &run, &mut drop_buffers);
        (steps.into_inner(), how)
    }

    #[test]
    fn the_buffers_of_every_device_are_dropped() {
        let (steps, how) = done(&plan(None), false, "");
        assert_eq!(steps, ["drop /dev/a", "drop /dev/b"]);
        assert_eq!(how, Ok("unmounted and mounted again"));
    }

    #[test]
    fn a_pool_is_let_go_of_around_that() {
        for (alone, empty) in [(false, true), (true, false)] {
            let (steps, how) = done(&plan(Some(attachment(empty))), alone, "");
            assert_eq!(steps, ["pool detach", "drop /dev/a", "drop /dev/b", "pool attach"]);
            assert_eq!(how, Ok("exported and imported again"));
        }
        let (steps, how) = done(&plan(Some(attachment(false))), true, "pool detach");
        assert_eq!((steps, how.is_err()), (vec!["pool detach".to_owned()], true));
    }

    #[test]
    fn a_pools_own_cache_is_emptied_where_no_other_pool_can_be() {
        let (steps, how) = done(&plan(Some(attachment(true))), true, "");
        assert_eq!(steps, ["pool empty"]);
        assert_eq!(how, Ok("unmounted, the pool's cache emptied, and mounted again"));
        // Where the program for it is missing, the pool is exported.
        let (steps, how) = done(&plan(Some(attachment(true))), true, "pool empty");
        assert_eq!(steps[..2], ["pool empty", "pool detach"]);
        assert_eq!(how, Ok("exported and imported again"));
    }
}
