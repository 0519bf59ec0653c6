//! The request log: each request to a simulated disk, and when it completed.
//!
//! The records of [`disk::Record`] in the shared region, in order of completion. Times are the
//! model's, in nanoseconds since the trial's order was read.

use disk::{RECORD_BYTES, Record};

use crate::region::{REQUESTS_AT, REQUESTS_BYTES, Region, Window};

/// Records that fit.
const RECORDS_MAX: u64 = REQUESTS_BYTES / RECORD_BYTES as u64;
const WINDOW: u64 = 3 << 20;

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

    /// Appends one; returns how many there are, or `None` when there was no room.
    pub(crate) fn append(&mut self, region: &Region, record: &Record) -> Option<u64> {
        if self.written >= RECORDS_MAX {
            return None;
        }
        let at = self.written * RECORD_BYTES as u64;
        // A window holds a whole number of records, and windows of pages.
        let within = (at % WINDOW) as usize;
        if within == 0 || self.window.is_none() {
            let left = REQUESTS_BYTES - (at - within as u64);
            self.window = region.map(REQUESTS_AT + at - within as u64, WINDOW.min(left)).ok();
        }
        let window = self.window.as_mut()?;
        window.bytes_mut()[within..][..RECORD_BYTES].copy_from_slice(&record.encode());
        self.written += 1;
        Some(self.written)
    }
}

#[cfg(test)]
mod tests {
    use disk::Operation;
    use units::{Lba, Nanos};

    use super::*;
    use crate::region::{INPUTS_AT, REGION_BYTES};

    fn record(nth: u64) -> Record {
        Record {
            disk: (nth % 3) as u8,
            operation: [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard]
                [(nth % 4) as usize],
            fua: nth.is_multiple_of(2),
            phase: nth as u16,
            lba: Lba(nth << 33),
            sectors: nth as u32,
            submitted: Nanos(nth),
            completed: Some(Nanos(nth * 1000)),
            payload: 0,
        }
    }

    /// Behind it lie the inputs of workloads.
    #[test]
    fn a_full_log_takes_no_more() {
        let region = Region::in_memory(REGION_BYTES).unwrap();
        let mut log = RequestLog { window: None, written: RECORDS_MAX - 1 };
        assert_eq!(log.append(&region, &record(1)), Some(RECORDS_MAX));
        assert_eq!(log.append(&region, &record(2)), None);
        let inputs = region.map(INPUTS_AT, 4096).unwrap();
        assert!(inputs.bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn records_come_back_across_windows() {
        let region = Region::in_memory(REGION_BYTES).unwrap();
        let mut log = RequestLog::new();
        let count = WINDOW / RECORD_BYTES as u64 + 10;
        for nth in 0..count {
            assert_eq!(log.append(&region, &record(nth)), Some(nth + 1));
        }
        let window = region.map(REQUESTS_AT, 2 * WINDOW).unwrap();
        for (nth, bytes) in
            window.bytes().chunks_exact(RECORD_BYTES).take(count as usize).enumerate()
        {
            let nth = nth as u64;
            assert_eq!(Record::decode(bytes.try_into().unwrap(), nth), Ok(record(nth)));
        }
    }
}
