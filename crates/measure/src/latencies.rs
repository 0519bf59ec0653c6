//! Latencies of one kind of op, as a histogram with three significant digits.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::compact::Compact;

/// A histogram of latencies. Values keep three significant digits up to an hour; longer
/// ones count as an hour. A new one takes about 270 KiB of memory, allocated and touched at
/// creation, so that recording neither allocates nor faults; one that was read back takes 16
/// bytes for each bucket that is not empty.
#[derive(Debug, Clone)]
pub struct Latencies(Form);

#[derive(Debug, Clone)]
enum Form {
    /// A full histogram that can record.
    Open(Histogram<u64>),
    /// The compact form in which it was stored.
    Compact(Compact),
}

impl PartialEq for Latencies {
    fn eq(&self, other: &Latencies) -> bool {
        self.compact() == other.compact()
    }
}

/// The figures a table shows of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Ops recorded.
    pub count: u64,
    /// Smallest.
    pub min: Nanos,
    /// Arithmetic mean, in nanoseconds.
    pub mean_ns: f64,
    /// Sample standard deviation, in nanoseconds.
    pub sdev_ns: f64,
    /// Median.
    pub p50: Nanos,
    /// 90th percentile.
    pub p90: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// 99.9th percentile.
    pub p999: Nanos,
    /// Largest.
    pub max: Nanos,
}

/// Why stored bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a latency histogram: {0}")]
pub struct DecodeLatenciesError(String);

/// An hour.
pub(crate) const HIGHEST_NS: u64 = 3_600_000_000_000;

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

impl Latencies {
    /// An empty histogram.
    pub fn new() -> Latencies {
        Latencies(Form::Open(open()))
    }

    /// Counts one op.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        // The histogram's own limit is the end of its last bucket, beyond the hour.
        self.open().saturating_record(latency.0.min(HIGHEST_NS));
    }

    /// Counts several ops of one latency.
    pub(crate) fn record_many(&mut self, latency: Nanos, count: u64) {
        self.open().saturating_record_n(latency.0, count);
    }

    /// Adds the ops of `other`, as if they had been recorded here.
    pub fn merge(&mut self, other: &Latencies) {
        match &other.0 {
            Form::Open(other) => {
                self.open().add(other).expect("histograms of equal bounds always add");
            }
            Form::Compact(other) => {
                let open = self.open();
                for &(value, count) in other.buckets() {
                    open.saturating_record_n(value, count);
                }
            }
        }
    }

    /// Ops recorded.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Form::Open(open) => open.len(),
            Form::Compact(compact) => compact.total(),
        }
    }

    /// The latency that `quantile` (0 to 1) of the ops did not exceed.
    pub fn quantile(&self, quantile: f64) -> Nanos {
        Nanos(match &self.0 {
            Form::Open(open) => open.value_at_quantile(quantile),
            Form::Compact(compact) => compact.quantile(quantile),
        })
    }

    /// The figures for a table; `None` where nothing was recorded.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let seen = self.compact();
        let count = seen.total();
        if count == 0 {
            return None;
        }
        // The histogram divides by n; a sample's deviation divides by n − 1.
        let sample = if count > 1 { (count as f64 / (count - 1) as f64).sqrt() } else { 0.0 };
        let quantile = |quantile: f64| Nanos(seen.quantile(quantile));
        Some(Percentiles {
            count,
            min: Nanos(seen.min()),
            mean_ns: seen.mean(),
            sdev_ns: seen.deviation() * sample,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: Nanos(seen.max()),
        })
    }

    /// Non-empty buckets as (upper bound, count), for charts.
    pub fn buckets(&self) -> Vec<(Nanos, u64)> {
        let buckets = self.compact();
        buckets.buckets().iter().map(|&(value, count)| (Nanos(value), count)).collect()
    }

    /// The histogram in HdrHistogram's V2 format, which other tools read too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut opened = Latencies::new();
        let open = match &self.0 {
            Form::Open(open) => open,
            Form::Compact(_) => {
                opened.merge(self);
                opened.open()
            }
        };
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(open, &mut bytes).expect("writing to memory does not fail");
        bytes
    }

    /// Reads [`Latencies::to_bytes`] back.
    ///
    /// # Errors
    /// When the bytes are not such a histogram (a truncated or foreign store).
    pub fn from_bytes(bytes: &[u8]) -> Result<Latencies, DecodeLatenciesError> {
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &bytes[..])
            .map_err(|error| DecodeLatenciesError(error.to_string()))?;
        let ours = (read.low(), read.sigfig()) == (1, 3) && read.high() <= HIGHEST_NS;
        if !ours {
            return Err(DecodeLatenciesError("it has other bounds".to_owned()));
        }
        Ok(Latencies(Form::Compact(Compact::of(&read))))
    }

    /// The histogram to record into; a compact one is first converted to a full one.
    #[inline]
    fn open(&mut self) -> &mut Histogram<u64> {
        if let Form::Compact(compact) = &self.0 {
            let mut histogram = open();
            for &(value, count) in compact.buckets() {
                histogram.saturating_record_n(value, count);
            }
            self.0 = Form::Open(histogram);
        }
        match &mut self.0 {
            Form::Open(open) => open,
            Form::Compact(_) => unreachable!("it was opened above"),
        }
    }

    fn compact(&self) -> Cow<'_, Compact> {
        match &self.0 {
            Form::Open(open) => Cow::Owned(Compact::of(open)),
            Form::Compact(compact) => Cow::Borrowed(compact),
        }
    }
}

fn open() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, 3)
        .expect("constant bounds are valid: low < high, three digits")
}

/// As text in JSON: V2 format, hexadecimal.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let hex: String = self.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&hex)
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Latencies, D::Error> {
        let text = String::deserialize(source)?;
        let bytes = (0..text.len())
            .step_by(2)
            .map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect::<Option<Vec<u8>>>()
            .ok_or_else(|| serde::de::Error::custom("a histogram is not hexadecimal"))?;
        Latencies::from_bytes(&bytes).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_thousand_known_values() {
        let mut latencies = Latencies::new();
        (1..=1000).for_each(|micros| latencies.record(Nanos::from_micros(micros)));
        let shown = latencies.percentiles().unwrap();
        let close = |a: Nanos, micros: f64| (a.0 as f64 / 1e3 / micros - 1.0).abs() < 0.001;
        assert!(close(shown.p50, 500.0) && close(shown.p90, 900.0) && close(shown.p99, 990.0));
        assert!(close(shown.max, 1000.0));
        assert!((shown.mean_ns / 500_500.0 - 1.0).abs() < 0.001);
        assert!((shown.sdev_ns / 288_819.4 - 1.0).abs() < 0.002);
    }

    /// Of 1000 and 2000 ns: 500 · √2, and no deviation of a single one.
    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut latencies = Latencies::new();
        latencies.record(Nanos(1000));
        assert_eq!(latencies.percentiles().unwrap().sdev_ns, 0.0);
        latencies.record(Nanos(2000));
        assert!((latencies.percentiles().unwrap().sdev_ns / 707.107 - 1.0).abs() < 0.002);
    }

    #[test]
    fn nothing_recorded_is_no_figure() {
        assert!(Latencies::new().percentiles().is_none());
    }

    #[test]
    fn truncated_bytes_are_an_error() {
        let bytes = Latencies::new().to_bytes();
        assert!(Latencies::from_bytes(&bytes[..bytes.len() / 2]).is_err());
    }

    #[test]
    fn what_is_read_back_takes_no_more_than_its_buckets() {
        let mut latencies = Latencies::new();
        (1..=100).for_each(|micros| latencies.record(Nanos::from_micros(micros)));
        let back = Latencies::from_bytes(&latencies.to_bytes()).unwrap();
        match &back.0 {
            Form::Compact(compact) => assert!(compact.buckets().len() <= 100),
            Form::Open(_) => panic!("270 KiB for a hundred ops"),
        }
        let _ = (back.count(), back.quantile(0.5), back.percentiles(), back.buckets());
        assert!(matches!(back.0, Form::Compact(_)), "reading its figures opens nothing");
    }

    proptest::proptest! {
        #[test]
        fn merging_is_recording_everything_and_bytes_bring_it_back(
            left in proptest::collection::vec(0u64..10_000_000_000, 0..200),
            right in proptest::collection::vec(0u64..10_000_000_000, 0..200),
        ) {
            let record = |values: &[u64]| {
                let mut latencies = Latencies::new();
                values.iter().for_each(|&ns| latencies.record(Nanos(ns)));
                latencies
            };
            let mut merged = record(&left);
            merged.merge(&record(&right));
            let both = record(&[left, right].concat());
            proptest::prop_assert_eq!(&merged, &both);
            let json = serde_json::to_string(&merged).unwrap();
            let back: Latencies = serde_json::from_str(&json).unwrap();
            proptest::prop_assert_eq!(back.percentiles(), merged.percentiles());
            proptest::prop_assert_eq!(&back, &merged);
            proptest::prop_assert_eq!(back.to_bytes(), merged.to_bytes());
            let mut again = back.clone();
            again.merge(&back);
            again.record(Nanos(7));
            proptest::prop_assert_eq!(again.count(), 2 * merged.count() + 1);
        }
    }
}
