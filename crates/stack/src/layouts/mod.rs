//! Layouts: how disks become the device a filesystem sits on. One file a layout;
//! [`LAYOUTS`] is the only list of them.

mod btrfs_profile;
mod choice;
mod crypt;
mod hardware;
mod identity;
mod md;
mod single;
mod thin;
mod zfs_pool;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use units::Bytes;

pub use choice::LayoutChoice;

use crate::{Command, Refusal};

/// Every layout.
pub static LAYOUTS: &[&dyn Layout] = &[
    &single::Single,
    &md::RAID0,
    &md::RAID1,
    &md::RAID5,
    &md::RAID6,
    &md::RAID10,
    &hardware::RAID0,
    &hardware::RAID1,
    &hardware::RAID5,
    &hardware::RAID10,
    &btrfs_profile::RAID0,
    &btrfs_profile::RAID1,
    &btrfs_profile::RAID10,
    &zfs_pool::STRIPE,
    &zfs_pool::MIRROR,
    &zfs_pool::RAIDZ,
    &crypt::Crypt,
    &thin::Thin,
];

/// The layout of this name.
pub fn find(name: &str) -> Option<&'static dyn Layout> {
    LAYOUTS.iter().copied().find(|layout| layout.describe().name == name)
}

/// A layout: returns what is to be done and does nothing.
pub trait Layout: Sync {
    /// What is fixed about it.
    fn describe(&self) -> &'static Description;

    /// The disks it needs, in the order [`Layout::plan`] takes them.
    ///
    /// # Errors
    /// When a parameter is unknown or breaks a rule (RAID 5 of two disks).
    fn disks(&self, choice: &LayoutChoice) -> Result<Vec<Role>, Refusal>;

    /// How much of its data disks is left for files.
    ///
    /// # Errors
    /// As [`Layout::disks`].
    fn share(&self, choice: &LayoutChoice) -> Result<Share, Refusal> {
        self.disks(choice).map(|_| Share { usable: 1, of: 1 })
    }

    /// The most the device of its filesystem can have, of data disks of `each`.
    ///
    /// # Errors
    /// As [`Layout::disks`].
    fn device_size(&self, choice: &LayoutChoice, each: Bytes) -> Result<Bytes, Refusal> {
        let roles = self.disks(choice)?;
        let disks = roles.iter().map(|role| match role {
            Role::Data => 1,
            Role::Journal => 0,
            Role::Controller(array) => array.members as u64,
        });
        let all = each.0.saturating_mul(disks.sum());
        let share = self.share(choice)?;
        Ok(Bytes(all / share.of * share.usable))
    }

    /// How to assemble and dismantle it from the request's devices.
    ///
    /// # Errors
    /// As [`Layout::disks`].
    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal>;
}

/// What a plan is asked for.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The layout and its parameters.
    pub choice: &'a LayoutChoice,
    /// The devices, one for each of [`Layout::disks`].
    pub disks: &'a [PathBuf],
    /// Identifies what is made, from the trial's seed.
    pub uuid: String,
}

/// How much of the room of all data disks remains for files: `usable` parts of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Parts that hold files, at least 1.
    pub usable: u64,
    /// Parts in all.
    pub of: u64,
}

/// What is fixed about a layout.
#[derive(Debug)]
pub struct Description {
    /// Name on the command line and in TOML.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The Debian package of its tools, if it needs any.
    pub package: Option<&'static str>,
    /// The programs it needs from that package.
    pub programs: &'static [&'static str],
    /// The kernel modules it needs.
    pub modules: &'static [&'static str],
    /// Kernel modules that serve it faster on processors that have what they use.
    pub faster_with: &'static [&'static str],
    /// What can be said about it.
    pub parameters: &'static [&'static Parameter],
    /// The filesystems that can sit on it, where not all can.
    pub filesystems: Option<&'static [&'static str]>,
}

/// A parameter of a layout.
#[derive(Debug)]
pub struct Parameter {
    /// Name, the same word for the same meaning in every layout.
    pub name: &'static str,
    /// The values it takes: `SIZE`, `NUMBER`, `NAME`, or words between bars.
    pub values: &'static str,
    /// What it means.
    pub help: &'static str,
}

static DISKS: Parameter = Parameter {
    name: "disks",
    values: "NUMBER",
    help: "number of disks that hold data; written after the name: raid10x6",
};

static CHUNK: Parameter = Parameter {
    name: "chunk",
    values: "SIZE",
    help: "bytes written to one disk before the next disk",
};

static JOURNAL: Parameter = Parameter {
    name: "journal",
    values: "internal|external",
    help: "external: one more disk, the last, for the filesystem's journal or log",
};

/// The roles of `data` disks and, if chosen, one for the journal behind them.
fn roles(choice: &LayoutChoice, data: usize) -> Vec<Role> {
    let mut roles = vec![Role::Data; data];
    if choice.has_journal_disk() {
        roles.push(Role::Journal);
    }
    roles
}

/// Disks split into those for data (at least one) and the one for the journal.
fn split<'a>(
    layout: &dyn Layout,
    request: &Request<'a>,
) -> Result<(&'a [PathBuf], Option<PathBuf>), Refusal> {
    let Request { choice, disks, .. } = *request;
    let wanted = layout.disks(choice)?.len();
    if disks.len() != wanted {
        return Err(choice.refuse(format!("it takes {wanted} disks, not {}", disks.len())));
    }
    match disks.split_last() {
        Some((journal, data)) if choice.has_journal_disk() => Ok((data, Some(journal.clone()))),
        _ => Ok((disks, None)),
    }
}

/// What a disk is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Holds the filesystem, alone or as a member.
    Data,
    /// Holds an external journal or log.
    Journal,
    /// Holds the filesystem, and is a controller with disks of its own behind it.
    Controller(Array),
}

/// Disks behind a RAID controller. The kernel sees one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// `raid0`, `raid1`, `raid5` or `raid10`.
    pub level: &'static str,
    /// How many disks, all alike.
    pub members: usize,
    /// Bytes written to one disk before the next disk; the controller's default where `None`.
    pub chunk: Option<Bytes>,
    /// Whether a battery protects its memory, so that a write completes before the disks have it.
    pub battery: bool,
    /// Name of the controller; the machine's own where `None`.
    pub controller: Option<String>,
    /// The state of the array: `clean`, `degraded` or `rebuilding` (its last disk).
    pub state: String,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Commands that assemble it.
    pub assemble: Vec<Command>,
    /// The device the filesystem is made on.
    pub data: PathBuf,
    /// Further devices that the filesystem itself joins to the first (btrfs, zfs).
    pub members: Vec<PathBuf>,
    /// The device of its journal, if external.
    pub journal: Option<PathBuf>,
    /// Commands that take it apart, in order.
    pub dismantle: Vec<Command>,
    /// Commands that print what was made, for the record.
    pub inspect: Vec<Command>,
    /// Commands that start background work beside the workloads (a rebuild); run once, before the
    /// first clock.
    pub set_off: Vec<Command>,
    /// Commands that print the state of the layout after the workloads.
    pub observe: Vec<Command>,
}

impl Plan {
    /// A plan that does nothing: the filesystem sits on this device as it is.
    fn of(data: PathBuf, journal: Option<PathBuf>) -> Plan {
        Plan {
            assemble: Vec::new(),
            data,
            members: Vec::new(),
            journal,
            dismantle: Vec::new(),
            inspect: Vec::new(),
            set_off: Vec::new(),
            observe: Vec::new(),
        }
    }
}
