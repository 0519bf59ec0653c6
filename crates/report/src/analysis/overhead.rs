//! Times of which the lab's own transport took more than its limit. How much it took is known for
//! the phase as a whole, so a figure lies between what was measured and the same without it: its
//! interval holds both, and two contenders differ only where they do so with and without it.

use workload::PhaseResult;

use super::{Measure, Reason};

/// Latencies are shown only if no more than this share of a phase's measured time was subtracted as
/// the transport's.
const SUBTRACTED_MOST: f64 = 0.05;

/// Why times of single ops of a phase are too long; `None` where they are not.
pub(super) fn of_single_ops(result: &PhaseResult) -> Option<Reason> {
    let share = result.figures.get(trial::SUBTRACTED_SHARE).copied().unwrap_or(0.0);
    (share > SUBTRACTED_MOST).then_some(Reason::SingleOps { share })
}

impl Measure {
    /// Whether it may contain times that the workload measured itself; the transport's share of
    /// these is unknown.
    pub(super) fn is_of_single_ops(&self) -> bool {
        matches!(self, Measure::Latency(..) | Measure::Figure(_)) && !self.is_count()
    }

    /// Whether the transport's share of the phase's time is also its share of this figure.
    /// It is unknown which op of a phase was late, so this is never so for latencies.
    pub(super) fn is_of_whole_phase(&self) -> bool {
        matches!(self, Measure::Wall | Measure::OpsRate | Measure::ReadRate | Measure::WriteRate)
    }

    /// The figure as it would be without the transport's share of the time.
    pub(super) fn without(&self, value: f64, share: f64) -> f64 {
        if *self == Measure::Wall { value * (1.0 - share) } else { value / (1.0 - share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_transport_a_time_is_shorter_and_a_rate_is_higher() {
        assert_eq!(Measure::Wall.without(10.0, 0.2), 8.0);
        for rate in [Measure::OpsRate, Measure::ReadRate, Measure::WriteRate] {
            assert_eq!(rate.without(10.0, 0.2), 12.5);
        }
    }
}
