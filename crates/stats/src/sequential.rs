//! The error rate over several looks at a growing number of repeats.

/// The share of `alpha` for a look, counted from 0: a half, a quarter and so on. However many
/// looks there are, the shares add up to less than `alpha`.
pub fn share_of_look(alpha: f64, look: usize) -> f64 {
    alpha * 0.5f64.powi(i32::try_from(look).unwrap_or(i32::MAX).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_and_never_add_up_to_more_than_there_is() {
        assert_eq!(share_of_look(0.05, 0), 0.025);
        assert_eq!(share_of_look(0.05, 1), 0.0125);
        let all: f64 = (0..60).map(|look| share_of_look(0.05, look)).sum();
        assert!(all <= 0.05 && all > 0.0499, "{all}");
        assert_eq!(share_of_look(0.05, usize::MAX), 0.0);
    }
}
