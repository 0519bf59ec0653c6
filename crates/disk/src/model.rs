//! The contract of a disk model.

use units::{Bytes, Lba, Nanos};

use crate::{Completion, Request};

/// A simulated device. Time never goes back: each call's `now` is at least the last one's.
///
/// Invariants, tested for every model of the catalogue: nothing completes before it was
/// submitted; every request completes exactly once; a flush completes only after every
/// write that had completed before its submission is durable; equal seed and equal calls
/// give equal completions to the nanosecond.
pub trait Model: Send {
    /// The size offered to the host.
    fn capacity(&self) -> Bytes;

    /// Hands over a request at `now`. The front end decides how many may be outstanding; the model
    /// queues without limit and serves as many at a time as its queue depth says.
    fn submit(&mut self, now: Nanos, request: Request);

    /// The time of the next event that will happen by itself, if any.
    fn next_event(&self) -> Option<Nanos>;

    /// Moves time to `now` and appends what completed at or before it, in order of
    /// completion.
    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>);

    /// Whether the data last written to all of `sectors` from `lba` would survive a power failure
    /// at the last call's `now`, counting the writes completed until then. Sectors never written
    /// are durable. The answer for a write still outstanding is not defined.
    fn is_durable(&self, lba: Lba, sectors: u64) -> bool;

    /// Appends what has moved from volatile to durable storage since the last call, in order
    /// of `finished`, up to the last call's `now`. Nothing unless
    /// [`crate::Options::record_destaging`] asked for it. Writes that were durable when they
    /// completed do not appear.
    fn take_destaged(&mut self, destaged: &mut Vec<Destaged>);

    /// Counts of what the device has done so far.
    fn activity(&self) -> Activity;

    /// Whether it is filling a new member of its array. Only a controller has members.
    fn is_rebuilding(&self) -> bool {
        false
    }
}

/// A run of sectors that the device moved by itself to durable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destaged {
    /// First sector.
    pub lba: Lba,
    /// Sectors.
    pub sectors: u64,
    /// When the device took the contents from its cache: writes completed later are not included.
    pub started: Nanos,
    /// When they became durable.
    pub finished: Nanos,
}

/// Counts since the model was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Sectors the host read.
    pub host_read_sectors: u64,
    /// Sectors the host wrote.
    pub host_written_sectors: u64,
    /// Reads that were answered from a cache alone.
    pub read_hits: u64,
    /// Operations on the medium: seeks of an arm, page reads and programs of flash.
    pub media_operations: u64,
    /// Sectors read from the medium for the host or for the device's own ends (parity,
    /// garbage collection); reading ahead is not counted.
    pub media_read_sectors: u64,
    /// Sectors written to the medium, for the host or for the device's own purposes.
    pub media_written_sectors: u64,
    /// Erased blocks of flash.
    pub erases: u64,
    /// Flushes completed.
    pub flushes: u64,
}

impl Activity {
    /// Sectors written to the medium for each sector written by the host; `None` where the host has
    /// written nothing. It is below 1 where a cache absorbed rewrites.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_written_sectors > 0)
            .then(|| self.media_written_sectors as f64 / self.host_written_sectors as f64)
    }

    /// Adds another device's counts, as a controller does over its members.
    pub(crate) fn add_medium_of(&mut self, member: &Activity) {
        self.media_operations += member.media_operations;
        self.media_read_sectors += member.media_read_sectors;
        self.media_written_sectors += member.media_written_sectors;
        self.erases += member.erases;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_amplified_by_what_the_medium_had_to_write() {
        let of = |host_written_sectors, media_written_sectors| {
            Activity { host_written_sectors, media_written_sectors, ..Activity::default() }
                .write_amplification()
        };
        assert_eq!(of(100, 250), Some(2.5));
        assert_eq!(of(100, 25), Some(0.25));
        assert_eq!(of(0, 250), None);
    }

    #[test]
    fn only_the_medium_of_a_member_is_added() {
        let counts = |host: u64, medium: u64| Activity {
            host_read_sectors: host,
            host_written_sectors: host + 1,
            read_hits: host + 2,
            flushes: host + 3,
            media_operations: medium,
            media_read_sectors: medium + 1,
            media_written_sectors: medium + 2,
            erases: medium + 3,
        };
        let mut sum = counts(10, 20);
        sum.add_medium_of(&counts(50, 100));
        let expected = Activity {
            media_operations: 20 + 100,
            media_read_sectors: 21 + 101,
            media_written_sectors: 22 + 102,
            erases: 23 + 103,
            ..counts(10, 20)
        };
        assert_eq!(sum, expected);
    }
}
