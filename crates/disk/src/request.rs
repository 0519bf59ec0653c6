//! Requests to a disk and their completions.

use serde::{Deserialize, Serialize};
use units::{Lba, Nanos};

/// Names a request among those outstanding; chosen by the front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// A block request, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its name.
    pub id: RequestId,
    /// What is asked.
    pub operation: Operation,
    /// First sector; 0 for a flush.
    pub lba: Lba,
    /// Sectors of 512 bytes; 0 for a flush.
    pub sectors: u64,
    /// Force unit access: a write is durable when it completes.
    pub fua: bool,
}

impl Request {
    /// As much of it as lies on a disk of so many sectors.
    pub(crate) fn within(self, disk: u64) -> Request {
        let lba = self.lba.0.min(disk);
        Request { lba: Lba(lba), sectors: self.sectors.min(disk - lba), ..self }
    }
}

/// The kinds of request, as Linux's block layer has them. A write with PREFLUSH arrives as
/// a flush followed by a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Empty the volatile write cache.
    Flush,
    /// The host no longer needs the contents (TRIM).
    Discard,
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Which.
    pub id: RequestId,
    /// When.
    pub at: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_cut_at_the_end_of_the_disk() {
        let request = |lba, sectors| {
            let (id, operation) = (RequestId(7), Operation::Write);
            Request { id, operation, lba: Lba(lba), sectors, fua: true }
        };
        assert_eq!(request(90, 10).within(100), request(90, 10));
        assert_eq!(request(90, 20).within(100), request(90, 10));
        assert_eq!(request(150, 20).within(100), request(100, 0));
    }
}
