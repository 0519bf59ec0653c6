//! The order that the host gives to a guest.

use serde::{Deserialize, Serialize};
use trial::Job;
use units::{Bytes, Nanos};

/// Where the trial's filesystem is mounted in the guest.
pub const MOUNT_POINT: &str = "/mnt";

/// How a guest's kernel reaches its simulated disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrontEndKind {
    /// ublk, of kernels from 6.5 on: the cheaper one.
    Ublk,
    /// nbd, which every distribution's kernel has.
    Nbd,
}

impl FrontEndKind {
    /// Its name, as options have it.
    pub fn name(self) -> &'static str {
        match self {
            FrontEndKind::Ublk => "ublk",
            FrontEndKind::Nbd => "nbd",
        }
    }

    /// The device of the `nth` disk, from 0, without its directory.
    fn device_name(self, nth: usize) -> String {
        match self {
            FrontEndKind::Ublk => format!("ublkb{nth}"),
            FrontEndKind::Nbd => format!("nbd{nth}"),
        }
    }

    /// The device of the `nth` disk, from 0.
    pub fn device_path(self, nth: usize) -> std::path::PathBuf {
        std::path::Path::new("/dev").join(self.device_name(nth))
    }

    /// Where the kernel keeps the settings of its queue.
    pub(crate) fn queue_directory(self, nth: usize) -> String {
        format!("/sys/block/{}/queue", self.device_name(nth))
    }
}

/// A trial and the disks it is to have. Nothing in it may depend on the state of the host: its
/// text is read in virtual time, and a single extra digit would take longer. The devices of the
/// job's site are those of [`FrontEndKind::device_path`], in the order of `disks`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// [`trial::protocol::VERSION`] of the host.
    pub version: u32,
    /// The trial.
    pub job: Job,
    /// Its disks.
    pub disks: Vec<DiskOrder>,
    /// How its kernel reaches them.
    pub front_end: FrontEndKind,
    /// Files the host has put into the region; the job names them by their paths here.
    pub inputs: Vec<Input>,
    /// Virtual time after which the trial is given up.
    pub virtual_limit: Nanos,
    /// The processor, by its number, which the server of the disks has to itself: the last one,
    /// faster than the others and none of the machine's own. Where `None`, there is only one
    /// processor, and the trial's clock stands still while the server works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_processor: Option<u16>,
    /// Instead of running the trial, make a bootable system from the input (see
    /// [`workload::prepare_system`]) and leave it where the disks' contents would lie.
    #[serde(default)]
    pub prepare_system: bool,
    /// Instead of running the trial, try the capabilities of the job's filesystem.
    #[serde(default)]
    pub capabilities: bool,
    /// Instead of running workloads, run a program and try the states that a power cut may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<trial::CrashTask>,
    /// Memory that is left to the trial; the rest is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<Bytes>,
    /// For testing how failures are handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sabotage: Option<Sabotage>,
}

/// A file from outside, such as a pack of mails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its path in the guest.
    pub path: std::path::PathBuf,
    /// Where it begins, from the start of the input area; a multiple of [`crate::store::PAGE`].
    pub at: u64,
    /// Its length.
    pub len: u64,
}

/// A simulated disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskOrder {
    /// Its name, for messages.
    pub name: String,
    /// Its parameters: the text of its TOML file.
    pub parameters: String,
    /// The disks behind it, where it is a controller and has other disks than its parameters name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayOrder>,
    /// Options that differ from those parameters: `write_cache = off`.
    #[serde(default)]
    pub options: std::collections::BTreeMap<String, String>,
    /// The size offered to the filesystem.
    pub capacity: Bytes,
    /// Seed of what is random in the drive: the position of the platter.
    pub seed: u64,
    /// How the kernel sees and treats the device.
    pub queue: QueueOrder,
}

/// Simulated disks behind a simulated controller, all alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayOrder {
    /// How data is spread over them.
    pub level: disk::Level,
    /// How many.
    pub members: u32,
    /// Bytes written to one disk before the next disk; the controller's default where `None`.
    pub stripe_unit: Option<Bytes>,
    /// The controller's memory for writes; the controller's default where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_memory: Option<Bytes>,
    /// Their name, for messages.
    pub member: String,
    /// Their parameters: the text of their TOML file.
    pub parameters: String,
}

/// How the guest's kernel sees and treats a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueOrder {
    /// Whether it is rotating: `rotational` of the block layer.
    pub rotational: bool,
    /// Whether it has a volatile write cache, so that the kernel sends flushes.
    pub volatile_cache: bool,
    /// Whether it supports FUA: single writes that go through that cache to the medium.
    pub fua: bool,
    /// Whether it takes discards.
    pub discard: bool,
    /// Requests the kernel keeps outstanding, 1 to 128.
    pub depth: u16,
    /// Bytes in a sector as the drive counts, 512 or 4096.
    pub physical_sector: u32,
    /// I/O scheduler: `none`, `mq-deadline`, `bfq`, `kyber`.
    pub scheduler: String,
    /// Read-ahead of the kernel.
    pub read_ahead: Bytes,
}

/// Ways to make a guest fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sabotage {
    /// The kernel panics.
    Panic,
    /// Everything stops; virtual time goes on.
    Sleep,
    /// The processor is busy for ever, in code that can be interrupted.
    Spin,
    /// The processor is busy for ever, at the highest priority.
    Hang,
    /// The process of the trial is killed.
    Kill,
    /// Memory runs out while the process of the trial waits for a disk.
    Memory,
}
