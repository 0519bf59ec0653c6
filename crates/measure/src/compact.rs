//! A histogram as it is stored: only its buckets that are not empty. It is a hundred times
//! smaller than one that can record, and gives the same figures to the last bit.

use hdrhistogram::Histogram;

/// Values below this have a bucket each; above it there are 1,024 buckets for each power of two:
/// three significant digits.
const EXACT_BELOW: u64 = 2048;

/// Buckets in the order of their values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compact {
    /// The highest value of the bucket, and how many fell into it.
    buckets: Box<[(u64, u64)]>,
    total: u64,
}

impl Compact {
    /// The buckets of a histogram with three significant digits and a lowest value of 1.
    pub(crate) fn of(histogram: &Histogram<u64>) -> Compact {
        let buckets = histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        Compact { buckets, total: histogram.len() }
    }

    pub(crate) fn buckets(&self) -> &[(u64, u64)] {
        &self.buckets
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        let wanted = ((quantile.min(1.0) * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for &(highest, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return if quantile == 0.0 { lowest(highest) } else { highest };
            }
        }
        0
    }

    /// The lowest value of the first bucket.
    pub(crate) fn min(&self) -> u64 {
        self.buckets.first().map_or(0, |&(highest, _)| lowest(highest))
    }

    /// The highest value of the last bucket.
    pub(crate) fn max(&self) -> u64 {
        self.buckets.last().map_or(0, |&(highest, _)| highest)
    }

    /// The mean, each value taken as the middle of its bucket.
    pub(crate) fn mean(&self) -> f64 {
        let share =
            |&(value, count): &(u64, u64)| middle(value) as f64 * count as f64 / self.total as f64;
        self.buckets.iter().map(share).fold(0.0, |sum, part| sum + part)
    }

    /// The deviation from the mean, divided by the number of values.
    pub(crate) fn deviation(&self) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let mean = self.mean();
        let square = |&(value, count): &(u64, u64)| {
            let away = middle(value) as f64 - mean;
            (away * away) * count as f64
        };
        let sum = self.buckets.iter().map(square).fold(0.0, |sum, part| sum + part);
        (sum / self.total as f64).sqrt()
    }
}

/// How many values share a bucket with this one.
fn width(value: u64) -> u64 {
    if value < EXACT_BELOW { 1 } else { 1 << (value.ilog2() - EXACT_BELOW.ilog2() + 1) }
}

fn lowest(value: u64) -> u64 {
    value & !(width(value) - 1)
}

fn middle(value: u64) -> u64 {
    lowest(value) + width(value) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latencies::HIGHEST_NS;

    proptest::proptest! {
        #[test]
        fn figures_are_those_of_the_histogram(
            values in proptest::collection::vec(
                (0u32..42).prop_flat_map(|bits| 0u64..=1 << bits), 0..300),
        ) {
            use proptest::prelude::*;
            let mut full = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
            values.iter().for_each(|&value| full.saturating_record(value.min(HIGHEST_NS)));
            let compact = Compact::of(&full);
            prop_assert_eq!(compact.total(), full.len());
            for quantile in [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(compact.quantile(quantile), full.value_at_quantile(quantile));
            }
            prop_assert_eq!(compact.mean().to_bits(), full.mean().to_bits());
            prop_assert_eq!(compact.deviation().to_bits(), full.stdev().to_bits());
            if !values.is_empty() {
                prop_assert_eq!((compact.min(), compact.max()), (full.min(), full.max()));
            }
        }
    }

    use proptest::strategy::Strategy;
}
