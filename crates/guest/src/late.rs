//! How long any request was late. Requests that are late at the same time delay a waiting process
//! once, not once each.

use std::collections::VecDeque;

use units::Nanos;

/// How many intervals are kept: older ones could only overlap with a request that completed long
/// ago.
const KEPT: usize = 256;

/// The time during which at least one request was late, as a union of intervals.
#[derive(Debug, Default)]
pub(crate) struct LateTime {
    /// Disjoint, in order.
    intervals: VecDeque<(u64, u64)>,
}

impl LateTime {
    /// Adds that a request due at `due` was late by `late`. Returns how much time was not in
    /// the union before.
    pub(crate) fn add(&mut self, due: Nanos, late: Nanos) -> Nanos {
        let (mut from, mut to) = (due.0, due.0.saturating_add(late.0));
        if from == to {
            return Nanos::ZERO;
        }
        let first = self.intervals.partition_point(|&(_, end)| end < from);
        let mut next = first;
        let mut known = 0;
        while let Some(&(start, end)) = self.intervals.get(next).filter(|(start, _)| *start <= to) {
            known += end - start;
            from = from.min(start);
            to = to.max(end);
            next += 1;
        }
        self.intervals.drain(first..next);
        self.intervals.insert(first, (from, to));
        if self.intervals.len() > KEPT {
            self.intervals.pop_front();
        }
        Nanos(to - from - known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_overlaps_counts_once() {
        let mut late = LateTime::default();
        let mut add = |due, by| late.add(Nanos(due), Nanos(by)).0;
        assert_eq!(add(100, 10), 10);
        assert_eq!(add(100, 10), 0, "two at the same time");
        assert_eq!(add(105, 10), 5);
        assert_eq!(add(200, 0), 0);
        assert_eq!(add(130, 10), 10);
        assert_eq!(add(90, 60), 60 - 15 - 10, "around and between those before");
        assert_eq!(add(90, 60), 0);
    }

    proptest! {
        #[test]
        fn the_sum_is_the_length_of_the_union(
            requests in prop::collection::vec((0u64..400, 0u64..40), 0..60)
        ) {
            let mut late = LateTime::default();
            let sum: u64 =
                requests.iter().map(|&(due, by)| late.add(Nanos(due), Nanos(by)).0).sum();
            let moments = (0..500u64)
                .filter(|at| requests.iter().any(|&(due, by)| (due..due + by).contains(at)))
                .count() as u64;
            prop_assert_eq!(sum, moments);
        }
    }
}
