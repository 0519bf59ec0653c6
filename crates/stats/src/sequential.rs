//! The error rate over several looks at a growing number of repeats: each look has a share of it,
//! and all shares together do not exceed it. Where it is not known how many looks there will be, as
//! in a study to which seeds are added, each has half of what is left. Where it is known, as in a run
//! that repeats until its figures decide, all have the same.

use std::time::Duration;

use crate::Relation;

/// The share of `alpha` for a look, counted from 0: a half, a quarter and so on. However many
/// looks there are, the shares add up to less than `alpha`.
pub fn share_of_look(alpha: f64, look: usize) -> f64 {
    alpha * 0.5f64.powi(i32::try_from(look).unwrap_or(i32::MAX).saturating_add(1))
}

/// The numbers of repeats after which a run that repeats until its figures decide looks at them.
pub const LOOKS: [u32; 4] = [3, 5, 8, 12];

/// The share of `alpha` for each of these looks.
pub fn share_of_planned_look(alpha: f64) -> f64 {
    alpha / LOOKS.len() as f64
}

/// What figures show of the first place, in every workload of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPlace {
    /// Neither of the others.
    Open,
    /// The first is shown to be better than each of the others, or equal to it within the margin.
    Decided,
    /// Nobody is shown to be better: all are equal within the margin.
    Level,
}

impl FirstPlace {
    /// That of a table whose contenders stand to the first as given.
    pub fn of(others: impl IntoIterator<Item = Relation>) -> FirstPlace {
        others.into_iter().fold(FirstPlace::Level, |all, relation| match relation {
            _ if all == FirstPlace::Open => all,
            Relation::Open => FirstPlace::Open,
            Relation::Level => all,
            Relation::Worse | Relation::LittleWorse => FirstPlace::Decided,
        })
    }

    /// That of several workloads together.
    pub fn and(self, other: FirstPlace) -> FirstPlace {
        match (self, other) {
            (FirstPlace::Open, _) | (_, FirstPlace::Open) => FirstPlace::Open,
            (FirstPlace::Level, FirstPlace::Level) => FirstPlace::Level,
            _ => FirstPlace::Decided,
        }
    }
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// No more repeats.
    Enough(Enough),
    /// Repeats up to this number, then another look.
    Further(u32),
}

/// Why there are no more repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// The first places are decided.
    Decided,
    /// All are equal within the margin.
    Level,
    /// There are as many as there may be.
    Most,
    /// The work until the next look would exceed the budget.
    Spent,
}

/// Looks at a run of so many repeats that took `spent` of the host's time. What follows depends on
/// nothing but these figures, so an interrupted run goes on as if it had not been.
pub fn look(repeats: u32, first: FirstPlace, spent: Duration, budget: Duration) -> Look {
    let next = LOOKS.into_iter().find(|next| *next > repeats);
    match (first, next) {
        (FirstPlace::Decided, _) => Look::Enough(Enough::Decided),
        (FirstPlace::Level, _) => Look::Enough(Enough::Level),
        (FirstPlace::Open, None) => Look::Enough(Enough::Most),
        (FirstPlace::Open, Some(next)) => {
            let until_next = spent.mul_f64(f64::from(next) / f64::from(repeats.max(1)));
            if until_next > budget { Look::Enough(Enough::Spent) } else { Look::Further(next) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_and_never_add_up_to_more_than_there_is() {
        assert_eq!(share_of_look(0.05, 0), 0.025);
        assert_eq!(share_of_look(0.05, 1), 0.0125);
        let all: f64 = (0..60).map(|look| share_of_look(0.05, look)).sum();
        assert!(all <= 0.05 && all > 0.0499, "{all}");
        assert_eq!(share_of_look(0.05, usize::MAX), 0.0);
    }

    #[test]
    fn planned_looks_share_all_there_is() {
        let all = LOOKS.len() as f64 * share_of_planned_look(0.05);
        assert!((all - 0.05).abs() < 1e-12, "{all}");
    }

    #[test]
    fn a_run_goes_on_until_decided_level_complete_or_spent() {
        const SECOND: Duration = Duration::from_secs(1);
        let after = |repeats, first| look(repeats, first, 10 * SECOND, 120 * SECOND);
        assert_eq!(after(3, FirstPlace::Decided), Look::Enough(Enough::Decided));
        assert_eq!(after(3, FirstPlace::Level), Look::Enough(Enough::Level));
        let further: Vec<Look> =
            LOOKS.iter().map(|repeats| after(*repeats, FirstPlace::Open)).collect();
        let numbers = [5, 8, 12].map(Look::Further);
        assert_eq!(further, [&numbers[..], &[Look::Enough(Enough::Most)]].concat());
        // 90 s for three repeats are 150 s for five.
        let spent = |seconds: u32| look(3, FirstPlace::Open, seconds * SECOND, 120 * SECOND);
        assert_eq!(spent(90), Look::Enough(Enough::Spent));
        assert_eq!(spent(72), Look::Further(5));
        assert_eq!(look(0, FirstPlace::Open, SECOND, SECOND), Look::Enough(Enough::Spent));
    }

    #[test]
    fn several_first_places_are_decided_when_each_is() {
        use FirstPlace::{Decided, Level, Open};
        assert_eq!(Decided.and(Level), Decided);
        assert_eq!(Level.and(Level), Level);
        assert_eq!(Open.and(Decided), Open);
        assert_eq!(Level.and(Open), Open);
    }
}
