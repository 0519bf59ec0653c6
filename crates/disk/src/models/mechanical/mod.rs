//! Mechanical drives: `parameters` says what a drive is, `geometry` where its sectors
//! lie, `seek` and `motion` what moving costs, `segments` and `super::dirty` what
//! its caches hold, `drive` in which order things happen.

mod drive;
mod geometry;
mod motion;
mod parameters;
mod seek;
mod segments;

pub(crate) use drive::Drive;
pub use parameters::{
    DriveParameters, Layout, Overhead, Ramp, SeekParameters, Spares, ZoneParameters,
};

impl Drive {
    /// First sector and sectors per track of every zone.
    pub(crate) fn zone_starts(&self) -> Vec<(u64, u32)> {
        self.motion.geometry().zone_starts().collect()
    }
}
