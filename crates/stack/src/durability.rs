//! What an `fsync` promises on a contender.

use serde::{Deserialize, Serialize};

/// Contenders of unequal durability are not compared in silence: a table that mixes them
/// says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing survives a power failure (tmpfs).
    None,
    /// Cache flushes are switched off: what is synced may be lost or torn.
    NoBarriers,
    /// The filesystem's default promise.
    Full,
}
