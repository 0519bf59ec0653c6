//! Place on a disk.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Bytes in the sector that block addresses count, whatever the drive's physical sector:
/// the unit of Linux's block layer.
pub const SECTOR_BYTES: u64 = 512;

/// A logical block address, in units of [`SECTOR_BYTES`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lba(pub u64);

impl Lba {
    /// The byte offset of this sector's start.
    pub const fn byte_offset(self) -> Bytes {
        Bytes(self.0 * SECTOR_BYTES)
    }
}

impl Add<u64> for Lba {
    type Output = Lba;
    fn add(self, sectors: u64) -> Lba {
        Lba(self.0 + sectors)
    }
}

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sector {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sectors_of_512_bytes() {
        assert_eq!(Lba(3).byte_offset(), Bytes(1_536));
        assert_eq!(Lba(40) + 2, Lba(42));
        assert_eq!(Lba(42).to_string(), "sector 42");
    }
}
