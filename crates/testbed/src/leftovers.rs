//! Opens the ledger of what this user's fstrial processes have made, and cleans up after those that
//! have ended.

use std::path::PathBuf;

use ::device::{Ledger, SweepReport};
use stack::Refusal;

/// Opens the ledger in its usual place. Everything that outlives a process is recorded
/// there before it is made.
///
/// # Errors
/// When it cannot be written: then nothing can be made either.
pub fn open_ledger() -> Result<Ledger, Refusal> {
    let directory =
        Ledger::default_directory().unwrap_or_else(|| PathBuf::from("/var/lib/fstrial"));
    Ledger::open(&directory).map_err(|error| {
        let refusal = Refusal::new("the record of what fstrial makes", error.to_string());
        // Root's record is always in the same place, where its next start looks for it.
        match rustix::process::geteuid().is_root() {
            true => refusal,
            false => refusal.with_next("set XDG_STATE_HOME to a directory of your own"),
        }
    })
}

/// Cleans up after interrupted runs. Runs of other users and of running processes are left alone.
///
/// # Errors
/// When the ledger cannot be read.
pub fn sweep(ledger: &Ledger) -> Result<SweepReport, Refusal> {
    ledger
        .sweep()
        .map_err(|error| Refusal::new("the record of what fstrial makes", error.to_string()))
}
