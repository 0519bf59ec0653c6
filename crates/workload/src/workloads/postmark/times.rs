//! The original's figures of a run, which it computes from whole seconds.

use units::Nanos;

/// `time(2)` as a difference sees it.
fn whole_seconds(time: Nanos) -> u64 {
    time.0 / 1_000_000_000
}

/// When the parts of a run began and ended.
pub(super) struct Times {
    pub(super) start: Nanos,
    pub(super) transactions_start: Nanos,
    pub(super) transactions_end: Nanos,
    pub(super) delete_start: Nanos,
    pub(super) end: Nanos,
}

impl Times {
    /// The original's figures of a run that has read and written so many bytes.
    pub(super) fn figures(&self, (read, written): (u64, u64)) -> [(String, f64); 4] {
        // Reading back lies between and is left out.
        let end = self.transactions_end + (self.end - self.delete_start);
        let seconds = |from: Nanos, to: Nanos| (whole_seconds(to) - whole_seconds(from)).max(1);
        let total = seconds(self.start, end) as f64;
        let transactions = seconds(self.transactions_start, self.transactions_end) as f64;
        let rate = |bytes: u64| bytes as f64 / 1_048_576.0 / total;
        let figures = [
            ("original_total_s", total),
            ("original_transactions_s", transactions),
            ("original_read_mb_per_s", rate(read)),
            ("original_write_mb_per_s", rate(written)),
        ];
        figures.map(|(name, value)| (name.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_originals_figures_are_of_whole_seconds_without_reading_back() {
        let at = |tenths: u64| Nanos::from_millis(100 * tenths);
        let times = Times {
            start: at(109),
            transactions_start: at(122),
            transactions_end: at(151),
            delete_start: at(400),
            end: at(425),
        };
        // 14 MB read and 10.5 MB written.
        let figures = BTreeMap::from(times.figures((14_680_064, 11_010_048)));
        // The deletes end 2.5 s after 15.1 s: from second 10 to second 17.
        assert_eq!(figures["original_total_s"], 7.0);
        // From second 12 to second 15, though only 2.9 s passed.
        assert_eq!(figures["original_transactions_s"], 3.0);
        assert_eq!(figures["original_read_mb_per_s"], 2.0);
        assert_eq!(figures["original_write_mb_per_s"], 1.5);
    }

    #[test]
    fn the_originals_seconds_are_at_least_one() {
        let at = |tenths: u64| Nanos::from_millis(100 * tenths);
        let times = Times {
            start: at(101),
            transactions_start: at(102),
            transactions_end: at(103),
            delete_start: at(104),
            end: at(105),
        };
        let figures = BTreeMap::from(times.figures((3_145_728, 524_288)));
        assert_eq!(figures["original_total_s"], 1.0);
        assert_eq!(figures["original_transactions_s"], 1.0);
        assert_eq!(figures["original_read_mb_per_s"], 3.0);
        assert_eq!(figures["original_write_mb_per_s"], 0.5);
    }
}
