//! Counts latencies as fast as possible while a clock runs.

use units::Nanos;

use crate::Latencies;
use crate::latencies::HIGHEST_NS;

/// Counts by latency, in the buckets of HdrHistogram with three significant digits:
/// 2048 of width 1, then 1024 for each doubling. Recording is a shift and an addition,
/// without the histogram's own bookkeeping; [`Tally::finish`] makes the histogram.
///
/// 264 KiB, allocated and touched at creation, so that recording neither allocates nor faults.
#[derive(Debug, Clone)]
pub struct Tally {
    counts: Box<[u64; BUCKETS]>,
}

/// Log₂ of the buckets in each doubling.
const HALF_BITS: u32 = 10;
const BUCKETS: usize = bucket(HIGHEST_NS) + 1;

/// The bucket of a latency: its leading eleven bits and how far they had to be shifted.
const fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - HALF_BITS - 1) - (ns | ((2 << HALF_BITS) - 1)).leading_zeros();
    ((shift as usize) << HALF_BITS) + (ns >> shift) as usize
}

/// The smallest latency of a bucket.
const fn lowest(bucket: usize) -> u64 {
    let doubling = bucket >> HALF_BITS;
    let shift = doubling.saturating_sub(1);
    ((bucket - (shift << HALF_BITS)) as u64) << shift
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Tally {
    /// Nothing counted yet.
    pub fn new() -> Tally {
        // Filled with ones first: zeroed memory would come untouched from the kernel, and the page
        // faults would happen later, while recording.
        let mut counts = vec![1; BUCKETS].into_boxed_slice();
        std::hint::black_box(&mut counts);
        counts.fill(0);
        let counts = counts.try_into().unwrap_or_else(|_| Box::new([0; BUCKETS]));
        Tally { counts }
    }

    /// Counts one op. Latencies above an hour count as an hour.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.counts[bucket(latency.0.min(HIGHEST_NS))] += 1;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Tally) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts[..]) {
            *mine += theirs;
        }
    }

    /// The histogram of everything counted.
    pub fn finish(&self) -> Latencies {
        let mut latencies = Latencies::new();
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            latencies.record_many(Nanos(lowest(bucket)), *count);
        }
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_tally_becomes_the_histogram_that_recorded_the_same(
            short in proptest::collection::vec(0u64..10_000, 0..100),
            long in proptest::collection::vec(0u64..2 * HIGHEST_NS, 0..100),
        ) {
            let (mut tally, mut other, mut direct) = (Tally::new(), Tally::new(), Latencies::new());
            for &ns in &short {
                tally.record(Nanos(ns));
                direct.record(Nanos(ns));
            }
            for &ns in &long {
                other.record(Nanos(ns));
                direct.record(Nanos(ns));
            }
            tally.merge(&other);
            let made = tally.finish();
            proptest::prop_assert!(made.buckets() == direct.buckets(), "buckets differ");
            proptest::prop_assert_eq!(made.percentiles(), direct.percentiles());
        }

        #[test]
        fn buckets_are_within_three_digits(ns in 0u64..=HIGHEST_NS) {
            let (low, high) = (lowest(bucket(ns)), lowest(bucket(ns) + 1));
            proptest::prop_assert!(low <= ns && ns < high);
            proptest::prop_assert!(high - low <= 1.max(low / 1000));
        }
    }
}
