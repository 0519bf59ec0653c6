//! A drive whose every time can be worked out by hand.

use units::{Bytes, Nanos};

use super::{DriveParameters, Layout, Overhead, SeekParameters, ZoneParameters};
use crate::models::queue::Scheduler;

/// Ten cylinders of two tracks of 100 sectors, without skew. A revolution takes 10 ms, so that a
/// sector passes in 100 µs; every command's overhead is 100 µs as well, and the link takes 1 µs a
/// sector. A switch or the shortest seek takes 1 ms, the longest seek 2 ms. It does not read ahead.
pub(crate) fn small() -> DriveParameters {
    let command = Nanos::from_micros(100);
    DriveParameters {
        sectors: 2000,
        physical_sector: 512,
        rpm: 6000,
        heads: 2,
        cylinders: Some(10),
        zones: vec![zone(0, 100)],
        spares: None,
        ramp: None,
        layout: Layout::Cylinder,
        band: None,
        skew: Some(0.0),
        seek: SeekParameters {
            single: None,
            average: None,
            full: None,
            knots_ms: vec![(1, 1.0), (9, 2.0)],
            write_settle: Nanos::ZERO,
        },
        head_switch: Nanos::from_millis(1),
        cylinder_switch: Some(Nanos::from_millis(1)),
        overhead: Overhead {
            read_hit: command,
            read_miss: command,
            write_hit: command,
            write_miss: command,
        },
        link_mb_per_s: 512.0,
        read_segments: 0,
        read_segment: Bytes::ZERO,
        write_buffer: Bytes::from_mib(1),
        write_cache: true,
        write_cache_protected: false,
        queue_depth: 8,
        scheduler: Scheduler::Fifo,
        flush_exclusive: false,
    }
}

/// A zone from this cylinder to the next zone's, with so many sectors per track.
pub(crate) fn zone(cylinder: u32, sectors: u32) -> ZoneParameters {
    ZoneParameters { cylinder, cylinders: None, sectors, track_skew: None, cylinder_skew: None }
}
