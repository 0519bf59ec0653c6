//! The request log: what each simulated disk was asked for and when it was done.
//!
//! Fixed records in the shared region, in order of completion. Times are the model's, in
//! nanoseconds since the trial's order was read.

use disk::Operation;
use units::{Lba, Nanos};

use crate::region::{REQUESTS_AT, REQUESTS_BYTES, Region, Window};

/// Bytes of a record.
pub const RECORD: usize = 48;
/// Records that fit.
pub const RECORDS_MAX: u64 = REQUESTS_BYTES / RECORD as u64;
const WINDOW: u64 = 3 << 20;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Which disk, from 0.
    pub disk: u8,
    /// What was asked.
    pub operation: Operation,
    /// Force unit access.
    pub fua: bool,
    /// The phase it was submitted in, counted from 1 in the order they began; 0 outside
    /// any (mkfs, mount, unmount, check).
    pub phase: u32,
    /// First sector.
    pub lba: Lba,
    /// How many.
    pub sectors: u64,
    /// When it reached the disk.
    pub submitted: Nanos,
    /// When the disk had done it.
    pub completed: Nanos,
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[0] = self.disk;
        bytes[1] = match self.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => 2,
            Operation::Discard => 3,
        };
        bytes[2] = u8::from(self.fua);
        bytes[4..8].copy_from_slice(&self.phase.to_le_bytes());
        let words = [self.lba.0, self.sectors, self.submitted.0, self.completed.0];
        for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a record; `None` where its operation is none of ours.
    pub fn decode(bytes: &[u8; RECORD]) -> Option<Record> {
        let word = |nth: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 + nth * 8..][..8]);
            u64::from_le_bytes(word)
        };
        Some(Record {
            disk: bytes[0],
            operation: match bytes[1] {
                0 => Operation::Read,
                1 => Operation::Write,
                2 => Operation::Flush,
                3 => Operation::Discard,
                _ => return None,
            },
            fua: bytes[2] != 0,
            phase: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            lba: Lba(word(0)),
            sectors: word(1),
            submitted: Nanos(word(2)),
            completed: Nanos(word(3)),
        })
    }
}

/// Appends records to a region.
#[derive(Debug)]
pub(crate) struct RequestLog {
    window: Option<Window>,
    written: u64,
}

impl RequestLog {
    pub(crate) fn new() -> RequestLog {
        RequestLog { window: None, written: 0 }
    }

    /// Appends one; returns how many there are, or `None` when it found no room.
    pub(crate) fn append(&mut self, region: &Region, record: &Record) -> Option<u64> {
        if self.written >= RECORDS_MAX {
            return None;
        }
        let at = self.written * RECORD as u64;
        // A window holds a whole number of records, and windows of pages.
        let within = (at % WINDOW) as usize;
        if within == 0 || self.window.is_none() {
            let left = REQUESTS_BYTES - (at - within as u64);
            self.window = region.map(REQUESTS_AT + at - within as u64, WINDOW.min(left)).ok();
        }
        let window = self.window.as_mut()?;
        window.bytes_mut()[within..][..RECORD].copy_from_slice(&record.encode());
        self.written += 1;
        Some(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::REGION_BYTES;

    #[test]
    fn records_come_back_across_windows() {
        let region = Region::in_memory(REGION_BYTES).unwrap();
        let mut log = RequestLog::new();
        let record = |nth: u64| Record {
            disk: (nth % 3) as u8,
            operation: [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard]
                [(nth % 4) as usize],
            fua: nth.is_multiple_of(2),
            phase: nth as u32,
            lba: Lba(nth << 33),
            sectors: nth,
            submitted: Nanos(nth),
            completed: Nanos(nth * 1000),
        };
        let count = WINDOW / RECORD as u64 + 10;
        for nth in 0..count {
            assert_eq!(log.append(&region, &record(nth)), Some(nth + 1));
        }
        let window = region.map(REQUESTS_AT, 2 * WINDOW).unwrap();
        for (nth, bytes) in window.bytes().chunks_exact(RECORD).take(count as usize).enumerate() {
            assert_eq!(Record::decode(bytes.try_into().unwrap()), Some(record(nth as u64)));
        }
    }
}
