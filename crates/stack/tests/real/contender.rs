//! One contender on devices of its own.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

use stack::filesystems::{Plan, Request};
use stack::{Contender, Filesystem};
use units::Bytes;

use crate::machine::{LoopDevice, in_private_namespace, run, with_files_open};

pub(crate) const HASH_SEED: &str = "0d6b4f6e-54f3-47a5-8b1d-ba9876543210";
const FILES: usize = 200;

/// A contender with its devices and its plan.
pub(crate) struct Staged {
    pub(crate) filesystem: &'static dyn Filesystem,
    pub(crate) layout: Option<stack::layouts::Plan>,
    pub(crate) plan: Plan,
    pub(crate) devices: Vec<LoopDevice>,
    pub(crate) uuid: String,
}

/// What was seen of a mounted one.
pub(crate) struct Seen {
    pub(crate) features: Vec<String>,
    pub(crate) dump: String,
    pub(crate) uuid: String,
    /// Mount options as the kernel shows them, both kinds.
    pub(crate) mount_options: String,
}

/// Devices, layout and plan for a contender on disks of this size.
pub(crate) fn stage(text: &str, size: Bytes) -> Staged {
    // Tests run beside each other, and neither kernel nor mkfs take one UUID twice; the kernel
    // remembers those of btrfs after the process has ended.
    static STAGED: AtomicU16 = AtomicU16::new(0);
    let number = STAGED.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    let uuid = format!("6f7374f5-1a4e-4b7a-9c51-{process:06x}{number:04x}a0");
    let contender: Contender = Contender::parse_list(text).unwrap().remove(0);
    contender.validate().unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
    let layout = contender.layout.layout().unwrap();
    let roles = if filesystem.describe().needs_device {
        layout.disks(&contender.layout).unwrap()
    } else {
        Vec::new()
    };
    let devices: Vec<_> = roles
        .iter()
        .map(|role| match role {
            stack::layouts::Role::Data => LoopDevice::new(size),
            stack::layouts::Role::Journal => LoopDevice::new(Bytes::from_mib(160)),
            stack::layouts::Role::Controller(_) => panic!("{text}: there are none outside the lab"),
        })
        .collect();
    let paths: Vec<PathBuf> = devices.iter().map(|device| device.path.clone()).collect();
    let layout = (!paths.is_empty()).then(|| {
        let (choice, uuid) = (&contender.layout, uuid.clone());
        layout.plan(&stack::layouts::Request { choice, disks: &paths, uuid }).unwrap()
    });
    for command in layout.iter().flat_map(|layout| &layout.assemble) {
        run(command);
    }
    let data = layout.as_ref().map(|layout| layout.data.clone());
    let size = match &data {
        Some(device) => {
            let mut device = File::open(device).unwrap();
            Bytes(device.seek(std::io::SeekFrom::End(0)).unwrap())
        }
        None => size,
    };
    let plan = filesystem
        .plan(&Request {
            contender: &contender,
            data,
            members: layout.as_ref().map(|layout| layout.members.clone()).unwrap_or_default(),
            journal: layout.as_ref().and_then(|layout| layout.journal.clone()),
            size,
            uuid: uuid.clone(),
            hash_seed: HASH_SEED.to_owned(),
        })
        .unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    Staged { filesystem, layout, plan, devices, uuid }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // A test that failed leaves its array assembled; a panic here would hide why.
        if !std::thread::panicking() {
            for command in self.layout.iter().flat_map(|layout| &layout.dismantle) {
                run(command);
            }
        }
    }
}

impl Staged {
    /// Carries out mkfs.
    pub(crate) fn make(&self) {
        for command in &self.plan.make {
            run(command);
        }
    }

    /// Carries out the check.
    pub(crate) fn check(&self) {
        for command in &self.plan.check {
            run(command);
        }
    }

    /// Carries out inspection.
    pub(crate) fn inspect(&self) -> Vec<(String, String)> {
        let layout = self.layout.iter().flat_map(|layout| &layout.inspect);
        let commands = self.plan.inspect.iter().chain(layout);
        commands.map(|command| (command.to_string(), run(command))).collect()
    }

    /// Makes, mounts, writes files with fsync, checks, reads them back, and says what it saw.
    pub(crate) fn run_mounted(&self) -> Seen {
        self.make();
        in_private_namespace(|| {
            let mount_point = tempfile::tempdir().unwrap();
            self.mount(mount_point.path());
            with_files_open(|| write_files(mount_point.path()));
            let mount_options = mount_options_of(mount_point.path());
            let inspected = self.inspect();
            let durable = self.plan.make.is_empty();
            if durable {
                with_files_open(|| read_files(mount_point.path()));
            }
            unmount(mount_point.path());
            self.check();
            if !durable {
                self.mount(mount_point.path());
                with_files_open(|| read_files(mount_point.path()));
                unmount(mount_point.path());
            }
            Seen {
                features: self.filesystem.features(&inspected),
                dump: inspected.into_iter().map(|(_, output)| output).collect(),
                mount_options,
                uuid: self.uuid.clone(),
            }
        })
    }

    fn mount(&self, point: &Path) {
        let mount = &self.plan.mount;
        let options = mount.options.join(",");
        let point = point.to_str().unwrap();
        // -i: no helper of user space, as trials mount.
        let args = ["-i", "-t", &mount.kernel_type, "-o", &options, &mount.source, point];
        run(&stack::Command::new("mount", args));
    }
}

fn unmount(point: &Path) {
    run(&stack::Command::new("umount", [point.to_str().unwrap()]));
}

/// Whole blocks and ends of blocks, in a few directories.
fn content(number: usize) -> Vec<u8> {
    (0..number * 97 + 1).map(|at| (at * 31 + number) as u8).collect()
}

fn path_of(root: &Path, number: usize) -> PathBuf {
    root.join(format!("directory-{}", number % 7)).join(format!("file-{number}"))
}

fn write_files(root: &Path) {
    for number in 0..FILES {
        let path = path_of(root, number);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        file.write_all(&content(number)).unwrap();
        file.sync_all().unwrap();
    }
}

fn read_files(root: &Path) {
    for number in 0..FILES {
        let mut bytes = Vec::new();
        File::open(path_of(root, number)).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == content(number), "file {number} differs");
    }
}

fn mount_options_of(point: &Path) -> String {
    let table = std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let line = table
        .lines()
        .find(|line| line.split(' ').nth(4) == point.to_str())
        .expect("the mount is in mountinfo");
    let generic = line.split(' ').nth(5).unwrap();
    let own = line.rsplit(' ').next().unwrap();
    format!("{generic},{own}")
}

/// The filesystems that can be made without their kernel module: a pool is made by the kernel,
/// and its module is not everyone's, or by a daemon that has to run. Nor is bcachefs among them, whose tools Debian has no
/// package of.
pub(crate) fn makeable() -> impl Iterator<Item = &'static dyn Filesystem> {
    let makeable = |filesystem: &&'static dyn Filesystem| {
        let description = filesystem.describe();
        description.needs_device && !["zfs", "zfs-fuse", "bcachefs"].contains(&description.name)
    };
    stack::FILESYSTEMS.iter().copied().filter(makeable)
}
