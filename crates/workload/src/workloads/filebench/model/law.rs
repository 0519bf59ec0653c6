//! Numbers that a model draws: constants, `randvar` and `cvar`.

use crate::Draw;

/// The law that an attribute's values follow.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Law {
    pub(in super::super) shape: Shape,
    /// Never below this.
    pub(in super::super) least: f64,
    /// Never above this.
    pub(in super::super) most: f64,
    /// Down to a multiple of this; 0 for any number.
    pub(in super::super) round: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(in super::super) enum Shape {
    Constant(f64),
    Uniform {
        lower: f64,
        upper: f64,
    },
    /// `shape` is Filebench's gamma.
    Gamma {
        mean: f64,
        shape: f64,
    },
    Normal {
        mean: f64,
        sigma: f64,
    },
    /// Mean and deviation of the logarithm.
    Lognormal {
        mean: f64,
        sigma: f64,
    },
    Exponential {
        mean: f64,
    },
    /// Percent, from, to.
    Table(Vec<(u64, u64, u64)>),
}

/// The largest number that any of them takes.
const LARGEST: f64 = (1u64 << 60) as f64;

impl Law {
    pub(in super::super) fn of(shape: Shape) -> Law {
        Law { shape, least: 0.0, most: LARGEST, round: 0 }
    }

    pub(in super::super) fn constant(number: u64) -> Law {
        Law::of(Shape::Constant(number as f64))
    }

    /// Its only value, if it has no other.
    pub(in super::super) fn fixed(&self) -> Option<u64> {
        match self.shape {
            Shape::Constant(number) => Some(self.within(number)),
            _ => None,
        }
    }

    /// A value.
    pub(in super::super) fn draw(&self, draw: &mut Draw) -> u64 {
        self.within(match &self.shape {
            Shape::Constant(number) => *number,
            Shape::Uniform { lower, upper } => lower + (upper - lower) * draw.unit(),
            Shape::Gamma { mean, shape } => gamma(*shape, draw) * mean / shape,
            Shape::Normal { mean, sigma } => mean + sigma * draw.normal(),
            Shape::Lognormal { mean, sigma } => (mean + sigma * draw.normal()).exp(),
            Shape::Exponential { mean } => -mean * (1.0 - draw.unit()).ln(),
            Shape::Table(rows) => {
                let mut left = draw.below(rows.iter().map(|row| row.0).sum());
                let row = rows.iter().find(|row| {
                    let is_it = left < row.0;
                    left = left.saturating_sub(row.0);
                    is_it
                });
                row.map_or(0.0, |(_, from, to)| (from + draw.below(to - from + 1)) as f64)
            }
        })
    }

    /// Its mean, without what the limits change.
    pub(in super::super) fn mean(&self) -> f64 {
        let mean = match &self.shape {
            Shape::Constant(number) => *number,
            Shape::Uniform { lower, upper } => lower.midpoint(*upper),
            Shape::Gamma { mean, .. }
            | Shape::Normal { mean, .. }
            | Shape::Exponential { mean } => *mean,
            Shape::Lognormal { mean, sigma } => (mean + sigma * sigma / 2.0).exp(),
            Shape::Table(rows) => {
                let percents: u64 = rows.iter().map(|row| row.0).sum();
                let sum: f64 =
                    rows.iter().map(|(p, from, to)| *p as f64 * (from + to) as f64 / 2.0).sum();
                sum / percents.max(1) as f64
            }
        };
        mean.clamp(self.least, self.most)
    }

    /// A size that hardly any value exceeds, for buffers and room.
    pub(in super::super) fn large(&self) -> u64 {
        let large = match &self.shape {
            Shape::Constant(number) => *number,
            Shape::Uniform { upper, .. } => *upper,
            Shape::Table(rows) => rows.iter().map(|row| row.2).max().unwrap_or(0) as f64,
            Shape::Normal { mean, sigma } => mean + 6.0 * sigma,
            _ => self.mean() * 16.0,
        };
        self.within(large)
    }

    fn within(&self, number: f64) -> u64 {
        let number = number.clamp(self.least, self.most.min(LARGEST)) as u64;
        if self.round > 1 { number / self.round * self.round } else { number }
    }
}

/// A number of the gamma distribution with this shape and scale 1 (Marsaglia and Tsang, 2000).
pub(in super::super) fn gamma(shape: f64, draw: &mut Draw) -> f64 {
    if shape < 1.0 {
        let power = (1.0 - draw.unit()).powf(1.0 / shape);
        return gamma(shape + 1.0, draw) * power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = draw.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - draw.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn drawn(shape: Shape) -> (f64, f64, Law) {
        let law = Law::of(shape);
        let mut draw = Seed(1).stream("law");
        let values: Vec<f64> = (0..40_000).map(|_| law.draw(&mut draw) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, (square / values.len() as f64).sqrt() / mean, law)
    }

    #[test]
    fn values_have_the_mean_and_the_spread_of_their_law() {
        // Deviation over mean: of a gamma law 1 / sqrt(shape), of a uniform one from 0 1 / sqrt(3).
        for (shape, mean, spread) in [
            (Shape::Gamma { mean: 16_384.0, shape: 1.5 }, 16_384.0, 0.8165),
            (Shape::Gamma { mean: 1e6, shape: 0.5 }, 1e6, std::f64::consts::SQRT_2),
            (Shape::Uniform { lower: 0.0, upper: 20_000.0 }, 10_000.0, 0.5774),
            (Shape::Normal { mean: 5e5, sigma: 5e4 }, 5e5, 0.1),
            (Shape::Exponential { mean: 1e5 }, 1e5, 1.0),
            (Shape::Lognormal { mean: 10.0, sigma: 0.5 }, 24_959.0, 0.5329),
            (Shape::Table(vec![(50, 0, 0), (50, 1000, 1000)]), 500.0, 1.0),
        ] {
            let (found, spreads, law) = drawn(shape);
            assert!((found / mean - 1.0).abs() < 0.03, "{law:?}: {found}");
            assert!((law.mean() / mean - 1.0).abs() < 0.001, "{law:?}: {}", law.mean());
            assert!((spreads / spread - 1.0).abs() < 0.06, "{law:?}: {spreads}");
        }
    }

    #[test]
    fn limits_and_rounding_hold_for_every_value() {
        let shape = Shape::Gamma { mean: 10_000.0, shape: 1.5 };
        let law = Law { least: 1000.0, most: 20_000.0, round: 512, ..Law::of(shape) };
        let mut draw = Seed(2).stream("law");
        for _ in 0..1000 {
            let value = law.draw(&mut draw);
            assert!(value.is_multiple_of(512) && (512..=20_000).contains(&value), "{value}");
        }
        assert_eq!(Law::constant(7).fixed(), Some(7));
        assert_eq!(law.fixed(), None);
    }
}
