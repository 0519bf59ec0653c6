//! A disk's queue settings, remembered while a trial changes them and put back afterwards: a
//! machine's own choice of scheduler and read-ahead is not ours to keep.

use crate::Claim;
use crate::queue_settings::QueueSettings;
use crate::record::{LedgerError, RecordFile, Records, Thing, random_token};

/// Settings of a disk that are put back when this is dropped, or at the next start.
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
            // The next start tries again, and says so.
            record.leave();
        }
    }
}
