//! Decides whether to repeat until an interval is narrow enough.

use crate::{Interval, Missing, geometric_mean};

/// Repeats until the interval is at most this wide: a sequential fixed-width rule (Chow and
/// Robbins, Ann. Math. Statist. 36, 1965). Since it looks again after every repeat, it tends to
/// stop at spreads that are small by chance; a minimum number of repeats limits this: with 8 the
/// final 95 % interval covers 92 to 94 % (`tests/simulation/coverage.rs`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedWidth {
    /// Half of the allowed width, relative to the mean: 0.02 is ±2 %.
    pub half_width: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Never stop before this many; at least 2 is enforced.
    pub repeats_min: usize,
    /// Stop at this many in any case.
    pub repeats_max: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// The interval is narrow enough.
    Enough(Interval),
    /// More is needed.
    GoOn {
        /// How many more this will take if the spread stays the same, within the limit.
        further: usize,
    },
    /// The limit is reached and the interval is still too wide.
    GiveUp(Interval),
}

impl FixedWidth {
    /// A rule at 95 % with a minimum of 8 repeats and a maximum of 100.
    pub fn new(half_width: f64) -> FixedWidth {
        FixedWidth { half_width, confidence: 0.95, repeats_min: 8, repeats_max: 100 }
    }

    /// What to do after these figures: one contender's, or the ratios of two by block.
    ///
    /// # Errors
    /// With figures that are not positive and finite. Too few figures are not an error: go on.
    pub fn next(&self, values: &[f64]) -> Result<Next, Missing> {
        let repeats_min = self.repeats_min.max(2);
        let have = values.len();
        if have < 2 {
            if have == 1 {
                geometric_mean(values, self.confidence)?;
            }
            return Ok(Next::GoOn { further: repeats_min - have });
        }
        let estimate = geometric_mean(values, self.confidence)?;
        let interval = estimate.interval?;
        let half = (interval.high / estimate.mean).ln();
        let allowed = self.half_width.ln_1p();
        if have >= repeats_min && half <= allowed {
            return Ok(Next::Enough(interval));
        }
        if have >= self.repeats_max {
            return Ok(Next::GiveUp(interval));
        }
        // The width falls with the square root of the number of repeats.
        let needed = have as f64 * (half / allowed).powi(2);
        let needed = needed.ceil().min(self.repeats_max as f64) as usize;
        let further = needed.max(repeats_min).min(self.repeats_max);
        Ok(Next::GoOn { further: further.saturating_sub(have).max(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_on_stops_and_gives_up() {
        let rule = FixedWidth { repeats_min: 3, repeats_max: 6, ..FixedWidth::new(0.02) };
        assert_eq!(rule.next(&[]), Ok(Next::GoOn { further: 3 }));
        assert_eq!(rule.next(&[1.0]), Ok(Next::GoOn { further: 2 }));
        assert_eq!(rule.next(&[1.0, 1.0]), Ok(Next::GoOn { further: 1 }));
        let at_once = FixedWidth { repeats_min: 0, ..rule };
        assert!(matches!(at_once.next(&[1.0, 1.0]), Ok(Next::Enough(_))));
        assert!(matches!(rule.next(&[1.0, 1.0, 1.001]), Ok(Next::Enough(_))));
        assert_eq!(rule.next(&[1.0, 2.0, 1.5]), Ok(Next::GoOn { further: 3 }));
        assert!(matches!(rule.next(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]), Ok(Next::GiveUp(_))));
        assert_eq!(rule.next(&[0.0]), Err(Missing::NotPositive { value: 0.0 }));
    }

    #[test]
    fn says_how_many_more_at_this_spread() {
        // Spread e^±0.05 at n = 4: half width 3.182·0.0577/2 = 9.2 %; ±4 % takes 5.5 times n.
        let rule = FixedWidth { repeats_min: 2, ..FixedWidth::new(0.04) };
        let values = [0.05f64.exp(), (-0.05f64).exp(), 0.05f64.exp(), (-0.05f64).exp()];
        for unit in [1.0, 1000.0, 0.001] {
            let values = values.map(|value| value * unit);
            assert_eq!(rule.next(&values), Ok(Next::GoOn { further: 18 }), "{unit}");
        }
    }
}
