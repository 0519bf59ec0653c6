//! The disks and controllers of a machine profile.

use std::collections::BTreeMap;

use guest::QueueOrder;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// A RAID controller, and how the kernel treats it. The disks behind it are the profile's; the
/// controller's model says whether their caches are on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerProfile {
    /// Name in the catalogue of disks, or the path of a TOML file.
    pub model: String,
    /// Its memory for writes, at least one stripe; where not given, the model's. Where data is
    /// scaled this is scaled too, since data that fits into this memory is not written to the disks
    /// within the trial's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_memory: Option<Bytes>,
    /// Requests the kernel keeps outstanding at most.
    #[serde(default = "controller_depth")]
    pub depth: u16,
    /// The kernel's I/O scheduler.
    #[serde(default = "scheduler")]
    pub scheduler: String,
    /// The kernel's read-ahead.
    #[serde(default = "read_ahead")]
    pub read_ahead: Bytes,
}

impl ControllerProfile {
    /// A controller with default settings.
    pub(crate) fn named(model: &str) -> ControllerProfile {
        ControllerProfile {
            model: model.to_owned(),
            write_memory: None,
            depth: controller_depth(),
            scheduler: scheduler(),
            read_ahead: read_ahead(),
        }
    }

    /// The queue settings in the guest: a rotational disk without a volatile write cache.
    pub(crate) fn queue(&self) -> QueueOrder {
        QueueOrder {
            rotational: true,
            volatile_cache: false,
            fua: false,
            discard: false,
            depth: self.depth,
            physical_sector: 512,
            scheduler: self.scheduler.clone(),
            read_ahead: self.read_ahead,
        }
    }
}

/// A disk, and how the kernel treats it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskProfile {
    /// Name in the catalogue of disks, or the path of a TOML file.
    pub model: String,
    /// Options that differ from the model's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Whether its volatile write cache is on.
    #[serde(default = "yes")]
    pub write_cache: bool,
    /// Requests outstanding at most.
    #[serde(default = "depth")]
    pub depth: u16,
    /// Whether it is rotational.
    #[serde(default = "yes")]
    pub rotational: bool,
    /// Whether it supports discards.
    #[serde(default)]
    pub discard: bool,
    /// Whether it supports FUA writes; drives before NCQ did not.
    #[serde(default)]
    pub fua: bool,
    /// Bytes in a sector of the medium.
    #[serde(default = "sector")]
    pub physical_sector: u32,
    /// The kernel's I/O scheduler.
    #[serde(default = "scheduler")]
    pub scheduler: String,
    /// The kernel's read-ahead.
    #[serde(default = "read_ahead")]
    pub read_ahead: Bytes,
}

fn yes() -> bool {
    true
}

fn depth() -> u16 {
    32
}

/// The most the guest's block driver takes; real controllers took 128 to 256.
fn controller_depth() -> u16 {
    128
}

fn sector() -> u32 {
    512
}

fn scheduler() -> String {
    "mq-deadline".to_owned()
}

fn read_ahead() -> Bytes {
    Bytes::from_kib(128)
}

impl DiskProfile {
    /// The queue settings in the guest.
    pub(crate) fn queue(&self) -> QueueOrder {
        QueueOrder {
            rotational: self.rotational,
            volatile_cache: self.write_cache,
            fua: self.fua,
            discard: self.discard,
            depth: self.depth,
            physical_sector: self.physical_sector,
            scheduler: self.scheduler.clone(),
            read_ahead: self.read_ahead,
        }
    }
}
