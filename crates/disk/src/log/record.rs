//! The log's format: one record a request.

use units::{Lba, Nanos};

use crate::Operation;

/// Bytes of an encoded [`Record`].
pub const RECORD_BYTES: usize = 48;
const NEVER: u64 = u64::MAX;
const FUA: u8 = 1;

/// A record that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("record {record} of the request log has the unknown operation {operation}")]
pub struct UnknownOperation {
    /// Which record, from 0.
    pub record: u64,
    /// Its operation.
    pub operation: u8,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it was submitted.
    pub submitted: Nanos,
    /// When it completed; `None` if it never did.
    pub completed: Option<Nanos>,
    /// What was asked.
    pub operation: Operation,
    /// First sector.
    pub lba: Lba,
    /// Sectors.
    pub sectors: u32,
    /// Force unit access.
    pub fua: bool,
    /// The phase of the workload in which it was submitted.
    pub phase: u16,
    /// Where its data is kept; 0 for nowhere.
    pub payload: u64,
    /// Which of several disks that share a log, from 0.
    pub disk: u8,
}

impl Record {
    /// The record's bytes.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.submitted.0.to_le_bytes());
        let completed = self.completed.map_or(NEVER, |at| at.0);
        bytes[8..16].copy_from_slice(&completed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.lba.0.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[28] = match self.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => 2,
            Operation::Discard => 3,
        };
        bytes[29] = if self.fua { FUA } else { 0 };
        bytes[30..32].copy_from_slice(&self.phase.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.payload.to_le_bytes());
        bytes[40] = self.disk;
        bytes
    }

    /// Reads a record, the `record`-th of its log.
    ///
    /// # Errors
    /// When its operation is unknown.
    pub fn decode(bytes: &[u8; RECORD_BYTES], record: u64) -> Result<Record, UnknownOperation> {
        let number =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let operation = match bytes[28] {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Flush,
            3 => Operation::Discard,
            operation => return Err(UnknownOperation { record, operation }),
        };
        let completed = number(8);
        Ok(Record {
            submitted: Nanos(number(0)),
            completed: (completed != NEVER).then_some(Nanos(completed)),
            operation,
            lba: Lba(number(16)),
            sectors: u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]),
            fua: bytes[29] & FUA != 0,
            phase: u16::from_le_bytes([bytes[30], bytes[31]]),
            payload: number(32),
            disk: bytes[40],
        })
    }
}

/// The requests to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLog {
    /// The records.
    pub records: Vec<Record>,
    /// Requests that were not recorded because the log was full.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record() -> impl Strategy<Value = Record> {
        let operation = prop::sample::select(vec![
            Operation::Read,
            Operation::Write,
            Operation::Flush,
            Operation::Discard,
        ]);
        let times = (any::<u64>(), prop::option::of(0..NEVER));
        let rest = (any::<u64>(), any::<u32>(), any::<bool>(), any::<u16>(), any::<u64>());
        (operation, times, rest, any::<u8>()).prop_map(
            |(operation, (submitted, completed), (lba, sectors, fua, phase, payload), disk)| {
                Record {
                    submitted: Nanos(submitted),
                    completed: completed.map(Nanos),
                    operation,
                    lba: Lba(lba),
                    sectors,
                    fua,
                    phase,
                    payload,
                    disk,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(record in record()) {
            prop_assert_eq!(Record::decode(&record.encode(), 0), Ok(record));
        }
    }

    #[test]
    fn each_field_has_its_place() {
        let record = Record {
            submitted: Nanos(0x0102),
            completed: None,
            operation: Operation::Discard,
            lba: Lba(0x0304),
            sectors: 0x0506,
            fua: true,
            phase: 0x0708,
            payload: 0x090a,
            disk: 0x0b,
        };
        let mut bytes = [0; RECORD_BYTES];
        bytes[..2].copy_from_slice(&[2, 1]);
        bytes[8..16].fill(0xff);
        bytes[16..18].copy_from_slice(&[4, 3]);
        bytes[24..26].copy_from_slice(&[6, 5]);
        bytes[28..32].copy_from_slice(&[3, 1, 8, 7]);
        bytes[32..34].copy_from_slice(&[0x0a, 0x09]);
        bytes[40] = 0x0b;
        assert_eq!(record.encode(), bytes);
        bytes[28] = 4;
        let error = Record::decode(&bytes, 7).unwrap_err();
        assert_eq!(error.to_string(), "record 7 of the request log has the unknown operation 4");
    }
}
