//! A filesystem to try things on: made on a device whose size can be changed, mounted,
//! unmounted and checked at will.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use stack::filesystems::{Plan, Request, Upkeep, UpkeepRequest};
use stack::{Command, Contender, Filesystem};
use units::Bytes;
use workload::Seed;

use super::space::noise;
use crate::execute::{Mounted, Programs};

/// The size most attempts take place at. Every filesystem takes it and still does with a
/// sixth less; a disk has half as much again.
pub(super) const SIZE: Bytes = Bytes::from_mib(384);
/// The name of the snapshot that is tried.
const SNAPSHOT: &str = "before";
/// The mapping's name, and the device it makes.
const MAPPING: &str = "fstrial-try";

/// What filesystems are made on, and with.
pub(super) struct Stage<'a> {
    pub(super) filesystem: &'static dyn Filesystem,
    pub(super) contender: &'a Contender,
    pub(super) seed: Seed,
    /// `None` for a filesystem that needs none.
    pub(super) disk: Option<&'a PathBuf>,
    pub(super) mount_point: &'a Path,
    pub(super) programs: Programs,
}

impl Stage<'_> {
    /// Makes one and mounts it.
    pub(super) fn make(&self, size: Bytes) -> Result<Subject<'_>, String> {
        let device = match self.disk {
            None => None,
            Some(_) => {
                self.dmsetup(&["create", MAPPING, "--table", &self.table(size)?])?;
                Some(Path::new("/dev/mapper").join(MAPPING))
            }
        };
        let mut subject = Subject { stage: self, device, plan: None, mounted: RefCell::default() };
        let plan = self.filesystem.plan(&Request {
            contender: self.contender,
            data: subject.device.clone(),
            members: Vec::new(),
            journal: None,
            size,
            uuid: self.seed.uuid("filesystem"),
            hash_seed: self.seed.uuid("directory hash"),
        });
        let plan = plan.map_err(|refusal| refusal.to_string())?;
        for command in &plan.make {
            self.run(command)?;
        }
        let mounted = Mounted::mount(&plan.mount, self.mount_point);
        subject.plan = Some(plan);
        subject.mounted.replace(Some(mounted.map_err(|error| error.to_string())?));
        Ok(subject)
    }

    /// The mapping's table for a size.
    fn table(&self, size: Bytes) -> Result<String, String> {
        let disk = self.disk.ok_or("it is on no disk")?;
        Ok(format!("0 {} linear {} 0", size.0 / 512, disk.display()))
    }

    fn dmsetup(&self, args: &[&str]) -> Result<(), String> {
        self.run(&Command::new("dmsetup", args.iter().copied()).with_env("DM_DISABLE_UDEV", "1"))
    }

    fn run(&self, command: &Command) -> Result<(), String> {
        self.programs.run(command).map(|_| ()).map_err(|error| error.to_string())
    }
}

/// A filesystem that was made. Removed when dropped.
pub(super) struct Subject<'a> {
    pub(super) stage: &'a Stage<'a>,
    device: Option<PathBuf>,
    plan: Option<Plan>,
    mounted: RefCell<Option<Mounted>>,
}

impl Subject<'_> {
    fn plan(&self) -> Result<&Plan, String> {
        self.plan.as_ref().ok_or_else(|| "it was not made".to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        self.stage.mount_point
    }

    pub(super) fn device(&self) -> Option<&Path> {
        self.device.as_deref()
    }

    /// How it would be resized to this size.
    pub(super) fn upkeep(&self, size: Bytes) -> Upkeep {
        let device = self.device.as_ref().map(|device| device.display().to_string());
        let mount_point = self.path().display().to_string();
        self.plan.as_ref().map_or_else(Upkeep::default, |plan| {
            self.stage.filesystem.upkeep(&UpkeepRequest {
                plan,
                device: device.as_deref().unwrap_or_default(),
                mount_point: &mount_point,
                size,
                snapshot: SNAPSHOT,
            })
        })
    }

    pub(super) fn mount(&mut self) -> Result<(), String> {
        let plan = self.plan()?;
        if let Some(attachment) = &plan.attachment {
            self.stage.run(&attachment.attach)?;
        }
        let mounted = Mounted::mount(&plan.mount, self.path());
        self.mounted.replace(Some(mounted.map_err(|error| error.to_string())?));
        Ok(())
    }

    pub(super) fn unmount(&mut self) -> Result<(), String> {
        let Some(mounted) = self.mounted.take() else { return Ok(()) };
        mounted.unmount().map_err(|error| error.to_string())?;
        if let Some(attachment) = &self.plan()?.attachment {
            self.stage.run(&attachment.detach)?;
        }
        Ok(())
    }

    /// Remounts the filesystem with other options.
    pub(super) fn remount(&self, options: &str) -> Result<(), String> {
        let done =
            rustix::mount::mount_remount(self.path(), rustix::mount::MountFlags::empty(), options);
        done.map_err(|error| format!("mount -o remount,{options}: {error}"))
    }

    /// Checks it, unmounted; a pool's check finds it attached and leaves it so.
    pub(super) fn check(&mut self) -> Result<(), String> {
        let plan = self.plan()?;
        if let Some(attachment) = &plan.attachment {
            self.stage.run(&attachment.attach)?;
        }
        plan.check.iter().try_for_each(|command| self.stage.run(command))
    }

    /// Changes the size of the device under it.
    pub(super) fn resize_device(&self, size: Bytes) -> Result<(), String> {
        if self.device.is_none() {
            return Ok(());
        }
        let table = self.stage.table(size)?;
        self.stage.dmsetup(&["load", MAPPING, "--table", &table])?;
        self.stage.dmsetup(&["suspend", "--nolockfs", MAPPING])?;
        self.stage.dmsetup(&["resume", MAPPING])
    }

    pub(super) fn statfs(&self) -> Result<rustix::fs::StatVfs, String> {
        rustix::fs::statvfs(self.path()).map_err(|error| error.to_string())
    }

    /// Its total room.
    pub(super) fn room(&self) -> Result<Bytes, String> {
        self.statfs().map(|stat| Bytes(stat.f_blocks * stat.f_frsize))
    }

    pub(super) fn sync(&self) {
        if let Ok(directory) = File::open(self.path()) {
            let _ = rustix::fs::syncfs(directory);
        }
    }

    /// Puts files on it, to be found again by [`Subject::contents`].
    pub(super) fn fill(&self) -> Result<(), String> {
        for nth in 0..FILES {
            let path = self.path().join(format!("file-{nth}"));
            fs::write(&path, noise(FILE, nth)).map_err(|error| format!("writing: {error}"))?;
        }
        self.sync();
        Ok(())
    }

    /// Whether every file is as it was written.
    pub(super) fn contents(&self) -> Result<(), String> {
        for nth in 0..FILES {
            let name = format!("file-{nth}");
            let read = fs::read(self.path().join(&name));
            match read {
                Ok(read) if read == noise(FILE, nth) => {}
                Ok(_) => return Err(format!("{name} is not as it was written")),
                Err(error) => return Err(format!("{name}: {error}")),
            }
        }
        Ok(())
    }
}

const FILES: u64 = 40;
const FILE: usize = 1 << 18;

impl Drop for Subject<'_> {
    /// Leaves the disk free for the next attempt, even after a failure.
    fn drop(&mut self) {
        if let Some(mounted) = self.mounted.take() {
            let _ = mounted.unmount();
        }
        if let Some(attachment) = self.plan.as_ref().and_then(|plan| plan.attachment.as_ref()) {
            let _ = self.stage.run(&attachment.attach);
            let _ = self.stage.run(&attachment.remove);
        }
        if self.device.is_some() {
            let _ = self.stage.dmsetup(&["remove", "--force", MAPPING]);
        }
    }
}
