//! From figures to places: an axis with round ticks, linear or logarithmic.

/// An axis. Its ends are within the figures' range plus a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    pub(super) logarithmic: bool,
}

/// Figures that span more than this factor are shown on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 5.0;

impl Axis {
    /// An axis that shows all of these; `None` without a finite figure. Logarithmic where
    /// they are positive and far apart.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Axis> {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .map(|value| (value, value))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        if low > 0.0 && high / low > LOGARITHMIC_FROM {
            return Some(Axis::logarithmic(low, high));
        }
        // Room on both sides; a single figure gets a tenth of itself.
        let room = if high > low { (high - low) * 0.06 } else { high.abs().max(1e-12) * 0.1 };
        let low_end = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
        Some(Axis { low: low_end, high: high + room, logarithmic: false })
    }

    /// A logarithmic axis for positive figures.
    pub(super) fn logarithmic(low: f64, high: f64) -> Axis {
        let room = ((high.ln() - low.ln()) * 0.05).exp().clamp(1.05, 3.0);
        let (low, high) = ((low / room).max(f64::MIN_POSITIVE), (high * room).min(f64::MAX));
        Axis { low, high, logarithmic: true }
    }

    /// The place of a figure in percent of the length; clamped to the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            let low = self.low.ln();
            (value.max(f64::MIN_POSITIVE).ln() - low) / (self.high.ln() - low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (share * 100.0).clamp(0.0, 100.0)
    }

    /// Round figures along it, at most `count` of them.
    pub(super) fn ticks(&self, count: usize) -> Vec<f64> {
        let ticks = if self.logarithmic { self.ticks_logarithmic(count) } else { Vec::new() };
        if ticks.len() >= 2 { ticks } else { self.ticks_linear(count) }
    }

    fn ticks_linear(&self, count: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / count.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .map(|factor| factor * power)
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(power * 10.0);
        let first = (self.low / step).ceil() as i64;
        (0..count as i64 + 1)
            .map(|index| (first + index) as f64 * step)
            .filter(|tick| *tick <= self.high)
            .collect()
    }

    fn ticks_logarithmic(&self, count: usize) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        for mantissas in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let ticks: Vec<f64> = decades
                .clone()
                .flat_map(|decade| mantissas.iter().map(move |m| m * 10f64.powi(decade)))
                .filter(|tick| self.low <= *tick && *tick <= self.high)
                .collect();
            if ticks.len() <= count {
                return ticks;
            }
        }
        // Many decades: only every nth of them gets a tick.
        let every = (decades.clone().count() / count.max(1) + 1) as i32;
        decades
            .filter(|decade| decade % every == 0)
            .map(|decade| 10f64.powi(decade))
            .filter(|tick| self.low <= *tick && *tick <= self.high)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_figures_are_linear_and_far_ones_logarithmic() {
        let near = Axis::of([1.0, 1.4].into_iter()).unwrap();
        assert!(!near.logarithmic);
        let shown: Vec<String> = near.ticks(5).iter().map(|tick| format!("{tick:.3}")).collect();
        assert_eq!(shown, ["1.000", "1.100", "1.200", "1.300", "1.400"]);
        let far = Axis::of([1.0, 100.0].into_iter()).unwrap();
        assert!(far.logarithmic);
        assert_eq!(far.ticks(8), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!((far.place(10.0) - 50.0).abs() < 1e-9);
        assert!(Axis::of(std::iter::empty()).is_none());
    }

    #[test]
    fn odd_figures_still_have_an_axis() {
        for values in [[0.0, 0.0], [1e-300, 1e300], [5.0, 5.0], [-3.0, 2.0], [1e18, 1.1e18]] {
            let axis = Axis::of(values.into_iter()).unwrap();
            for value in values {
                assert!((0.0..=100.0).contains(&axis.place(value)), "{values:?}");
            }
            let ticks = axis.ticks(5);
            assert!(!ticks.is_empty() && ticks.len() <= 6, "{values:?}: {ticks:?}");
        }
    }
}
