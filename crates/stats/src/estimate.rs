//! One contender's mean with its interval.

use crate::missing::{Missing, at_least, logs};
use crate::student::two_sided_quantile;

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in it.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval of the inverse ratio.
    pub fn inverse(self) -> Interval {
        Interval { low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// The least interval that holds both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub(crate) fn around(centre: f64, half: f64) -> Interval {
        Interval { low: centre - half, high: centre + half }
    }

    pub(crate) fn exp(self) -> Interval {
        Interval { low: self.low.exp(), high: self.high.exp() }
    }
}

/// A mean and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean, in the unit of the figures.
    pub mean: f64,
    /// The interval that contains the true mean with the requested confidence; missing below two
    /// figures.
    pub interval: Result<Interval, Missing>,
    /// Spread of single figures relative to the mean (0.05 is 5 %); missing below two.
    pub spread: Result<f64, Missing>,
    /// The number of figures.
    pub n: usize,
}

/// Mean and sample standard deviation of a slice of at least one; the deviation of a single
/// figure is 0 and must not be used.
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
    (mean, deviation)
}

/// The geometric mean of positive figures with a t interval on their logarithms.
///
/// # Errors
/// Without a figure, or with one that is not positive and finite.
pub fn geometric_mean(values: &[f64], confidence: f64) -> Result<Estimate, Missing> {
    at_least(1, values.len())?;
    let logs = logs(values)?;
    let (mean, deviation) = moments(&logs);
    let spread = at_least(2, logs.len()).map(|()| (deviation.powi(2).exp_m1()).sqrt());
    let interval =
        half_width(&logs, deviation, confidence).map(|half| Interval::around(mean, half).exp());
    Ok(Estimate { mean: mean.exp(), interval, spread, n: values.len() })
}

/// The arithmetic mean with a t interval, for figures that can be 0 or negative.
///
/// # Errors
/// Without a figure, or with one that is not finite.
pub fn arithmetic_mean(values: &[f64], confidence: f64) -> Result<Estimate, Missing> {
    at_least(1, values.len())?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Missing::NotFinite);
    }
    let (mean, deviation) = moments(values);
    let spread = match at_least(2, values.len()) {
        Ok(()) if mean == 0.0 => Err(Missing::NotPositive { value: 0.0 }),
        Ok(()) => Ok(deviation / mean.abs()),
        Err(missing) => Err(missing),
    };
    let interval =
        half_width(values, deviation, confidence).map(|half| Interval::around(mean, half));
    Ok(Estimate { mean, interval, spread, n: values.len() })
}

fn half_width(values: &[f64], deviation: f64, confidence: f64) -> Result<f64, Missing> {
    at_least(2, values.len())?;
    let n = values.len() as f64;
    Ok(two_sided_quantile(confidence, n - 1.0) * deviation / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Arithmetic: 1..5 has mean 3, s = 1.5811, t(4) = 2.7764, half width 1.9632.
        let found = arithmetic_mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        let interval = found.interval.unwrap();
        assert!((interval.low - 1.0368).abs() < 1e-4 && (interval.high - 4.9632).abs() < 1e-4);
        let found = geometric_mean(&[1.0, 10.0, 100.0], 0.95).unwrap();
        assert!((found.mean - 10.0).abs() < 1e-9);
    }

    #[test]
    fn spreads_are_relative_to_the_size_of_the_mean() {
        // s = 1.5811 of a mean of 3, and of −3.
        for sign in [1.0, -1.0] {
            let values = [1.0, 2.0, 3.0, 4.0, 5.0].map(|value: f64| sign * value);
            let found = arithmetic_mean(&values, 0.95).unwrap();
            assert!((found.spread.unwrap() - 0.527_046).abs() < 1e-6, "{sign}");
        }
        let around_nothing = arithmetic_mean(&[-1.0, 1.0], 0.95).unwrap();
        assert_eq!(around_nothing.spread, Err(Missing::NotPositive { value: 0.0 }));
        assert_eq!(moments(&[7.0]), (7.0, 0.0));
    }

    #[test]
    fn the_inverse_of_an_interval() {
        let found = Interval { low: 0.5, high: 4.0 }.inverse();
        assert_eq!(found, Interval { low: 0.25, high: 2.0 });
    }

    #[test]
    fn one_figure_has_a_mean_and_no_interval() {
        let found = geometric_mean(&[4.0], 0.95).unwrap();
        assert_eq!(found.mean, 4.0);
        assert_eq!(found.interval, Err(Missing::TooFew { have: 1, need: 2 }));
        assert_eq!(found.spread, Err(Missing::TooFew { have: 1, need: 2 }));
    }

    #[test]
    fn what_has_no_logarithm_is_missing() {
        assert_eq!(geometric_mean(&[], 0.95), Err(Missing::TooFew { have: 0, need: 1 }));
        assert_eq!(geometric_mean(&[1.0, 0.0], 0.95), Err(Missing::NotPositive { value: 0.0 }));
        assert_eq!(geometric_mean(&[1.0, f64::NAN], 0.95), Err(Missing::NotFinite));
        assert_eq!(arithmetic_mean(&[f64::INFINITY], 0.95), Err(Missing::NotFinite));
        assert_eq!(arithmetic_mean(&[0.0, 0.0], 0.95).unwrap().mean, 0.0);
    }

    proptest::proptest! {
        #[test]
        fn the_interval_holds_the_mean_and_scales_with_the_unit(
            values in proptest::collection::vec(1e-6f64..1e9, 2..12),
            unit in 1e-3f64..1e3,
        ) {
            let seen = geometric_mean(&values, 0.95).unwrap();
            proptest::prop_assert!(seen.interval.unwrap().contains(seen.mean));
            let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
            let other = geometric_mean(&scaled, 0.95).unwrap();
            proptest::prop_assert!((other.mean / seen.mean / unit - 1.0).abs() < 1e-9);
        }
    }
}
