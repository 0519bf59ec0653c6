//! Decides whether an estimated quantity lies in a region: the question behind every claim.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::comparison::first_of_blocks;
use crate::estimate::{Interval, moments};
use crate::holm::{confidences, holm};
use crate::missing::{Missing, at_least, logs};
use crate::student::{two_sided_p, two_sided_quantile};
use crate::{Comparison, Observation};

/// An estimate and the distribution of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimated {
    /// A mean, or a difference of means, with Student's t.
    Mean {
        /// The estimate.
        value: f64,
        /// Its standard error; 0 where nothing varies.
        standard_error: f64,
        /// Degrees of freedom.
        df: f64,
    },
    /// The logarithm of the ratio of two standard deviations, with Fisher's F of its
    /// square. Takes both samples as independent and normal.
    Spread {
        /// ln(a / b).
        log_ratio: f64,
        /// Degrees of freedom of a.
        df_a: f64,
        /// Degrees of freedom of b.
        df_b: f64,
    },
}

/// From `low` to `high`; either may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "said above")]
pub struct Region {
    pub low: f64,
    pub high: f64,
}

impl Region {
    /// Whether `value` lies in it, its ends included.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// How far `value` is from the nearer end.
    pub fn distance(self, value: f64) -> f64 {
        (value - self.low).abs().min((value - self.high).abs())
    }
}

impl From<Comparison> for Estimated {
    fn from(found: Comparison) -> Estimated {
        Estimated::Mean {
            value: found.log_ratio,
            standard_error: found.standard_error,
            df: found.df,
        }
    }
}

impl Estimated {
    /// The logarithm of one sample's geometric mean.
    ///
    /// # Errors
    /// With fewer than two figures, or one that is not positive and finite.
    pub fn log_mean(values: &[f64]) -> Result<Estimated, Missing> {
        at_least(2, values.len())?;
        Ok(Estimated::of(&logs(values)?))
    }

    /// a − b in the unit of the figures: by blocks where they share at least two, else as
    /// independent samples.
    ///
    /// # Errors
    /// With fewer than two figures on a side, or one that is not finite.
    pub fn difference(a: &[Observation], b: &[Observation]) -> Result<Estimated, Missing> {
        let (a, b) = (first_of_blocks(a), first_of_blocks(b));
        if a.iter().chain(&b).any(|observation| !observation.value.is_finite()) {
            return Err(Missing::NotFinite);
        }
        let within: Vec<f64> = a
            .iter()
            .filter_map(|x| b.iter().find(|y| y.block == x.block).map(|y| x.value - y.value))
            .collect();
        if within.len() >= 2 {
            return Ok(Estimated::of(&within));
        }
        at_least(2, a.len().min(b.len()))?;
        let side = |values: &[Observation]| {
            let values: Vec<f64> = values.iter().map(|observation| observation.value).collect();
            let (mean, deviation) = varying(&values);
            (mean, deviation.powi(2) / values.len() as f64, (values.len() - 1) as f64)
        };
        let ((mean_a, square_a, df_a), (mean_b, square_b, df_b)) = (side(&a), side(&b));
        let squares = square_a + square_b;
        let df = match squares > 0.0 {
            true => squares.powi(2) / (square_a.powi(2) / df_a + square_b.powi(2) / df_b),
            false => df_a.min(df_b),
        };
        let value = beyond_rounding(mean_a - mean_b, mean_a);
        Ok(Estimated::Mean { value, standard_error: squares.sqrt(), df })
    }

    /// The logarithm of the ratio of a's relative spread to b's.
    ///
    /// # Errors
    /// With fewer than two figures on a side, figures that are not positive, or a side that
    /// does not vary at all.
    pub fn spread(a: &[f64], b: &[f64]) -> Result<Estimated, Missing> {
        at_least(2, a.len().min(b.len()))?;
        let deviation = |values: &[f64]| match varying(&logs(values)?).1 {
            deviation if deviation > 0.0 => Ok(deviation),
            _ => Err(Missing::NoSpread),
        };
        let log_ratio = (deviation(a)? / deviation(b)?).ln();
        Ok(Estimated::Spread { log_ratio, df_a: (a.len() - 1) as f64, df_b: (b.len() - 1) as f64 })
    }

    /// A mean of `n` figures that are too few to show a spread: theirs is assumed to be `times`
    /// that of the `of` figures behind `other`. `None` if `other` is not a mean, or if `n` or `of`
    /// is 0.
    pub fn with_spread_of(
        mean: f64,
        n: usize,
        other: &Estimated,
        of: usize,
        times: f64,
    ) -> Option<Estimated> {
        let Estimated::Mean { standard_error, df, .. } = *other else { return None };
        let of_one = times * standard_error * (of as f64).sqrt();
        (n > 0 && of > 0).then(|| Estimated::Mean {
            value: mean,
            standard_error: of_one / (n as f64).sqrt(),
            df,
        })
    }

    fn of(values: &[f64]) -> Estimated {
        let (value, deviation) = varying(values);
        let n = values.len() as f64;
        Estimated::Mean { value, standard_error: deviation / n.sqrt(), df: n - 1.0 }
    }

    /// The estimate.
    pub fn value(&self) -> f64 {
        match *self {
            Estimated::Mean { value, .. } => value,
            Estimated::Spread { log_ratio, .. } => log_ratio,
        }
    }

    /// The interval that contains the true value with this confidence.
    pub fn interval(&self, confidence: f64) -> Interval {
        match *self {
            Estimated::Mean { value, standard_error: 0.0, .. } => {
                Interval { low: value, high: value }
            }
            Estimated::Mean { value, standard_error, df } => {
                Interval::around(value, two_sided_quantile(confidence, df) * standard_error)
            }
            Estimated::Spread { log_ratio, df_a, df_b } => {
                let tail = (1.0 - confidence) / 2.0;
                let quantile = |df_a: f64, df_b: f64| match FisherSnedecor::new(df_a, df_b) {
                    Ok(f) if tail > 0.0 => -f.inverse_cdf(tail).ln() / 2.0,
                    _ => f64::INFINITY,
                };
                // The lower tail of the inverse ratio is the upper tail of the ratio.
                Interval {
                    low: log_ratio - quantile(df_b, df_a),
                    high: log_ratio + quantile(df_a, df_b),
                }
            }
        }
    }

    /// The smallest error rate at which the interval lies wholly inside `region` or wholly
    /// outside: the probability of an estimate at least this far from an end of the region if the
    /// true value were at that end (two-sided), for the end that is harder to exclude.
    pub fn p(&self, region: Region) -> f64 {
        match *self {
            Estimated::Mean { value, standard_error, df } => {
                let distance = beyond_rounding(region.distance(value), value);
                match (distance > 0.0, standard_error > 0.0) {
                    (false, _) => 1.0,
                    (true, false) => 0.0,
                    (true, true) => two_sided_p(distance / standard_error, df),
                }
            }
            Estimated::Spread { log_ratio, df_a, df_b } => {
                let Ok(f) = FisherSnedecor::new(df_a, df_b) else { return 1.0 };
                let at = |end: f64| {
                    let below = f.cdf((2.0 * (log_ratio - end)).exp());
                    2.0 * below.min(1.0 - below)
                };
                // F is skewed: the nearer end need not be the harder one to exclude.
                at(region.low).max(at(region.high)).clamp(0.0, 1.0)
            }
        }
    }
}

/// Mean and standard deviation; the deviation of figures that differ only by rounding is 0.
fn varying(values: &[f64]) -> (f64, f64) {
    let (mean, deviation) = moments(values);
    (mean, beyond_rounding(deviation, mean))
}

/// Turns a value that is only a rounding error of figures of this `size` into exactly 0.
fn beyond_rounding(value: f64, size: f64) -> f64 {
    if value.abs() < 1e-12 * size.abs().max(1.0) { 0.0 } else { value }
}

/// The decision on one of many questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// Whether the true value lies inside the region; `None` if that is not decided.
    pub inside: Option<bool>,
    /// The interval at the confidence of this question's step of Holm's procedure: it lies
    /// wholly inside or outside exactly when the question is decided.
    pub interval: Interval,
    /// That confidence.
    pub confidence: f64,
    /// p, uncorrected.
    pub p: f64,
    /// p after Holm's correction over all questions.
    pub p_adjusted: f64,
}

/// Decides all questions of one family, with an error rate of `alpha` for any of them.
pub fn decide(questions: &[(Estimated, Region)], alpha: f64) -> Vec<Decision> {
    let p_values: Vec<f64> = questions.iter().map(|(found, region)| found.p(*region)).collect();
    let (adjusted, levels) = (holm(&p_values), confidences(&p_values, alpha));
    questions
        .iter()
        .enumerate()
        .map(|(at, (found, region))| Decision {
            inside: (adjusted[at] <= alpha).then(|| region.contains(found.value())),
            interval: found.interval(levels[at]),
            confidence: levels[at],
            p: p_values[at],
            p_adjusted: adjusted[at],
        })
        .collect()
}
