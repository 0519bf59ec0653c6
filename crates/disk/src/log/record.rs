//! The log's format: its writer, used by the driver of a model, and its reader.

use units::{Lba, Nanos};

use crate::region::Region;
use crate::{Operation, Request};

const MAGIC: [u8; 8] = *b"fstreqlg";
const VERSION: u32 = 2;
const HEADER_BYTES: u64 = 64;
/// Bytes of an encoded [`Record`].
pub const RECORD_BYTES: usize = 48;
const RECORD_LENGTH: u64 = RECORD_BYTES as u64;
const NEVER: u64 = u64::MAX;
const FUA: u8 = 1;

/// Why a log cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It is something else.
    #[error("this is not a request log: it does not begin with the magic number of one")]
    Foreign,
    /// It was written by another version.
    #[error("the request log is of version {found}; this program reads version {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// It is shorter than it says.
    #[error("the request log says it has {records} records but ends within record {whole}")]
    Truncated {
        /// What its header says.
        records: u64,
        /// How many are whole.
        whole: u64,
    },
    /// A record is invalid.
    #[error("record {record} of the request log has the unknown operation {operation}")]
    Operation {
        /// Which record, from 0.
        record: u64,
        /// Its operation.
        operation: u8,
    },
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
    pub fn decode(bytes: &[u8; RECORD_BYTES], record: u64) -> Result<Record, LogError> {
        let number =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let operation = match bytes[28] {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Flush,
            3 => Operation::Discard,
            operation => return Err(LogError::Operation { record, operation }),
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

/// A record's place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordIndex(u64);

/// Writes a log into a region, record by record, so that it can be read even if the writer dies.
#[derive(Debug)]
pub struct LogWriter<R> {
    region: R,
    records: u64,
    room: u64,
    dropped: u64,
}

impl<R: Region> LogWriter<R> {
    /// Begins a log at the start of the region. `None` if not even the header fits.
    pub fn create(region: R) -> Option<LogWriter<R>> {
        let room = region.len().checked_sub(HEADER_BYTES)? / RECORD_LENGTH;
        let mut writer = LogWriter { region, records: 0, room, dropped: 0 };
        let mut header = [0u8; HEADER_BYTES as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
        writer.region.write_at(0, &header);
        Some(writer)
    }

    /// Records written.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Requests that were not recorded because the region was full. The log says how many; nothing
    /// is overwritten.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Records that a request was submitted in `phase`, with its data kept at `payload` (0 for
    /// nowhere). `None` when the region is full.
    pub fn submitted(
        &mut self,
        now: Nanos,
        request: &Request,
        phase: u16,
        payload: u64,
    ) -> Option<RecordIndex> {
        if self.records == self.room {
            self.dropped += 1;
            self.region.write_at(24, &self.dropped.to_le_bytes());
            return None;
        }
        let record = Record {
            submitted: now,
            completed: None,
            operation: request.operation,
            lba: request.lba,
            sectors: u32::try_from(request.sectors).unwrap_or(u32::MAX),
            fua: request.fua,
            phase,
            payload,
            disk: 0,
        };
        let index = self.records;
        self.region.write_at(HEADER_BYTES + index * RECORD_LENGTH, &record.encode());
        self.records += 1;
        self.region.write_at(16, &self.records.to_le_bytes());
        Some(RecordIndex(index))
    }

    /// Records that a request has completed.
    pub fn completed(&mut self, index: RecordIndex, at: Nanos) {
        let place = HEADER_BYTES + index.0 * RECORD_LENGTH + 8;
        self.region.write_at(place, &at.0.to_le_bytes());
    }

    /// Gives the region back.
    pub fn into_region(self) -> R {
        self.region
    }
}

/// A log that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLog {
    /// The records, in order of submission.
    pub records: Vec<Record>,
    /// Requests that were not recorded because the log was full.
    pub dropped: u64,
}

impl RequestLog {
    /// Reads a log from a region.
    ///
    /// # Errors
    /// When the region holds no whole log of this version.
    pub fn read(region: &impl Region) -> Result<RequestLog, LogError> {
        let mut header = [0u8; HEADER_BYTES as usize];
        if region.len() < HEADER_BYTES {
            return Err(LogError::Foreign);
        }
        region.read_at(0, &mut header);
        if header[..8] != MAGIC {
            return Err(LogError::Foreign);
        }
        let number =
            |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
        let found = number(8) as u32;
        if found != VERSION || number(8) >> 32 != RECORD_LENGTH {
            return Err(LogError::Version { found });
        }
        let (records, dropped) = (number(16), number(24));
        let whole = (region.len() - HEADER_BYTES) / RECORD_LENGTH;
        if whole < records {
            return Err(LogError::Truncated { records, whole });
        }
        let mut log = RequestLog { records: Vec::with_capacity(records as usize), dropped };
        for index in 0..records {
            let mut bytes = [0u8; RECORD_BYTES];
            region.read_at(HEADER_BYTES + index * RECORD_LENGTH, &mut bytes);
            log.records.push(Record::decode(&bytes, index)?);
        }
        Ok(log)
    }

    /// The log's bytes, as a writer would have left them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0u8; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(RECORD_BYTES as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.records.len() as u64).to_le_bytes());
        bytes[24..32].copy_from_slice(&self.dropped.to_le_bytes());
        for record in &self.records {
            bytes.extend_from_slice(&record.encode());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RequestId;
    use crate::region::MemoryRegion;

    fn request() -> impl Strategy<Value = Request> {
        let operation = prop::sample::select(vec![
            Operation::Read,
            Operation::Write,
            Operation::Flush,
            Operation::Discard,
        ]);
        (operation, any::<u64>(), any::<u32>(), any::<bool>()).prop_map(
            |(operation, lba, sectors, fua)| Request {
                id: RequestId(0),
                operation,
                lba: Lba(lba),
                sectors: u64::from(sectors),
                fua,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            requests in prop::collection::vec(
                (request(), any::<u16>(), any::<u64>(), prop::option::of(0u64..1 << 60)), 0..50),
        ) {
            let mut writer = LogWriter::create(MemoryRegion::new(1 << 20)).unwrap();
            for (now, (request, phase, payload, done)) in requests.iter().enumerate() {
                let index = writer
                    .submitted(Nanos(now as u64), request, *phase, *payload)
                    .unwrap();
                if let Some(at) = done {
                    writer.completed(index, Nanos(*at));
                }
            }
            let region = writer.into_region();
            let log = RequestLog::read(&region).unwrap();
            prop_assert_eq!(log.records.len(), requests.len());
            for (record, (request, phase, payload, done)) in log.records.iter().zip(&requests) {
                prop_assert_eq!(record.operation, request.operation);
                prop_assert_eq!(record.lba, request.lba);
                prop_assert_eq!(u64::from(record.sectors), request.sectors);
                prop_assert_eq!(record.fua, request.fua);
                prop_assert_eq!((record.phase, record.payload), (*phase, *payload));
                prop_assert_eq!(record.completed, done.map(Nanos));
            }
            prop_assert_eq!(log.encode(), region.bytes());
        }
    }

    #[test]
    fn a_full_log_counts_what_it_drops() {
        let room = HEADER_BYTES + 2 * RECORD_LENGTH + 7;
        let mut writer = LogWriter::create(MemoryRegion::new(room)).unwrap();
        let request = Request {
            id: RequestId(0),
            operation: Operation::Flush,
            lba: Lba(0),
            sectors: 0,
            fua: false,
        };
        let written = (0..5).filter_map(|now| writer.submitted(Nanos(now), &request, 0, 0));
        assert_eq!(written.count(), 2);
        assert_eq!((writer.records(), writer.dropped()), (2, 3));
        let log = RequestLog::read(&writer.into_region()).unwrap();
        assert_eq!((log.records.len(), log.dropped), (2, 3));
    }

    #[test]
    fn what_is_not_a_log_is_not_read() {
        let mut region = MemoryRegion::new(1000);
        assert_eq!(RequestLog::read(&region), Err(LogError::Foreign));
        LogWriter::create(&mut region).unwrap();
        region.write_at(8, &9u32.to_le_bytes());
        assert_eq!(RequestLog::read(&region), Err(LogError::Version { found: 9 }));
        LogWriter::create(&mut region).unwrap();
        region.write_at(16, &1000u64.to_le_bytes());
        assert!(matches!(RequestLog::read(&region), Err(LogError::Truncated { .. })));
    }

    #[test]
    fn a_log_ends_where_its_region_does() {
        // A header alone is a log without records.
        let empty = LogWriter::create(MemoryRegion::new(HEADER_BYTES)).unwrap().into_region();
        assert_eq!(RequestLog::read(&empty), Ok(RequestLog { records: Vec::new(), dropped: 0 }));
        // Less than a header is no log, however it begins.
        let mut short = MemoryRegion::new(HEADER_BYTES - 1);
        short.write_at(0, &MAGIC);
        assert_eq!(RequestLog::read(&short), Err(LogError::Foreign));
        // There is room for two records, and the header says that there are three.
        let room = HEADER_BYTES + 2 * RECORD_LENGTH;
        let mut cut = LogWriter::create(MemoryRegion::new(room)).unwrap().into_region();
        cut.write_at(16, &3u64.to_le_bytes());
        assert_eq!(RequestLog::read(&cut), Err(LogError::Truncated { records: 3, whole: 2 }));
    }
}
