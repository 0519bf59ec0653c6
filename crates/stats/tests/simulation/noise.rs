//! Seeded noise for the simulations.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use stats::Observation;

/// A source of noise that is the same in every run of the tests.
pub(crate) struct Noise(ChaCha8Rng);

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(ChaCha8Rng::seed_from_u64(seed))
    }

    /// In (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Standard normal (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// Mean 0, deviation 1, skewed to the right as delays are: a centred gamma variable of
    /// shape 2.
    pub(crate) fn skewed(&mut self) -> f64 {
        (-(self.unit() * self.unit()).ln() - 2.0) / 2f64.sqrt()
    }

    /// A table: block effects of `block` shared by all contenders, own noise of each
    /// contender's deviation, true log means; values are positive.
    pub(crate) fn table(
        &mut self,
        blocks: usize,
        block_deviation: f64,
        contenders: &[(f64, f64)],
    ) -> Vec<Vec<Observation>> {
        let shared: Vec<f64> = (0..blocks).map(|_| self.normal() * block_deviation).collect();
        contenders
            .iter()
            .map(|(mean, deviation)| {
                (0..)
                    .zip(&shared)
                    .map(|(block, effect)| {
                        let log = mean + effect + self.normal() * deviation;
                        Observation { block, value: log.exp() }
                    })
                    .collect()
            })
            .collect()
    }
}
