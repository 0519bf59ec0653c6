//! Shows that two contenders are about equal, which is more than not finding a difference.

use crate::Comparison;
use crate::student::upper_p;

/// The p value of two one-sided tests (Schuirmann, J. Pharmacokin. Biopharm. 15, 1987) that
/// the ratio lies between 1/(1 + margin) and 1 + margin. If it is at most α, the two are
/// equivalent at that margin, which must be stated with the result. For a margin that is not
/// positive it is 1.
pub fn equivalence_p(comparison: &Comparison, margin: f64) -> f64 {
    if !margin.is_finite() || margin <= 0.0 {
        return 1.0;
    }
    let bound = margin.ln_1p();
    let room = bound - comparison.log_ratio.abs();
    if comparison.standard_error == 0.0 {
        return if room > 0.0 { 0.0 } else { 1.0 };
    }
    // The nearer bound decides: if it is rejected, so is the farther one.
    upper_p(room / comparison.standard_error, comparison.df)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observation, Resolution, paired};

    fn compared(differences: &[f64]) -> Comparison {
        let side = |values: Vec<f64>| -> Vec<Observation> {
            (0..).zip(values).map(|(block, value)| Observation { block, value }).collect()
        };
        let a = side(differences.iter().map(|d| d.exp()).collect());
        paired(&a, &side(vec![1.0; differences.len()]), Resolution::Fine).unwrap()
    }

    #[test]
    fn agrees_with_the_interval_of_twice_the_error_rate() {
        // The 90 % interval lies within the margin exactly when p is at most 0.05.
        for differences in [[0.01, -0.01, 0.02], [0.03, 0.04, 0.06], [0.0, 0.09, -0.09]] {
            let found = compared(&differences);
            let interval = found.interval(0.90);
            for margin in [0.01, 0.03, 0.05, 0.08, 0.2] {
                let inside = interval.high < 1.0 + margin && interval.low > 1.0 / (1.0 + margin);
                assert_eq!(equivalence_p(&found, margin) <= 0.05, inside, "{differences:?}");
            }
        }
    }

    #[test]
    fn a_margin_that_is_none_shows_nothing() {
        let same = compared(&[0.0, 0.0]);
        for margin in [0.0, -0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(equivalence_p(&same, margin), 1.0, "{margin}");
        }
        let at_the_bound = Comparison { log_ratio: 0.05f64.ln_1p(), ..same };
        assert_eq!(equivalence_p(&at_the_bound, 0.05), 1.0);
    }

    #[test]
    fn noise_is_not_equality() {
        assert!(equivalence_p(&compared(&[0.3, -0.3, 0.01]), 0.05) > 0.3);
        assert_eq!(equivalence_p(&compared(&[0.0, 0.0]), 0.05), 0.0);
        assert_eq!(equivalence_p(&compared(&[0.0, 0.0]), 0.0), 1.0);
        assert_eq!(equivalence_p(&compared(&[0.2, 0.2]), 0.05), 1.0);
    }
}
