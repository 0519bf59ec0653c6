//! Statistics of a log, or of one phase of it: counts, bytes, distances, latencies. They are exact,
//! since the log holds every request.

use units::{Bytes, Nanos, SECTOR_BYTES};

use super::record::{Record, RequestLog};
use crate::Operation;

/// Five points of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentiles<T> {
    /// Half of the values are at most this.
    pub p50: T,
    /// Nine in ten are at most this.
    pub p90: T,
    /// 99 in 100 are at most this.
    pub p99: T,
    /// 999 in 1000 are at most this.
    pub p999: T,
    /// The largest value.
    pub max: T,
}

impl<T: Copy + Ord> Percentiles<T> {
    /// Nearest-rank percentiles; `None` if there are no values.
    fn of(mut values: Vec<T>) -> Option<Percentiles<T>> {
        values.sort_unstable();
        let max = *values.last()?;
        let at = |thousandths: usize| {
            values[(values.len() * thousandths).div_ceil(1000).saturating_sub(1)]
        };
        Some(Percentiles { p50: at(500), p90: at(900), p99: at(990), p999: at(999), max })
    }
}

/// The statistics of a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogSummary {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: Bytes,
    /// Writes that had to be durable when they completed.
    pub fua_writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes discarded.
    pub discarded_bytes: Bytes,
    /// Requests that never completed.
    pub unfinished: u64,
    /// Share of the reads and writes, without the first, that began where the one before ended;
    /// `None` with fewer than two.
    pub sequential_share: Option<f64>,
    /// Sectors from the end of one read or write to the start of the next, in either direction,
    /// without sequential ones.
    pub distances: Option<Percentiles<u64>>,
    /// Latency of reads.
    pub read_latency: Option<Percentiles<Nanos>>,
    /// Latency of writes.
    pub write_latency: Option<Percentiles<Nanos>>,
    /// Latency of flushes.
    pub flush_latency: Option<Percentiles<Nanos>>,
    /// From the first submission to the last completion.
    pub span: Option<Nanos>,
    /// Time during which at least one request was outstanding.
    pub busy: Nanos,
}

impl RequestLog {
    /// The whole log, or what was submitted in one phase of it.
    pub fn summary(&self, phase: Option<u16>) -> LogSummary {
        let kept = |record: &&Record| phase.is_none_or(|phase| phase == record.phase);
        let records: Vec<&Record> = self.records.iter().filter(kept).collect();
        let mut summary = LogSummary::default();
        let mut next_lba: Option<u64> = None;
        let (mut moves, mut distances) = (0u64, Vec::new());
        for record in &records {
            let bytes = Bytes(u64::from(record.sectors) * SECTOR_BYTES);
            summary.unfinished += u64::from(record.completed.is_none());
            match record.operation {
                Operation::Read => {
                    summary.reads += 1;
                    summary.read_bytes += bytes;
                }
                Operation::Write => {
                    summary.writes += 1;
                    summary.written_bytes += bytes;
                    summary.fua_writes += u64::from(record.fua);
                }
                Operation::Flush => summary.flushes += 1,
                Operation::Discard => {
                    summary.discards += 1;
                    summary.discarded_bytes += bytes;
                }
            }
            if matches!(record.operation, Operation::Read | Operation::Write) {
                if let Some(next) = next_lba {
                    moves += 1;
                    distances.push(next.abs_diff(record.lba.0));
                }
                next_lba = Some(record.lba.0 + u64::from(record.sectors));
            }
        }
        distances.retain(|distance| *distance > 0);
        if moves > 0 {
            let sequential = moves - distances.len() as u64;
            summary.sequential_share = Some(sequential as f64 / moves as f64);
        }
        summary.distances = Percentiles::of(distances);
        let latency = |operation: Operation| {
            let of = records.iter().filter(|record| record.operation == operation);
            let times = of.filter_map(|record| Some(record.completed? - record.submitted));
            Percentiles::of(times.collect())
        };
        summary.read_latency = latency(Operation::Read);
        summary.write_latency = latency(Operation::Write);
        summary.flush_latency = latency(Operation::Flush);
        let last = records.iter().filter_map(|record| record.completed).max();
        summary.span = last.zip(records.first()).map(|(last, first)| last - first.submitted);
        // Records are in order of submission, so busy stretches follow one another.
        let mut covered = Nanos::ZERO;
        for record in &records {
            if let Some(completed) = record.completed {
                summary.busy += completed - record.submitted.max(covered);
                covered = covered.max(completed);
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use units::Lba;

    use super::*;

    fn record(at: u64, took: u64, operation: Operation, lba: u64, phase: u16) -> Record {
        Record {
            submitted: Nanos(at),
            completed: Some(Nanos(at + took)),
            operation,
            lba: Lba(lba),
            sectors: if operation == Operation::Flush { 0 } else { 8 },
            fua: false,
            phase,
            payload: 0,
            disk: 0,
        }
    }

    #[test]
    fn a_summary_counts_what_is_there() {
        let mut records = vec![
            record(0, 10, Operation::Write, 0, 1),
            record(5, 20, Operation::Write, 8, 1),
            record(30, 5, Operation::Flush, 0, 1),
            record(50, 4, Operation::Read, 116, 2),
        ];
        records[3].completed = None;
        let log = RequestLog { records, dropped: 0 };
        let all = log.summary(None);
        assert_eq!((all.writes, all.reads, all.flushes, all.unfinished), (2, 1, 1, 1));
        assert_eq!(all.written_bytes, Bytes(8192));
        assert_eq!(all.sequential_share, Some(0.5));
        assert_eq!(all.distances.map(|distances| distances.max), Some(100));
        assert_eq!(all.busy, Nanos(25 + 5));
        assert_eq!(all.span, Some(Nanos(35)));
        assert_eq!(all.read_latency, None, "it never completed");
        let second = log.summary(Some(2));
        assert_eq!((second.reads, second.writes, second.sequential_share), (1, 0, None));
    }

    #[test]
    fn a_percentile_is_the_value_of_that_rank() {
        let thousand = Percentiles::of((1..=1000).rev().collect()).unwrap();
        let expected = Percentiles { p50: 500, p90: 900, p99: 990, p999: 999, max: 1000 };
        assert_eq!(thousand, expected);
        let three = Percentiles::of(vec![30, 10, 20]).unwrap();
        assert_eq!(three, Percentiles { p50: 20, p90: 30, p99: 30, p999: 30, max: 30 });
    }

    /// Nothing begins at time zero here, so that a time differs from a span.
    #[test]
    fn latencies_and_the_span_begin_with_the_submission() {
        let mut records = vec![
            record(100, 10, Operation::Write, 0, 1),
            record(105, 30, Operation::Write, 8, 1),
            record(140, 5, Operation::Flush, 0, 1),
            record(150, 7, Operation::Discard, 0, 1),
            record(160, 4, Operation::Discard, 64, 1),
        ];
        records[0].fua = true;
        records[1].fua = true;
        let all = RequestLog { records, dropped: 0 }.summary(None);
        assert_eq!((all.fua_writes, all.discards), (2, 2));
        assert_eq!(all.discarded_bytes, Bytes(2 * 8 * 512));
        let writes = all.write_latency.map(|times| (times.p50, times.max));
        assert_eq!(writes, Some((Nanos(10), Nanos(30))));
        assert_eq!(all.flush_latency.map(|times| times.max), Some(Nanos(5)));
        assert_eq!(all.span, Some(Nanos(64)));
    }
}
