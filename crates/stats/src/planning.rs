//! What a plan can decide, before it is run.

use std::fmt;

use crate::student::{two_sided_power, two_sided_quantile};

/// A comparison as planned: every contender in every block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Contenders, all of which are compared with each other.
    pub contenders: usize,
    /// Repeats (blocks).
    pub repeats: usize,
    /// Assumed spread of single figures relative to their mean (0.05 is 5 %).
    pub spread: f64,
    /// Error rate for the whole table.
    pub alpha: f64,
    /// Probability with which a difference is to be found.
    pub power: f64,
}

/// Why a plan can decide nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undecidable {
    /// Fewer than two contenders.
    #[error("one contender alone is compared with nothing")]
    NothingToCompare,
    /// Fewer than two repeats.
    #[error(
        "this plan cannot decide anything: with one repeat a difference cannot be told from \
         noise; ask for at least 3 repeats, better 5"
    )]
    NoRepeats,
}

/// The largest number of repeats [`Plan::repeats_for`] considers.
const REPEATS_MAX: usize = 100_000;

impl Plan {
    /// A plan at 5 % for the table and 80 % power.
    pub fn new(contenders: usize, repeats: usize, spread: f64) -> Plan {
        Plan { contenders, repeats, spread, alpha: 0.05, power: 0.8 }
    }

    /// Pairs compared in one table.
    pub fn comparisons(&self) -> usize {
        self.contenders * self.contenders.saturating_sub(1) / 2
    }

    /// Probability that a difference (0.1: one takes 1.1 times as long) between two
    /// contenders is found, at the strictest step of Holm's procedure: the others may be
    /// equal.
    pub fn power_for(&self, difference: f64) -> f64 {
        if self.undecidable().is_some() {
            return 0.0;
        }
        let df = (self.repeats - 1) as f64;
        let critical = two_sided_quantile(1.0 - self.alpha / self.comparisons() as f64, df);
        let error = self.difference_deviation() / (self.repeats as f64).sqrt();
        if error == 0.0 {
            return if difference == 0.0 { 0.0 } else { 1.0 };
        }
        two_sided_power(critical, difference.ln_1p() / error, df)
    }

    /// The smallest difference (0.1: one takes 1.1 times as long) that will be found with
    /// the plan's power.
    ///
    /// # Errors
    /// When the plan decides nothing whatever the difference.
    pub fn smallest_difference(&self) -> Result<f64, Undecidable> {
        if let Some(reason) = self.undecidable() {
            return Err(reason);
        }
        let (mut low, mut high) = (0.0, 1e-4);
        while self.power_for(f64::exp_m1(high)) < self.power && high < 500.0 {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if self.power_for(f64::exp_m1(middle)) < self.power {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(high.exp_m1())
    }

    /// Repeats needed to find a difference with the plan's power; `repeats` is not looked
    /// at. `None` where nothing is compared, the difference is not positive, or it would
    /// take more than 100,000.
    pub fn repeats_for(&self, difference: f64) -> Option<usize> {
        if self.contenders < 2 || difference <= 0.0 {
            return None;
        }
        let enough = |repeats| Plan { repeats, ..*self }.power_for(difference) >= self.power;
        let mut high = 2;
        while !enough(high) {
            high *= 2;
            if high > REPEATS_MAX {
                return None;
            }
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = (low + high) / 2;
            if enough(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// Why nothing can be decided, if so.
    pub fn undecidable(&self) -> Option<Undecidable> {
        if self.contenders < 2 {
            Some(Undecidable::NothingToCompare)
        } else if self.repeats < 2 {
            Some(Undecidable::NoRepeats)
        } else {
            None
        }
    }

    /// Standard deviation of the log difference of two contenders in one block.
    fn difference_deviation(&self) -> f64 {
        (2.0 * self.spread.powi(2).ln_1p()).sqrt()
    }
}

/// `with 5 repeats of 5 contenders, differences of 9 % or more will be found (at a spread of
/// 2 %)`: what a person is told before a run.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.smallest_difference() {
            Err(reason) => write!(f, "{reason}"),
            Ok(difference) => {
                let Plan { contenders, repeats, spread, power, .. } = self;
                write!(f, "with {repeats} repeats of {contenders} contenders, ")?;
                if difference < 1.0 {
                    write!(f, "differences of {:.0} % or more", (difference * 100.0).ceil())?;
                } else {
                    write!(f, "only differences of {} times or more", times(1.0 + difference))?;
                }
                write!(
                    f,
                    " will be found (in {:.0} of 100 such runs, if single figures spread by \
                     {} %)",
                    power * 100.0,
                    (spread * 1000.0).round() / 10.0
                )
            }
        }
    }
}

/// A factor above 1, rounded up to two digits; beyond a thousand nobody cares.
fn times(factor: f64) -> String {
    if factor > 1000.0 {
        "1000".to_owned()
    } else if factor < 10.0 {
        format!("{:.1}", (factor * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0}", factor.ceil())
    }
}

/// The typical relative spread of several contenders: root mean square of their log
/// deviations, each weighted by its degrees of freedom, from (relative spread, n) pairs.
/// `None` where none has two figures.
pub fn coefficient_of_variation(spreads: &[(f64, usize)]) -> Option<f64> {
    let (squares, degrees) = spreads
        .iter()
        .filter(|(spread, n)| *n >= 2 && spread.is_finite())
        .map(|(spread, n)| (spread.powi(2).ln_1p() * (n - 1) as f64, (n - 1) as f64))
        .fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    (degrees > 0.0).then(|| (squares / degrees).exp_m1().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sample sizes of a paired t test at 5 %, 80 % power, as in Cohen's and G*Power's
    /// tables: standardised difference 0.2, 0.5, 0.8 need 199, 34, 15 pairs.
    #[test]
    fn repeats_are_those_of_the_tables() {
        for (standardised, pairs) in [(0.2, 199), (0.5, 34), (0.8, 15)] {
            let plan = Plan::new(2, 2, 0.05);
            let difference = (standardised * plan.difference_deviation()).exp_m1();
            assert_eq!(plan.repeats_for(difference), Some(pairs), "{standardised}");
        }
    }

    #[test]
    fn the_smallest_difference_and_the_repeats_for_it_agree() {
        for contenders in [2, 5, 10] {
            for repeats in [3, 5, 10] {
                let plan = Plan::new(contenders, repeats, 0.03);
                let smallest = plan.smallest_difference().unwrap();
                assert_eq!(plan.repeats_for(smallest * 1.001), Some(repeats));
                assert!(plan.power_for(smallest) > 0.799);
            }
        }
    }

    #[test]
    fn a_plan_that_cannot_decide_says_so() {
        assert_eq!(Plan::new(5, 1, 0.02).smallest_difference(), Err(Undecidable::NoRepeats));
        assert_eq!(Plan::new(1, 9, 0.02).smallest_difference(), Err(Undecidable::NothingToCompare));
        assert!(Plan::new(5, 1, 0.02).to_string().starts_with("this plan cannot decide anything"));
        assert!(Plan::new(5, 2, 0.04).to_string().contains("only differences of"));
        assert_eq!(Plan::new(5, 5, 0.02).repeats_for(0.0), None);
    }

    #[test]
    fn without_noise_every_difference_is_found_and_none_is_none() {
        let exact = Plan::new(3, 2, 0.0);
        assert_eq!((exact.power_for(0.0), exact.power_for(0.01)), (0.0, 1.0));
        assert_eq!(exact.repeats_for(0.01), Some(2));
        assert_eq!(Plan::new(1, 9, 0.02).repeats_for(0.5), None);
        assert_eq!(Plan::new(3, 9, 0.02).repeats_for(-0.5), None);
        // More than anybody repeats: about 2 · 10^8.
        assert_eq!(Plan::new(2, 2, 0.5).repeats_for(1e-4), None);
        let far = Plan::new(2, 60_000, 0.05).smallest_difference().unwrap();
        assert!(Plan::new(2, 2, 0.05).repeats_for(far * 1.001).is_some_and(|n| n > 59_000));
    }

    #[test]
    fn what_a_person_is_told() {
        assert_eq!(
            Plan::new(5, 5, 0.02).to_string(),
            "with 5 repeats of 5 contenders, differences of 10 % or more will be found (in 80 \
             of 100 such runs, if single figures spread by 2 %)"
        );
    }

    #[test]
    fn spreads_are_pooled_by_their_degrees_of_freedom() {
        assert_eq!(coefficient_of_variation(&[(0.1, 1)]), None);
        let found = coefficient_of_variation(&[(0.1, 3), (0.1, 9)]).unwrap();
        assert!((found - 0.1).abs() < 1e-12);
    }
}
