//! What a sweep tells its user.

use std::fmt;
use std::path::PathBuf;

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// What was removed, unmounted or detached, in order.
    pub cleaned: Vec<String>,
    /// What was left. The next sweep tries again.
    pub left: Vec<Left>,
    /// Processes that are alive and whose objects were therefore left alone.
    pub running: Vec<u32>,
}

/// An object that a sweep left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What it is, and why it was left.
    pub what: String,
    /// Where it was made; what cannot be read, its file in the ledger.
    pub path: PathBuf,
    /// Its file in the ledger.
    pub entry: PathBuf,
    /// Whether the user was told of it before ([`crate::Ledger::note_told`]).
    pub told: bool,
}

impl SweepReport {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.cleaned.is_empty() && self.left.is_empty()
    }

    /// What the user was not told before.
    pub fn news(mut self) -> SweepReport {
        self.left.retain(|left| !left.told);
        self
    }
}

/// One line for each object.
impl fmt::Display for SweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cleaned = self.cleaned.iter().map(|what| format!("cleaned up: {what}"));
        let left = self.left.iter().map(|left| format!("left behind: {}", left.what));
        f.write_str(&cleaned.chain(left).collect::<Vec<_>>().join("\n"))
    }
}
