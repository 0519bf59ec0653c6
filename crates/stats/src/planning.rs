//! Computes before a run what its plan can decide.

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
    /// The probability with which a difference is to be found (the power).
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

    /// The probability that a difference (0.1: one takes 1.1 times as long) between two
    /// contenders is found, at the strictest step of Holm's procedure, since all others may be
    /// equal.
    fn power_for(&self, difference: f64) -> f64 {
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
    /// When the plan cannot find a difference of any size.
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

    /// Repeats needed to find a difference with the plan's power; the plan's own `repeats` is
    /// ignored. `None` if nothing is compared, the difference is not positive, or it would take
    /// more than 100,000.
    pub fn repeats_for(&self, difference: f64) -> Option<usize> {
        if self.contenders < 2 || difference <= 0.0 {
            return None;
        }
        let enough = |repeats| Plan { repeats, ..*self }.power_for(difference) >= self.power;
        // One repeat is never enough.
        let (mut low, mut high) = (1, 2);
        while !enough(high) {
            if high == REPEATS_MAX {
                return None;
            }
            (low, high) = (high, (high * 2).min(REPEATS_MAX));
        }
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

    /// Powers from the noncentral F of T², a Poisson mixture of incomplete beta functions, summed
    /// with mpmath and solved for the noncentrality; times √2 ln(1 + spread²)^½ / √repeats.
    #[test]
    fn worked_smallest_differences() {
        for (plan, expected) in [
            (Plan::new(2, 34, 0.05), 0.035_600_990),
            (Plan::new(5, 5, 0.02), 0.093_340_637),
            (Plan::new(3, 3, 0.1), 1.224_448_850),
        ] {
            let found = plan.smallest_difference().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-5, "{plan:?}: {found}");
        }
    }

    #[test]
    fn what_is_smaller_by_a_millionth_is_not_found() {
        for spread in [1e-4, 1e-3, 0.03, 0.3] {
            let plan = Plan::new(4, 5, spread);
            let smallest = plan.smallest_difference().unwrap();
            assert!(plan.power_for(smallest) >= plan.power, "{spread}: {smallest}");
            assert!(plan.power_for(smallest * 0.999_999) < plan.power, "{spread}: {smallest}");
        }
    }

    #[test]
    fn a_plan_that_cannot_decide_says_so() {
        assert_eq!(Plan::new(5, 1, 0.02).smallest_difference(), Err(Undecidable::NoRepeats));
        assert_eq!(Plan::new(1, 9, 0.02).smallest_difference(), Err(Undecidable::NothingToCompare));
        assert_eq!(Plan::new(5, 5, 0.02).repeats_for(0.0), None);
    }

    #[test]
    fn without_noise_every_difference_is_found_and_none_is_none() {
        let exact = Plan::new(3, 2, 0.0);
        assert_eq!((exact.power_for(0.0), exact.power_for(0.01)), (0.0, 1.0));
        assert_eq!(exact.repeats_for(0.01), Some(2));
        assert_eq!(Plan::new(1, 9, 0.02).repeats_for(0.5), None);
        assert_eq!(Plan::new(3, 9, 0.02).repeats_for(-0.5), None);
        // Not even certainty asks for more than nothing.
        let certain = Plan { power: 1.0, ..exact };
        assert!(certain.smallest_difference().unwrap() < 1e-10);
    }

    /// About (z 97.5 % + z 80 %)² = 7.84888 over the square of the standardised difference, and
    /// 1.96² / 2 more for a spread that is estimated (Guenther, Am. Statist. 35, 1981); to the
    /// repeat from powers integrated with mpmath to 14 digits, 0.8 at 78,490.5, 99,987.9, 100,010.5.
    #[test]
    fn repeats_are_counted_up_to_a_hundred_thousand() {
        let plan = Plan::new(2, 2, 0.05);
        let repeats_for = |standardised: f64| {
            plan.repeats_for((standardised * plan.difference_deviation()).exp_m1())
        };
        assert_eq!(repeats_for(0.01), Some(78_491));
        assert_eq!(repeats_for(0.008_86), Some(99_988));
        assert_eq!(repeats_for(0.008_859), None);
        assert_eq!(repeats_for(1e-4), None);
    }

    #[test]
    fn spreads_are_pooled_by_their_degrees_of_freedom() {
        assert_eq!(coefficient_of_variation(&[(0.1, 1)]), None);
        let found = coefficient_of_variation(&[(0.1, 3), (0.1, 9)]).unwrap();
        assert!((found - 0.1).abs() < 1e-12);
        // Neither a spread of one figure nor one that is none is counted. Of the others: ln 1.01
        // twice and ln 1.09 eight times are 0.709322, e^0.0709322 − 1 is 0.0735085.
        let spreads = [(0.1, 3), (0.9, 1), (0.9, 0), (f64::NAN, 5), (f64::INFINITY, 5), (0.3, 9)];
        let found = coefficient_of_variation(&spreads).unwrap();
        assert!((found - 0.271_124_4).abs() < 1e-6, "{found}");
    }
}
