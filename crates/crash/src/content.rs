//! Contents of files, which tell by themselves where they belong.

use serde::{Deserialize, Serialize};

/// Bytes that follow from a number. No 16 bytes of it are zero, or occur in any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Which.
    pub seed: u64,
    /// How many bytes.
    pub len: u64,
}

impl Content {
    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        let words = (0..self.len.div_ceil(8)).flat_map(|nth| mix(self.seed, nth).to_le_bytes());
        words.take(self.len as usize).collect()
    }
}

/// A number that depends on both (splitmix64).
pub(crate) fn mix(seed: u64, nth: u64) -> u64 {
    let mut z = seed.wrapping_add(nth.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
