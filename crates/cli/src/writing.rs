//! Whether a document is being written, which may wait for its reader for ever.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Documents that are being written to where that may wait.
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// While it lives, the first signal ends the process.
pub(crate) struct EndedBySignals(());

/// Until what this returns is dropped, the first signal ends the process: all work is done, and
/// only a document is written.
pub(crate) fn ended_by_signals() -> EndedBySignals {
    WRITING.fetch_add(1, Ordering::SeqCst);
    EndedBySignals(())
}

impl Drop for EndedBySignals {
    fn drop(&mut self) {
        WRITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether one is being written now.
pub(crate) fn is_writing() -> bool {
    WRITING.load(Ordering::SeqCst) > 0
}
