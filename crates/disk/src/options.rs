//! What may be chosen about a device, whatever it is.

use units::{Bytes, SECTOR_BYTES};

use crate::models::Scheduler;
use crate::models::raid::ArrayState;

/// What may be chosen about a device when it is built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The volatile write cache on or off; as the device has it by default where `None`. A
    /// controller passes it on to its members.
    pub write_cache: Option<bool>,
    /// Commands the device looks at, at most.
    pub queue_depth: Option<u32>,
    /// In which order it serves them.
    pub scheduler: Option<Scheduler>,
    /// `Some(false)` turns the drive's own reading ahead off.
    pub read_ahead: Option<bool>,
    /// Whether a controller's battery is good; without it, it writes through.
    pub battery: Option<bool>,
    /// Whether a controller's array has lost a member. Without redundancy it has not.
    pub array_state: ArrayState,
    /// By how many thousandths everything the device does takes longer: 50 is 5 %.
    pub slower: Option<u32>,
    /// Offers only this much of the device, from its start. Never more than it has.
    pub capacity: Option<Bytes>,
    /// Keeps an account of what moves to durable storage, for [`Model::take_destaged`].
    pub record_destaging: bool,
}

impl Options {
    /// The sectors to offer of a device that has `all`.
    pub(crate) fn sectors_of(&self, all: u64) -> u64 {
        self.capacity.map_or(all, |limit| all.min(limit.0 / SECTOR_BYTES).max(1))
    }
}
