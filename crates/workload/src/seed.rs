//! Everything random in a trial comes from its seed.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// A trial's seed. Named streams keep uses apart: drawing one more file size does not
/// change the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator for one use. ChaCha8 is specified to the bit, so a seed means the same
    /// on every machine and in every version.
    pub fn stream(self, use_of: &str) -> Draw {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&self.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&fnv1a(use_of.as_bytes()).to_le_bytes());
        Draw(ChaCha8Rng::from_seed(bytes))
    }

    /// A seed for a part (a repeat, a thread), independent of the others.
    pub fn derive(self, part: &str) -> Seed {
        Seed(self.stream(part).bits())
    }

    /// A UUID (version 4 by its bits) for a filesystem or its hash seed.
    pub fn uuid(self, use_of: &str) -> String {
        let mut draw = self.stream(use_of);
        let (high, low) = (draw.bits(), draw.bits());
        let high = (high & !0xf000) | 0x4000;
        let low = (low & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// Random draws with their own arithmetic, so that a library's change of method cannot
/// change a workload.
#[derive(Debug, Clone)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// A generator with a given key, for draws that must not be reproducible from a seed.
    pub(crate) fn from_key(key: [u8; 32]) -> Draw {
        Draw(ChaCha8Rng::from_seed(key))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `bound` (0 for a bound of 0). Multiply and shift; the bias is
    /// below 2⁻⁴⁰ for bounds up to 2²⁴.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Puts `items` in random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Fills a buffer with incompressible bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill_bytes(buffer);
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): to name a stream, not to protect anything.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever() {
        // A change here changes every workload: stored seeds would mean something else.
        let mut draw = Seed(1).stream("ops");
        let first = [draw.bits(), draw.bits()];
        let mut again = Seed(1).stream("ops");
        assert_eq!(first, [again.bits(), again.bits()]);
        assert_ne!(first[0], Seed(2).stream("ops").bits());
        assert_ne!(first[0], Seed(1).stream("names").bits());
        assert_eq!(first, [16647357659978892460, 11451567236447913227]);
        assert_eq!(Seed(1).uuid("filesystem"), "b80fad20-c6b2-457c-821a-18528d4a767b");
    }

    proptest::proptest! {
        #[test]
        fn below_stays_below(seed: u64, bound in 1u64..u64::MAX) {
            proptest::prop_assert!(Seed(seed).stream("x").below(bound) < bound);
        }

        #[test]
        fn a_shuffle_keeps_every_item(seed: u64, len in 0usize..100) {
            let mut items: Vec<usize> = (0..len).collect();
            Seed(seed).stream("x").shuffle(&mut items);
            items.sort_unstable();
            proptest::prop_assert_eq!(items, (0..len).collect::<Vec<_>>());
        }
    }
}
