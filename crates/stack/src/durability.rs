//! What an `fsync` promises on a contender.

use serde::{Deserialize, Serialize};

/// Contenders of unequal durability are never compared silently: a table that mixes them says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing: what was synced need not survive a power failure (tmpfs, `fsync=ignored`).
    None,
    /// Cache flushes are switched off: what is synced may be lost or torn.
    NoBarriers,
    /// The filesystem's default promise.
    Full,
}

impl Durability {
    /// What the options of an existing mount promise, as the kernel shows them. For targets
    /// that fstrial did not make itself.
    pub fn of_mount_options(kernel_type: &str, options: &str) -> Durability {
        const WITHOUT_BARRIERS: [&str; 4] =
            ["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier"];
        if matches!(kernel_type, "tmpfs" | "ramfs") {
            Durability::None
        } else if options.split(',').any(|option| WITHOUT_BARRIERS.contains(&option)) {
            Durability::NoBarriers
        } else {
            Durability::Full
        }
    }
}
