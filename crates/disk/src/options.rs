//! Options that apply to any device.

use units::{Bytes, SECTOR_BYTES};

use crate::models::Scheduler;
use crate::models::raid::ArrayState;

/// Options of a device when it is built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The volatile write cache on or off; where `None`, the device's default. A controller passes
    /// it on to its members.
    pub write_cache: Option<bool>,
    /// The most commands that the device considers at a time.
    pub queue_depth: Option<u32>,
    /// In which order it serves them.
    pub scheduler: Option<Scheduler>,
    /// `Some(false)` turns the drive's own reading ahead off.
    pub read_ahead: Option<bool>,
    /// Whether a controller's battery is good; without it, the controller writes through.
    pub battery: Option<bool>,
    /// Whether a controller's array has lost a member. An array without redundancy never has.
    pub array_state: ArrayState,
    /// By how many thousandths everything the device does takes longer: 50 is 5 %.
    pub slower: Option<u32>,
    /// Offers only this much of the device, from its start. Never more than it has.
    pub capacity: Option<Bytes>,
    /// Records what moves to durable storage, for [`Model::take_destaged`].
    pub record_destaging: bool,
}

impl Options {
    /// The sectors to offer of a device that has `all`.
    pub(crate) fn sectors_of(&self, all: u64) -> u64 {
        self.capacity.map_or(all, |limit| all.min(limit.0 / SECTOR_BYTES).max(1))
    }
}
