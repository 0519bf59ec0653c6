//! Compares two contenders: the ratio of their figures, its uncertainty, and its size relative to
//! the noise.

use crate::estimate::{Interval, moments};
use crate::missing::{Missing, at_least, logs};
use crate::student::{two_sided_p, two_sided_quantile};

/// One trial's figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The random block it was measured in; the trials of a block share a seed and a time.
    pub block: u32,
    /// The figure.
    pub value: f64,
}

/// Figures that a contender must have to be compared with another.
pub const COMPARED_FROM: usize = 2;

/// How finely figures are measured. Rounded figures can agree by accident, so a spread is never
/// taken to be smaller than what rounding alone causes (a uniform error, 1/√12 of a step).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Resolution {
    /// Fine enough not to matter.
    #[default]
    Fine,
    /// In steps of this size, in the unit of the figures: 1 for counts, 0.01 for seconds
    /// counted in ticks.
    Step(f64),
    /// In steps of this fraction of the figure: 0.001 for three significant digits.
    Relative(f64),
}

impl Resolution {
    /// The standard deviation that rounding causes in the logarithm of `value`.
    fn log_deviation(self, value: f64) -> f64 {
        let step = match self {
            Resolution::Fine => return 0.0,
            Resolution::Step(step) => step / value,
            Resolution::Relative(step) => step,
        };
        step / 12f64.sqrt()
    }
}

/// How two contenders were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// By their differences within shared blocks.
    Paired,
    /// As independent samples (Welch), if they share fewer than two blocks.
    Independent,
}

/// The ratio of contender a to contender b. Works on logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// ln(a / b), the mean over blocks.
    pub log_ratio: f64,
    /// Standard error of `log_ratio`. 0 where the figures do not vary at all.
    pub standard_error: f64,
    /// Degrees of freedom: n − 1 for pairs, Satterthwaite's for independent samples.
    pub df: f64,
    /// Blocks compared; for independent samples the smaller sample.
    pub n: usize,
    /// How they were compared.
    pub design: Design,
    /// Difference in units of a contender's own spread: Hedges' g with the mean of both
    /// standard deviations (g_av; Lakens, Front. Psychol. 4:863, 2013). 0.2 is hardly visible
    /// in the noise, 0.8 clearly. `None` if nothing varies.
    pub effect: Option<f64>,
}

impl Comparison {
    /// The ratio of a to b.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval that contains the true ratio with this confidence.
    pub fn interval(&self, confidence: f64) -> Interval {
        if self.standard_error == 0.0 {
            return Interval { low: self.ratio(), high: self.ratio() };
        }
        let half = two_sided_quantile(confidence, self.df) * self.standard_error;
        Interval::around(self.log_ratio, half).exp()
    }

    /// The probability of a difference at least this large if there were none (two-sided).
    pub fn p(&self) -> f64 {
        if self.log_ratio == 0.0 {
            1.0
        } else {
            two_sided_p(self.log_ratio / self.standard_error, self.df)
        }
    }

    /// The same comparison the other way round: b to a.
    pub fn inverse(&self) -> Comparison {
        Comparison {
            log_ratio: -self.log_ratio,
            effect: self.effect.map(|effect| -effect),
            ..*self
        }
    }
}

/// Compares by differences of logarithms within the blocks that both have: a t test with
/// n − 1 degrees of freedom, exact whatever the two contenders' spreads.
///
/// # Errors
/// With fewer than two shared blocks, or figures that are not positive and finite. Where a
/// block occurs twice on a side, its first figure is used.
pub fn paired(
    a: &[Observation],
    b: &[Observation],
    resolution: Resolution,
) -> Result<Comparison, Missing> {
    let (left, right): (Vec<f64>, Vec<f64>) = first_of_blocks(a)
        .into_iter()
        .filter_map(|x| b.iter().find(|y| y.block == x.block).map(|y| (x.value, y.value)))
        .unzip();
    let (left, right) = (logs(&left)?, logs(&right)?);
    at_least(COMPARED_FROM, left.len())?;
    let differences: Vec<f64> = left.iter().zip(&right).map(|(x, y)| x - y).collect();
    let n = differences.len();
    let (mean, deviation) = moments(&differences);
    let (mean_a, deviation_a) = moments(&left);
    let (mean_b, deviation_b) = moments(&right);
    let rounding =
        resolution.log_deviation(mean_a.exp()).hypot(resolution.log_deviation(mean_b.exp()));
    let df = (n - 1) as f64;
    Ok(Comparison {
        log_ratio: snapped(mean),
        standard_error: snapped(deviation).max(rounding) / (n as f64).sqrt(),
        df,
        n,
        design: Design::Paired,
        effect: effect(mean, (deviation_a + deviation_b) / 2.0, df),
    })
}

/// Compares two independent samples of unequal spread (Welch, Biometrika 34, 1947).
///
/// # Errors
/// With fewer than two figures on a side, or figures that are not positive and finite.
pub fn welch(a: &[f64], b: &[f64], resolution: Resolution) -> Result<Comparison, Missing> {
    let (left, right) = (logs(a)?, logs(b)?);
    at_least(COMPARED_FROM, left.len().min(right.len()))?;
    let side = |logs: &[f64]| {
        let (mean, deviation) = moments(logs);
        let deviation = snapped(deviation).max(resolution.log_deviation(mean.exp()));
        (mean, deviation, deviation.powi(2) / logs.len() as f64)
    };
    let (mean_a, deviation_a, square_a) = side(&left);
    let (mean_b, deviation_b, square_b) = side(&right);
    let (degrees_a, degrees_b) = ((left.len() - 1) as f64, (right.len() - 1) as f64);
    let squares = square_a + square_b;
    let df = if squares > 0.0 {
        squares.powi(2) / (square_a.powi(2) / degrees_a + square_b.powi(2) / degrees_b)
    } else {
        degrees_a.min(degrees_b)
    };
    let difference = snapped(mean_a - mean_b);
    Ok(Comparison {
        log_ratio: difference,
        standard_error: squares.sqrt(),
        df,
        n: left.len().min(right.len()),
        design: Design::Independent,
        effect: effect(difference, (deviation_a + deviation_b) / 2.0, degrees_a + degrees_b),
    })
}

/// Each block's first figure.
pub(crate) fn first_of_blocks(observations: &[Observation]) -> Vec<Observation> {
    let mut first: Vec<Observation> = Vec::with_capacity(observations.len());
    for observation in observations {
        if first.iter().all(|other| other.block != observation.block) {
            first.push(*observation);
        }
    }
    first
}

/// Turns a difference of logarithms that is only a rounding error into exactly 0.
fn snapped(value: f64) -> f64 {
    if value.abs() < 1e-12 { 0.0 } else { value }
}

/// The standardised difference with Hedges' correction for small samples.
fn effect(difference: f64, deviation: f64, df: f64) -> Option<f64> {
    let correction = 1.0 - 3.0 / (4.0 * df - 1.0);
    (snapped(deviation) > 0.0 && df > 1.0).then(|| difference / deviation * correction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Vec<Observation> {
        (0..).zip(values).map(|(block, value)| Observation { block, value: *value }).collect()
    }

    #[test]
    fn what_hits_a_whole_block_cancels() {
        // Blocks differ tenfold, b is always a fifth slower.
        let a = series(&[1.0, 10.0, 3.0]);
        let b = series(&[1.2, 12.0, 3.6]);
        let found = paired(&b, &a, Resolution::Fine).unwrap();
        assert!((found.ratio() - 1.2).abs() < 1e-12);
        assert_eq!(found.p(), 0.0);
        let independent = welch(&[1.2, 12.0, 3.6], &[1.0, 10.0, 3.0], Resolution::Fine).unwrap();
        assert!(independent.p() > 0.8);
    }

    #[test]
    fn a_worked_paired_example() {
        // Log differences 0.1, 0.2, 0.3: mean 0.2, s 0.1, t = 3.4641 with 2 df, p = 0.0742.
        let a = series(&[0.1f64.exp(), 0.2f64.exp(), 0.3f64.exp()]);
        let found = paired(&a, &series(&[1.0; 3]), Resolution::Fine).unwrap();
        assert!((found.p() - 0.0742).abs() < 1e-4);
        let interval = found.interval(0.95);
        assert!((interval.low.ln() - (0.2 - 4.3027 * 0.057735)).abs() < 1e-4);
        assert!(interval.contains(1.0));
        let inverse = found.inverse().interval(0.95);
        assert!((inverse.low - interval.inverse().low).abs() < 1e-12);
    }

    #[test]
    fn a_worked_welch_example() {
        // Logs 1,2,3,4 and 2,4,6: variances 5/3 and 4, t = −1.1339, df = 3.2347.
        let exp = |values: &[f64]| values.iter().map(|x| x.exp()).collect::<Vec<_>>();
        let left = exp(&[1.0, 2.0, 3.0, 4.0]);
        let found = welch(&left, &exp(&[2.0, 4.0, 6.0]), Resolution::Fine).unwrap();
        assert!((found.log_ratio / found.standard_error + 1.1339).abs() < 1e-4);
        assert!((found.df - 3.2347).abs() < 1e-3, "{}", found.df);
    }

    #[test]
    fn the_difference_in_units_of_the_spread() {
        let exp = |values: &[f64]| values.iter().map(|x| x.exp()).collect::<Vec<_>>();
        // Means 0.3 and 0, s 0.2 and 0.1, two degrees: 0.3 / 0.15 · (1 − 3 / 7) = 1.142857.
        let (left, right) = (exp(&[0.1, 0.3, 0.5]), exp(&[0.0, 0.1, -0.1]));
        let found = paired(&series(&left), &series(&right), Resolution::Fine).unwrap();
        assert!((found.effect.unwrap() - 1.142_857).abs() < 1e-6, "{:?}", found.effect);
        assert_eq!(found.inverse().effect, found.effect.map(|effect| -effect));
        // The Welch example: −1.5 / ((√(5/3) + 2) / 2) · (1 − 3 / 19) = −0.767645.
        let (left, right) = (exp(&[1.0, 2.0, 3.0, 4.0]), exp(&[2.0, 4.0, 6.0]));
        let found = welch(&left, &right, Resolution::Fine).unwrap();
        assert!((found.effect.unwrap() + 0.767_645).abs() < 1e-6, "{:?}", found.effect);
        // Of two pairs no spread is known well enough.
        let found = paired(&series(&[1.0, 2.0]), &series(&[1.0, 3.0]), Resolution::Fine).unwrap();
        assert_eq!(found.effect, None);
    }

    #[test]
    fn rounding_is_a_uniform_error() {
        // A step of 1 at 4 is a quarter; 1/√12 is 0.288675.
        let deviation = |resolution: Resolution| resolution.log_deviation(4.0);
        assert!((deviation(Resolution::Step(1.0)) - 0.072_168_8).abs() < 1e-6);
        assert!((deviation(Resolution::Relative(0.01)) - 0.002_886_75).abs() < 1e-7);
        assert_eq!(deviation(Resolution::Fine), 0.0);
    }

    #[test]
    fn independent_figures_that_do_not_vary() {
        let found = welch(&[2.0; 2], &[3.0; 3], Resolution::Fine).unwrap();
        assert_eq!((found.df, found.standard_error, found.p()), (1.0, 0.0, 0.0));
    }

    #[test]
    fn figures_that_do_not_vary() {
        let same = paired(&series(&[2.0; 3]), &series(&[2.0; 3]), Resolution::Fine).unwrap();
        assert_eq!((same.p(), same.effect), (1.0, None));
        let other = paired(&series(&[3.0; 3]), &series(&[2.0; 3]), Resolution::Fine).unwrap();
        assert_eq!(other.p(), 0.0);
        // Counted in whole steps, 5 against 6 twice is no proof.
        let counts = paired(&series(&[6.0; 2]), &series(&[5.0; 2]), Resolution::Step(1.0)).unwrap();
        assert!(counts.p() > 0.05);
    }

    #[test]
    fn only_shared_blocks_count() {
        let a = [Observation { block: 0, value: 1.0 }, Observation { block: 1, value: 2.0 }];
        let b = [Observation { block: 1, value: 2.0 }, Observation { block: 2, value: 3.0 }];
        let missing = paired(&a, &b, Resolution::Fine).unwrap_err();
        assert_eq!(missing, Missing::TooFew { have: 1, need: 2 });
        let zero = series(&[0.0, 1.0]);
        assert_eq!(
            paired(&zero, &series(&[1.0, 1.0]), Resolution::Fine),
            Err(Missing::NotPositive { value: 0.0 })
        );
    }

    #[test]
    fn both_sides_are_rounded() {
        // Each side is off by 1/√12 of a step, so their difference by √2 of that.
        let (high, low) = (series(&[6.0; 2]), series(&[5.0; 2]));
        let steps = paired(&high, &low, Resolution::Relative(0.1)).unwrap();
        let expected = 0.1 / 12f64.sqrt() * 2f64.sqrt() / 2f64.sqrt();
        assert!((steps.standard_error - expected).abs() < 1e-12, "{}", steps.standard_error);
    }
}
