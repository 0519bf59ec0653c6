//! Why there is no figure.

/// A figure that cannot be given, and why. Shown in its place.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Missing {
    /// An interval or a test needs more repeats.
    #[error("{have} of the {need} repeats this needs")]
    TooFew {
        /// Usable figures (for a paired comparison: blocks that both have).
        have: usize,
        /// The least that would do.
        need: usize,
    },
    /// A ratio or a logarithm of nothing.
    #[error("a figure is 0 or less")]
    NotPositive {
        /// The first such figure.
        value: f64,
    },
    /// NaN or infinite: a defect of whoever supplied it.
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
