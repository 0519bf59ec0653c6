//! Correction for many comparisons.

/// Holm's adjusted p values, in the order given (Holm, Scand. J. Statist. 6, 1979). Values of
/// at most α are significant; the probability that any of them is wrong is at most α, however
/// they depend on each other. A NaN counts as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let family = p_values.len();
    let mut adjusted = vec![1.0; family];
    let mut reached: f64 = 0.0;
    for (step, index) in ascending(p_values).into_iter().enumerate() {
        let p = if p_values[index].is_nan() { 1.0 } else { p_values[index] };
        reached = reached.max((family - step) as f64 * p).min(1.0);
        adjusted[index] = reached;
    }
    adjusted
}

/// The confidence at which each comparison's interval leaves out "no difference" exactly
/// when Holm's procedure at `alpha` finds one: 1 − α/(m − step), where the step stops
/// counting at the first comparison that is not significant.
pub(crate) fn confidences(p_values: &[f64], alpha: f64) -> Vec<f64> {
    let family = p_values.len();
    let adjusted = holm(p_values);
    let found = adjusted.iter().filter(|p| **p <= alpha).count();
    let mut confidences = vec![1.0 - alpha; family];
    for (step, index) in ascending(p_values).into_iter().enumerate() {
        confidences[index] = 1.0 - alpha / (family - step.min(found)).max(1) as f64;
    }
    confidences
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1, never falling.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (found, wanted) in adjusted.iter().zip(expected) {
            assert!((found - wanted).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[f64::NAN]), [1.0]);
    }

    proptest::proptest! {
        #[test]
        fn never_below_the_plain_value_nor_above_bonferroni(
            p_values in proptest::collection::vec(0.0f64..=1.0, 1..20),
        ) {
            let family = p_values.len() as f64;
            for (plain, adjusted) in p_values.iter().zip(holm(&p_values)) {
                proptest::prop_assert!(adjusted >= *plain);
                proptest::prop_assert!(adjusted <= (plain * family).min(1.0) + 1e-12);
            }
        }

        #[test]
        fn a_confidence_leaves_out_no_difference_exactly_when_significant(
            p_values in proptest::collection::vec(0.0f64..=0.1, 1..12),
        ) {
            let adjusted = holm(&p_values);
            for ((p, adjusted), confidence) in
                p_values.iter().zip(adjusted).zip(confidences(&p_values, 0.05))
            {
                proptest::prop_assert_eq!(adjusted <= 0.05, *p <= 1.0 - confidence + 1e-15);
            }
        }

        #[test]
        fn the_order_of_the_values_is_kept(
            p_values in proptest::collection::vec(0.0f64..=1.0, 2..20),
        ) {
            let adjusted = holm(&p_values);
            for a in 0..p_values.len() {
                for b in 0..p_values.len() {
                    if p_values[a] < p_values[b] {
                        proptest::prop_assert!(adjusted[a] <= adjusted[b]);
                    }
                }
            }
        }
    }
}
