//! Operations on the filesystem itself, on behalf of a workload: make, mount, unmount, cut the
//! power, check, damage, repair. Each returns how long its programs and system calls took;
//! checking claims, waiting for background work of a mount and emptying caches are left out.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use stack::Command;
use stack::filesystems::{Attachment, Upkeep, UpkeepRequest};
use units::{Bytes, Nanos};
use workload::{Care, Uncared};

use super::Execution;
use super::cold::{Cooling, drop_device_buffers};
use super::host::TrialHost;
use super::mounting::{BUSY_MAX, Mounted, again_while};
use super::place::Stand;

impl<'a> TrialHost<'a, '_> {
    pub(super) fn care_for(&'a self, what: &Care) -> Result<Nanos, Uncared> {
        let (Some(stand), Cooling::Remount { mounted, devices, .. }) = (self.stand, &self.cooling)
        else {
            return Err(Uncared::Missing("the filesystem is not the trial's own".to_owned()));
        };
        let Some(device) = devices.first() else {
            return Err(Uncared::Missing("the filesystem lives in memory".to_owned()));
        };
        let keeper =
            Keeper { host: self, execution: self.execution, stand, mounted, devices, device };
        keeper.care(what)
    }
}

/// Everything that the operations need.
struct Keeper<'a, 'j> {
    host: &'a TrialHost<'a, 'j>,
    execution: &'a Execution<'j>,
    stand: &'a Stand<'a>,
    mounted: &'a Mounted,
    devices: &'a [PathBuf],
    /// The one that holds the filesystem, or its first part.
    device: &'a Path,
}

impl Keeper<'_, '_> {
    fn care(&self, what: &Care) -> Result<Nanos, Uncared> {
        match what {
            Care::Make => self.make(),
            Care::FirstMount => self.mount(&[]),
            Care::Mount => {
                self.forget();
                let attach: Vec<_> = self.attachment().map(|it| &it.attach).into_iter().collect();
                self.mount(&attach)
            }
            Care::Unmount => self.unmount(),
            Care::LosePower => self.lose_power(),
            Care::Check => self.check(),
            Care::Damage => self.damage(),
            Care::Repair => self.repair(),
            Care::TakeSnapshot(nth) => self.run(&self.snapshot(*nth)?.take),
            Care::RemoveSnapshot(nth) => match self.snapshot(*nth)?.remove {
                Some(remove) => self.run(&remove),
                None => {
                    let why = "removing a snapshot takes more than its name here";
                    Err(Uncared::Missing(why.to_owned()))
                }
            },
            Care::FreeSnapshots => match self.snapshot(0)?.freed {
                Some(freed) => self.run(&freed),
                None => Ok(Nanos::ZERO),
            },
        }
    }

    fn make(&self) -> Result<Nanos, Uncared> {
        self.off()?;
        if let Some(attachment) = self.attachment() {
            again_while(BUSY_MAX, |_| true, || self.run(&attachment.remove))?;
        }
        self.run_all(&self.stand.plan.make)
    }

    /// Mounts after these commands.
    fn mount(&self, before: &[&Command]) -> Result<Nanos, Uncared> {
        let mut took = self.run_all(before.iter().copied())?;
        self.mounted.on(&self.stand.plan.mount).map_err(failed)?;
        took += self.mounted.took();
        self.execution.settle(self.stand).map_err(failed)?;
        self.host.target.borrow_mut().refresh().map_err(failed)?;
        Ok(took)
    }

    fn unmount(&self) -> Result<Nanos, Uncared> {
        let took = self.off()?;
        match self.attachment() {
            Some(attachment) => Ok(took + self.run(&attachment.detach)?),
            None => Ok(took),
        }
    }

    /// Until now nobody else could write to the devices, so what is on them is the trial's own.
    fn off(&self) -> Result<Nanos, Uncared> {
        let began = measure::now();
        self.mounted.off().map_err(failed)?;
        let took = measure::now() - began;
        let path = self.mounted.path().display().to_string();
        self.execution.guard.ran(&Command::new("umount", [path]));
        Ok(took)
    }

    /// Unmounts without letting anything reach the disks.
    fn lose_power(&self) -> Result<Nanos, Uncared> {
        let guard = self.execution.guard;
        if guard.switch_power(false) {
            let unmounted = self.unmount();
            guard.switch_power(true);
            return unmounted.map(|_| Nanos::ZERO);
        }
        shut_down(self.mounted.path()).map_err(|error| {
            let name = self.stand.filesystem.describe().name;
            Uncared::Missing(format!(
                "here only a filesystem that can shut itself down loses its power ({name}: \
                 {error}); in the lab every one does"
            ))
        })?;
        self.unmount().map(|_| Nanos::ZERO)
    }

    fn check(&self) -> Result<Nanos, Uncared> {
        let plan = self.stand.plan;
        if plan.check.is_empty() {
            return Err(Uncared::Missing("it has no program that checks it".to_owned()));
        }
        self.forget();
        if let Some(attachment) = self.attachment() {
            self.run(&attachment.attach)?;
        }
        let took = self.run_all(&plan.check)?;
        if let Some(attachment) = self.attachment() {
            self.run(&attachment.detach)?;
        }
        Ok(took)
    }

    /// Overwrites the first superblock, on the devices of the trial and with their guard's
    /// permission.
    fn damage(&self) -> Result<Nanos, Uncared> {
        let repair = self.upkeep("").repair.ok_or_else(|| {
            let name = self.stand.filesystem.describe().name;
            Uncared::Missing(format!(
                "{name} has no program that brings back a lost superblock without a question"
            ))
        })?;
        let (offset, length) = (repair.offset, repair.length);
        let mut superblock = vec![0; usize::try_from(length).unwrap_or_default()];
        File::open(self.device)
            .and_then(|file| file.read_exact_at(&mut superblock, offset))
            .map_err(failed)?;
        if !(repair.has_copy)(&superblock) {
            let name = self.stand.filesystem.describe().name;
            return Err(Uncared::Missing(format!(
                "{name} of this size has one superblock and no copy of it"
            )));
        }
        let device = self.device.display();
        // The command that a person would type for it; the guard is asked about that command.
        let typed = [
            "if=/dev/zero".to_owned(),
            format!("of={device}"),
            format!("bs={length}"),
            "count=1".to_owned(),
            format!("oseek={offset}B"),
        ];
        let typed = Command::new("dd", typed).destructive();
        self.execution.permit(&typed).map_err(Uncared::Failed)?;
        let written = File::options().write(true).open(self.device).and_then(|file| {
            file.write_all_at(&vec![0; usize::try_from(length).unwrap_or_default()], offset)?;
            file.sync_all()
        });
        self.execution.guard.ran(&typed);
        written.map_err(|error| Uncared::Failed(format!("`{typed}`: {error}")))?;
        Ok(Nanos::ZERO)
    }

    /// Runs the commands that restore the superblock, which must be there afterwards.
    fn repair(&self) -> Result<Nanos, Uncared> {
        self.forget();
        let Some(repair) = self.upkeep("").repair else {
            return Err(Uncared::Missing("it has no such program".to_owned()));
        };
        let took = self.run_all(&repair.commands)?;
        let mut found = vec![0; usize::try_from(repair.length).unwrap_or_default()];
        File::open(self.device)
            .and_then(|file| file.read_exact_at(&mut found, repair.offset))
            .map_err(failed)?;
        match found.iter().any(|byte| *byte != 0) {
            true => Ok(took),
            false => Err(Uncared::Failed("the repair ended well and repaired nothing".to_owned())),
        }
    }

    fn snapshot(&self, nth: u64) -> Result<stack::filesystems::Snapshot, Uncared> {
        self.upkeep(&format!("snapshot-{nth}")).snapshot.ok_or_else(|| {
            let name = self.stand.filesystem.describe().name;
            Uncared::Missing(format!("{name} has no snapshots"))
        })
    }

    fn upkeep(&self, snapshot: &str) -> Upkeep {
        self.stand.filesystem.upkeep(&UpkeepRequest {
            plan: self.stand.plan,
            device: &self.device.display().to_string(),
            mount_point: &self.mounted.path().display().to_string(),
            size: Bytes::ZERO,
            snapshot,
        })
    }

    fn attachment(&self) -> Option<&Attachment> {
        self.stand.plan.attachment.as_ref()
    }

    /// Drops what the kernel keeps of the devices themselves.
    fn forget(&self) {
        self.devices.iter().for_each(|device| drop_device_buffers(device));
    }

    fn run(&self, command: &Command) -> Result<Nanos, Uncared> {
        let done = self.execution.run_guarded(command);
        done.map(|(_, took)| took).map_err(Uncared::Failed)
    }

    fn run_all<'c>(
        &self,
        commands: impl IntoIterator<Item = &'c Command>,
    ) -> Result<Nanos, Uncared> {
        commands.into_iter().try_fold(Nanos::ZERO, |sum, command| Ok(sum + self.run(command)?))
    }
}

fn failed(error: impl std::fmt::Display) -> Uncared {
    Uncared::Failed(error.to_string())
}

/// Makes a mounted filesystem stop as if the power had failed: it writes nothing more.
///
/// # Errors
/// When the filesystem cannot do that.
pub fn shut_down(path: &Path) -> std::io::Result<()> {
    // FS_IOC_SHUTDOWN, which ext4, xfs and f2fs have in common: _IOR('X', 125, __u32).
    const SHUTDOWN: libc::c_ulong = 0x8004_587d;
    // Without writing the log first.
    let no_log_flush: u32 = 2;
    let directory = File::open(path)?;
    // SAFETY: the request reads four bytes from its argument, and the descriptor is open.
    match unsafe { libc::ioctl(directory.as_raw_fd(), SHUTDOWN as _, &raw const no_log_flush) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
