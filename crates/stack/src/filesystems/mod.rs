//! Filesystem drivers. All knowledge of one filesystem is one file; [`FILESYSTEMS`] is the
//! only list of them.

pub(crate) mod aliases;
mod bcachefs;
mod btrfs;
mod exfat;
mod ext2;
mod ext3;
mod ext4;
mod ext_family;
mod f2fs;
mod jfs;
mod nilfs2;
mod ntfs3;
mod options;
mod queue;
mod raw;
mod reiser4;
mod reiserfs;
mod tmpfs;
mod upkeep;
pub mod vocabulary;
mod xfs;
mod zfs;
mod zfs_fuse;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::Bytes;

pub use aliases::Alias;
pub use options::QUEUE_OPTIONS;
pub use queue::{Queue, ReadAhead, scheduler_in_use};
pub use upkeep::{Change, Repair, Shown, Snapshot, Upkeep, UpkeepRequest};

use crate::{Command, Contender, Durability, Refusal};

/// Every filesystem, in the order `fstrial list filesystems` shows. tmpfs is the null
/// member: it measures fstrial and the VFS.
pub static FILESYSTEMS: &[&dyn Filesystem] = &[
    &ext2::Ext2,
    &ext3::Ext3,
    &ext4::Ext4,
    &xfs::Xfs,
    &btrfs::Btrfs,
    &bcachefs::Bcachefs,
    &reiserfs::Reiserfs,
    &reiser4::Reiser4,
    &jfs::Jfs,
    &f2fs::F2fs,
    &nilfs2::Nilfs2,
    &exfat::Exfat,
    &ntfs3::Ntfs3,
    &zfs::Zfs,
    &zfs_fuse::ZfsFuse,
    &tmpfs::Tmpfs,
];

/// The filesystem of this name.
pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    FILESYSTEMS.iter().copied().find(|filesystem| filesystem.describe().name == name)
}

/// A filesystem driver: it returns what is to be done and does nothing itself.
pub trait Filesystem: Sync {
    /// What is fixed about it.
    fn describe(&self) -> &'static Description;

    /// What its manual pages call its mount options and the flags of its mkfs, beside what every
    /// filesystem takes.
    fn aliases(&self) -> &'static [Alias] {
        &[]
    }

    /// The smallest device it can be made on with these options.
    ///
    /// # Errors
    /// When an option is not one of its own or has no such value.
    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal>;

    /// How many files and directories fit on a device of this size, where that is fixed by
    /// mkfs. A device for many small files is made larger for their inodes, not only for
    /// their bytes.
    ///
    /// # Errors
    /// As [`Filesystem::minimum_size`].
    fn inodes(&self, contender: &Contender, size: Bytes) -> Result<Option<u64>, Refusal> {
        let _ = size;
        self.minimum_size(contender).map(|_| None)
    }

    /// How to make, mount, settle, check and describe it.
    ///
    /// # Errors
    /// When the request breaks a rule: an unknown option or value, a device too small, an
    /// external journal where there is none. Nothing has been touched then.
    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal>;

    /// How its size is changed, snapshots of it are taken and a lost superblock is brought back,
    /// where it has commands for that.
    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        let _ = request;
        Upkeep::default()
    }

    /// The programs of [`Filesystem::upkeep`], beside those of its description.
    fn upkeep_programs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files in which the kernel reports how it serves the filesystem, each with the beginnings of
    /// the lines that are recorded with its geometry.
    fn kernel_files(&self) -> &'static [(&'static str, &'static [&'static str])] {
        &[]
    }

    /// Where the kernel's read-ahead is set for files of the filesystem with this UUID.
    fn read_ahead(&self, uuid: &str) -> ReadAhead {
        let _ = uuid;
        ReadAhead::Device
    }

    /// The feature flags in what the plan's `inspect` commands printed, given as pairs of
    /// command and output. Empty where the filesystem shows none.
    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        let _ = inspected;
        Vec::new()
    }
}

/// What is fixed about a filesystem.
#[derive(Debug)]
pub struct Description {
    /// Name on the command line, in tables, in TOML.
    pub name: &'static str,
    /// One line for `fstrial list filesystems`.
    pub summary: &'static str,
    /// The type as in `/proc/filesystems`; several filesystems can share one.
    pub kernel_type: &'static str,
    /// The kernel module that serves it today (`ext4` for ext2).
    pub module: &'static str,
    /// The Debian package of its tools, if it needs any.
    pub package: Option<&'static str>,
    /// The programs it needs, from that package or from util-linux.
    pub programs: &'static [&'static str],
    /// Options by meaning.
    pub options: &'static [OptionDescription],
    /// Named sets of options, such as the feature set of a given year.
    pub presets: &'static [Preset],
    /// What two filesystems made from one request still differ in, on a machine with a
    /// running clock; `None` where they are identical byte by byte. (In the lab clock and
    /// random numbers are given, and all are identical.)
    pub varies: Option<&'static str>,
    /// Whether it sits on a block device (tmpfs does not).
    pub needs_device: bool,
}

impl Description {
    /// Whether a program serves it by FUSE and not the kernel.
    pub fn in_user_space(&self) -> bool {
        self.kernel_type == "fuse"
    }
}

/// An option by meaning.
#[derive(Debug)]
pub struct OptionDescription {
    /// Name, the same word for the same meaning in every driver.
    pub name: &'static str,
    /// The values it takes, as shown to people: `on|off`, `SIZE`.
    pub values: &'static str,
    /// What it means here.
    pub help: &'static str,
}

/// A named set of options.
#[derive(Debug)]
pub struct Preset {
    /// Name after the `@`: `2004`.
    pub name: &'static str,
    /// What it stands for, and the source of that knowledge.
    pub help: &'static str,
    /// Options by meaning.
    pub options: &'static [(&'static str, &'static str)],
    /// Further mkfs arguments.
    pub mkfs: &'static [&'static str],
}

/// What a plan is asked for.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Filesystem options of the contender.
    pub contender: &'a Contender,
    /// The device that holds the filesystem; `None` for one that needs none.
    pub data: Option<PathBuf>,
    /// Further devices that the filesystem joins to the first by itself (btrfs).
    pub members: Vec<PathBuf>,
    /// A device for an external journal or log, if the layout has one.
    pub journal: Option<PathBuf>,
    /// Size of the data device (or limit of a tmpfs).
    pub size: Bytes,
    /// UUID of the filesystem, from the trial's seed.
    pub uuid: String,
    /// Seed of its directory hash, as a UUID, from the trial's seed.
    pub hash_seed: String,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Commands that make it, in order. Never with discard: on a loop file it punches the
    /// backing file, and later work allocates it again inside the clock.
    pub make: Vec<Command>,
    /// How it is mounted.
    pub mount: Mount,
    /// What to wait for after mounting, before any clock starts.
    pub settle: Vec<Settle>,
    /// How it is attached before it can be mounted, where a mount alone is not enough (a pool).
    pub attachment: Option<Attachment>,
    /// How it is checked after unmounting, without repairing.
    pub check: Vec<Command>,
    /// Commands that print its geometry and features, for the record.
    pub inspect: Vec<Command>,
    /// What an fsync promises.
    pub durability: Durability,
    /// What serves it, for every table: `ext4.ko, feature set of ext2`.
    pub served_by: String,
}

/// A layer between the devices and the mount (a pool). Making it attaches it; to begin cold its
/// cache is emptied, or it is detached and attached again; the check finds it attached, and at the
/// end it is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Lets go of the devices. The filesystem is unmounted.
    pub detach: Command,
    /// Takes them up again.
    pub attach: Command,
    /// Empties its cache while the filesystem is unmounted. This empties the cache of every other
    /// pool too, so it is used only where there can be no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<Command>,
    /// Removes it for good, after the check.
    pub remove: Command,
    /// Makes statfs count everything written, where a sync alone only makes it durable.
    pub commit: Command,
    /// The program that serves it, where that is not the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// A program that serves a filesystem in user space. The trial starts it before anything is
/// made and ends it after everything; it dies with the trial, and its mounts with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Starts it; it stays in the foreground.
    pub start: Command,
    /// Succeeds once it serves.
    pub ready: Command,
    /// Directories in which it keeps sockets, locks and state. It gets empty ones that only
    /// the trial sees, so that it meets no other such program of the machine.
    pub private: Vec<String>,
    /// A directory below one of those, in which it looks for its devices.
    pub device_directory: String,
    /// What it finds there.
    pub devices: Vec<String>,
    /// Mounts; [`MOUNT_POINT`] stands for the place.
    pub mount: Command,
    /// Unmounts.
    pub unmount: Command,
}

/// Stands for the place to mount on in the arguments of [`Service::mount`].
pub const MOUNT_POINT: &str = "MOUNT-POINT";

/// Arguments of mount(2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Filesystem type.
    pub kernel_type: String,
    /// Device, or a name where there is none.
    pub source: String,
    /// Options as in `mount -o`, generic ones (`noatime`) included.
    pub options: Vec<String>,
}

/// Background work that continues after mkfs and mount and must end before a clock starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// Until no kernel thread of this name is left (`ext4lazyinit`).
    KernelThreadGone(String),
    /// Read-ahead by a kernel thread after every mount, which begins after a random delay. On a
    /// simulated disk, where waiting costs nothing, wait until the thread is gone; elsewhere read
    /// a kernel file that makes the kernel read the same data at once.
    ReadAhead {
        /// The thread's name.
        thread: String,
        /// The file; `{device}` stands for the kernel's name of the data device.
        file: String,
    },
    /// Until this command exits with success.
    CommandSucceeds(Command),
}

/// A second UUID that belongs to `uuid`: that of an external journal, say. Distinct for each
/// `member` from 1 to 255.
fn derived_uuid(uuid: &str, member: u8) -> String {
    let (head, tail) = uuid.split_at(uuid.len().saturating_sub(2));
    let last = u8::from_str_radix(tail, 16).unwrap_or_default();
    format!("{head}{:02x}", last ^ member)
}

/// The first `count` hexadecimal digits of a UUID, for formats whose serial number is shorter.
fn serial_digits(uuid: &str, count: usize) -> String {
    uuid.chars().filter(char::is_ascii_hexdigit).take(count).collect()
}
