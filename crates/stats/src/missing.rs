//! Why there is no figure.

/// Why a figure cannot be given. Shown in its place.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Missing {
    /// An interval or a test needs more repeats.
    #[error("{have} of the {need} repeats this needs")]
    TooFew {
        /// Usable figures (for a paired comparison: blocks that both have).
        have: usize,
        /// The least number that is enough.
        need: usize,
    },
    /// A figure of 0 or less has no ratio and no logarithm.
    #[error("a figure is 0 or less")]
    NotPositive {
        /// The first such figure.
        value: f64,
    },
    /// A ratio of spreads where one side's repeats are all equal.
    #[error("its repeats are all equal, so there is no spread to compare")]
    NoSpread,
    /// NaN or infinite: a defect of the code that supplied it.
    #[error("a figure is not a finite number")]
    NotFinite,
}

/// The logarithms of `values`.
pub(crate) fn logs(values: &[f64]) -> Result<Vec<f64>, Missing> {
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Missing::NotFinite);
    }
    match values.iter().find(|value| **value <= 0.0) {
        Some(value) => Err(Missing::NotPositive { value: *value }),
        None => Ok(values.iter().map(|value| value.ln()).collect()),
    }
}

/// Fails where there are fewer than `need`.
pub(crate) fn at_least(need: usize, have: usize) -> Result<(), Missing> {
    if have < need { Err(Missing::TooFew { have, need }) } else { Ok(()) }
}
