//! Remembers a disk's queue settings while a trial changes them and restores them afterwards, so
//! that the machine keeps its own scheduler and read-ahead.

use crate::Claim;
use crate::queue_settings::QueueSettings;
use crate::record::{LedgerError, RecordFile, Records, Thing, random_token};

/// Settings of a disk that are restored when this is dropped, or at fstrial's next start.
#[derive(Debug)]
pub struct OwnedQueue {
    settings: QueueSettings,
    record: Option<RecordFile>,
}

impl OwnedQueue {
    pub(crate) fn note(records: &Records, claim: &Claim) -> Result<OwnedQueue, LedgerError> {
        let settings =
            QueueSettings::of(claim).map_err(LedgerError::of("read the queue of", claim.path()))?;
        let record =
            records.record(&random_token()?, Thing::Queue { settings: settings.clone() })?;
        Ok(OwnedQueue { settings, record: Some(record) })
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        if let (Err(_), Some(record)) = (self.settings.restore(), self.record.take()) {
            // The next start tries again, and reports it.
            record.leave();
        }
    }
}
