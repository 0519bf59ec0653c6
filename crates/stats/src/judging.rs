//! What comparisons show, decided together: interval, p and verdict of each come from one
//! computation, so that none of them can contradict another.

use crate::holm::{confidences, holm};
use crate::{Comparison, Interval};

/// What is shown of a ratio, a to b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// p value, uncorrected.
    pub p: f64,
    /// p after Holm's correction over all questions that were decided together.
    pub p_adjusted: f64,
    /// Interval of the ratio at the confidence of this question's step of Holm's procedure, never
    /// below 1 − α. Both verdicts below are read from it.
    pub interval: Interval,
    /// Whether a and b differ: the interval leaves out 1.
    pub separated: bool,
    /// Whether they are equal within the margin: the interval lies in it.
    pub equivalent: bool,
}

/// Decides all questions of one family, with an error rate of `alpha` for any of them. A question
/// is one comparison, or several ways of making it where nobody knows which is the right one: then
/// only what every way shows is shown. Figures are called equal up to a ratio of 1 + `margin`.
pub fn judge(questions: &[Vec<Comparison>], alpha: f64, margin: f64) -> Vec<Shown> {
    let p_values: Vec<f64> = questions.iter().map(|ways| p_of(ways)).collect();
    let (adjusted, levels) = (holm(&p_values), confidences(&p_values, alpha));
    let most = 1.0 + margin;
    questions
        .iter()
        .enumerate()
        .map(|(at, ways)| {
            let all = ways.iter().map(|way| way.interval(levels[at]));
            let interval =
                all.reduce(Interval::hull).unwrap_or(Interval { low: 0.0, high: f64::INFINITY });
            Shown {
                p: p_values[at],
                p_adjusted: adjusted[at],
                interval,
                separated: !interval.contains(1.0),
                equivalent: interval.low >= 1.0 / most && interval.high <= most,
            }
        })
        .collect()
}

/// The largest p of all ways, each of which has to show a difference; 1 where they contradict each
/// other.
fn p_of(ways: &[Comparison]) -> f64 {
    let up = ways.iter().any(|way| way.log_ratio > 0.0);
    let down = ways.iter().any(|way| way.log_ratio < 0.0);
    if up && down {
        return 1.0;
    }
    ways.iter().map(Comparison::p).reduce(f64::max).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observation, Resolution, paired};

    fn compared(a: &[f64], b: &[f64]) -> Comparison {
        let series = |values: &[f64]| -> Vec<Observation> {
            (0..).zip(values).map(|(block, value)| Observation { block, value: *value }).collect()
        };
        paired(&series(a), &series(b), Resolution::Fine).unwrap()
    }

    #[test]
    fn what_is_shown_is_what_the_interval_says() {
        let questions = [
            vec![compared(&[1.30, 1.31, 1.29, 1.30], &[1.0; 4])],
            vec![compared(&[1.01, 0.99, 1.0, 1.0], &[1.0; 4])],
            vec![compared(&[1.4, 0.7, 1.1, 1.0], &[1.0; 4])],
            vec![compared(&[1.02; 4], &[1.0; 4])],
            Vec::new(),
        ];
        let shown = judge(&questions, 0.05, 0.05);
        let said: Vec<(bool, bool)> =
            shown.iter().map(|it| (it.separated, it.equivalent)).collect();
        // The fourth differs, and by little.
        let expected = [(true, false), (false, true), (false, false), (true, true), (false, false)];
        assert_eq!(said, expected);
    }

    /// Shown with every way, or not at all.
    #[test]
    fn ways_that_contradict_each_other_show_nothing() {
        let slower = compared(&[1.10, 1.11, 1.09], &[1.0; 3]);
        let faster = compared(&[0.90, 0.91, 0.89], &[1.0; 3]);
        let one = judge(&[vec![slower]], 0.05, 0.05)[0];
        let both = judge(&[vec![slower, faster]], 0.05, 0.05)[0];
        assert!(one.separated && one.p < 0.05, "{one:?}");
        assert!(!both.separated && both.p == 1.0 && both.interval.contains(1.0), "{both:?}");
        assert!(both.interval.low < 0.92 && both.interval.high > 1.08, "{both:?}");
    }

    proptest::proptest! {
        /// p and interval agree whatever the figures; the other way round it is the inverse.
        #[test]
        fn p_interval_and_verdict_never_disagree(
            values in proptest::collection::vec(
                proptest::collection::vec((0.5f64..2.0, 0.5f64..2.0), 2..7), 1..6),
        ) {
            let questions: Vec<Vec<Comparison>> = values
                .iter()
                .map(|pairs| {
                    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
                    vec![compared(&a, &b)]
                })
                .collect();
            let turned: Vec<Vec<Comparison>> = questions
                .iter()
                .map(|ways| ways.iter().map(Comparison::inverse).collect())
                .collect();
            let (shown, other) = (judge(&questions, 0.05, 0.05), judge(&turned, 0.05, 0.05));
            for (one, other) in shown.iter().zip(&other) {
                proptest::prop_assert_eq!(one.separated, one.p_adjusted <= 0.05);
                proptest::prop_assert_eq!(one.separated, other.separated);
                proptest::prop_assert_eq!(one.equivalent, other.equivalent);
                let inverse = other.interval.inverse();
                proptest::prop_assert!((one.interval.low / inverse.low - 1.0).abs() < 1e-9);
            }
        }

        /// Noise that is added to figures never makes a verdict of what was none.
        #[test]
        fn more_noise_never_makes_a_verdict(
            ratio in 0.8f64..1.25,
            noise in proptest::collection::vec(-1.0f64..1.0, 3..8),
            quiet in 0.0f64..0.1,
            more in 1.0f64..10.0,
        ) {
            let mean = noise.iter().sum::<f64>() / noise.len() as f64;
            let with = |spread: f64| {
                let a: Vec<f64> =
                    noise.iter().map(|one| ratio * (spread * (one - mean)).exp()).collect();
                judge(&[vec![compared(&a, &vec![1.0; a.len()])]], 0.05, 0.05)[0]
            };
            let (less, noisier) = (with(quiet), with(quiet * more));
            proptest::prop_assert!(less.separated || !noisier.separated);
            proptest::prop_assert!(less.equivalent || !noisier.equivalent);
        }
    }
}
