//! Published figures of a real device, as data, with which a model is compared.

use serde::Deserialize;

/// One published figure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was measured.
    pub figure: Figure,
    /// The value, in [`Figure::unit`].
    pub value: f64,
    /// Where it was published, or how it was derived.
    pub source: String,
    /// By how many per cent the model may miss it; shown but not judged where left out.
    pub tolerance_percent: Option<f64>,
}

/// What `check` measures, and what may be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Mean time of a random read of 4 KiB, one at a time, in milliseconds.
    RandomReadMs,
    /// Median of the same, in milliseconds.
    RandomReadMedianMs,
    /// 99th percentile of the same, in milliseconds.
    RandomReadP99Ms,
    /// Random reads of 4 KiB a second, 32 at a time.
    RandomReadDepth32Iops,
    /// Sequential reading in the outermost zone, in MB/s.
    SequentialOuterMbPerS,
    /// Sequential reading in the innermost zone, in MB/s.
    SequentialInnerMbPerS,
    /// Sequential writing in the outermost zone, in MB/s.
    SequentialWriteOuterMbPerS,
    /// Mean time of a seek over a random distance without rotation, in milliseconds.
    SeekAverageMs,
    /// Mean time of a write of 4 KiB that the cache takes in, in milliseconds.
    CachedWriteMs,
    /// Random writes of 4 KiB a second over a span far beyond the cache, 32 at a time.
    RandomWriteDepth32Iops,
    /// Writes of 4 KiB, each followed by a flush, a second.
    SyncWriteIops,
    /// Demerit against a trace of the real drive, in milliseconds.
    DemeritMs,
}

impl Figure {
    /// All figures, in the order of a report.
    pub const ALL: &[Figure] = &[
        Figure::RandomReadMs,
        Figure::RandomReadMedianMs,
        Figure::RandomReadP99Ms,
        Figure::RandomReadDepth32Iops,
        Figure::SequentialOuterMbPerS,
        Figure::SequentialInnerMbPerS,
        Figure::SequentialWriteOuterMbPerS,
        Figure::SeekAverageMs,
        Figure::CachedWriteMs,
        Figure::RandomWriteDepth32Iops,
        Figure::SyncWriteIops,
        Figure::DemeritMs,
    ];

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Figure::RandomReadMs => "random read 4 KiB, one at a time",
            Figure::RandomReadMedianMs => "the same, median",
            Figure::RandomReadP99Ms => "the same, 99th percentile",
            Figure::RandomReadDepth32Iops => "random read 4 KiB, 32 at a time",
            Figure::SequentialOuterMbPerS => "sequential read, outermost zone",
            Figure::SequentialInnerMbPerS => "sequential read, innermost zone",
            Figure::SequentialWriteOuterMbPerS => "sequential write, outermost zone",
            Figure::SeekAverageMs => "average seek",
            Figure::CachedWriteMs => "write 4 KiB into the cache",
            Figure::RandomWriteDepth32Iops => "random write 4 KiB, 32 at a time",
            Figure::SyncWriteIops => "write 4 KiB and flush",
            Figure::DemeritMs => "demerit against a trace",
        }
    }

    /// The unit of its value: rates are in 10⁶ bytes a second, as data sheets have them.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::RandomReadMs
            | Figure::RandomReadMedianMs
            | Figure::RandomReadP99Ms
            | Figure::SeekAverageMs
            | Figure::CachedWriteMs
            | Figure::DemeritMs => "ms",
            Figure::RandomReadDepth32Iops
            | Figure::RandomWriteDepth32Iops
            | Figure::SyncWriteIops => "/s",
            Figure::SequentialOuterMbPerS
            | Figure::SequentialInnerMbPerS
            | Figure::SequentialWriteOuterMbPerS => "MB/s",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_figure_has_its_own_title() {
        let titles: BTreeSet<&str> = Figure::ALL.iter().map(|figure| figure.title()).collect();
        assert_eq!(titles.len(), Figure::ALL.len());
        assert_eq!(Figure::SeekAverageMs.title(), "average seek");
    }

    #[test]
    fn the_unit_is_of_a_time_a_count_or_a_rate() {
        assert_eq!(Figure::RandomReadP99Ms.unit(), "ms");
        assert_eq!(Figure::SyncWriteIops.unit(), "/s");
        assert_eq!(Figure::SequentialInnerMbPerS.unit(), "MB/s");
    }
}
