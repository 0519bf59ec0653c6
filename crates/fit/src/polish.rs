//! Gauss-Newton steps with Marquardt's damping. The effect of each parameter on each answer says
//! how far to move all parameters at once.

use crate::target::square;

/// Damping of a step, as fractions of a parameter's largest effect. An effect that is due to chance
/// alone is smaller than the least of them.
const DAMPINGS: [f64; 4] = [1.0, 0.1, 0.01, 0.001];
/// A step that reduces the distance by less than this fraction is the last of its width.
const ENOUGH: f64 = 0.02;
/// The longest step of any parameter, in logarithms.
const LONGEST: f64 = 0.3;

/// Goes downhill from `point`. `misses` returns the errors at a point, or `None` where they cannot
/// be computed. `widths` says how far a parameter is moved to see its effect, one width after the
/// other, with a limited number of steps for each.
pub(crate) fn polish(
    misses: impl Fn(&[f64]) -> Option<Vec<f64>>,
    point: Vec<f64>,
    widths: &[f64],
    steps: usize,
) -> Vec<f64> {
    let Some(mut here) = misses(&point) else { return point };
    let mut point = point;
    for width in widths {
        for _ in 0..steps {
            let effects = effects(&misses, &point, &here, *width);
            let before = square(&here);
            let tried = DAMPINGS.iter().filter_map(|damping| {
                let there = step(&point, &effects, &here, *damping)?;
                let found = misses(&there)?;
                Some((there, found))
            });
            let best = tried.min_by(|a, b| square(&a.1).total_cmp(&square(&b.1)));
            let Some((there, found)) = best.filter(|(_, found)| square(found) < before) else {
                break;
            };
            (point, here) = (there, found);
            if square(&here) > before * (1.0 - ENOUGH) {
                break;
            }
        }
    }
    point
}

/// The derivative of each error with respect to each parameter.
fn effects(
    misses: &impl Fn(&[f64]) -> Option<Vec<f64>>,
    point: &[f64],
    here: &[f64],
    width: f64,
) -> Vec<Vec<f64>> {
    let moved = |nth: usize, by: f64| {
        let mut there = point.to_vec();
        there[nth] += by;
        misses(&there)
    };
    let of = |nth: usize| {
        let (more, less) = (moved(nth, width), moved(nth, -width));
        let apart = width * f64::from(u8::from(more.is_some()) + u8::from(less.is_some()));
        let (more, less) = (more.as_deref().unwrap_or(here), less.as_deref().unwrap_or(here));
        let per_unit = |(more, less): (&f64, &f64)| (more - less) / apart.max(width);
        more.iter().zip(less).map(per_unit).collect()
    };
    (0..point.len()).map(of).collect()
}

/// The point with the least error if all effects were linear.
fn step(point: &[f64], effects: &[Vec<f64>], here: &[f64], damping: f64) -> Option<Vec<f64>> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut normal: Vec<Vec<f64>> = effects
        .iter()
        .map(|row| {
            let products = effects.iter().map(|column| product(row, column));
            products.chain([-product(row, here)]).collect()
        })
        .collect();
    let largest = (0..point.len()).map(|nth| normal[nth][nth]).fold(0.0, f64::max);
    for (nth, row) in normal.iter_mut().enumerate() {
        row[nth] += largest * damping;
    }
    let by = solve(normal)?;
    Some(point.iter().zip(by).map(|(at, by)| at + by.clamp(-LONGEST, LONGEST)).collect())
}

/// Solves linear equations by elimination. Each row is an equation with its right side last.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = rows.len();
    for nth in 0..count {
        let pivot =
            (nth..count).max_by(|a, b| rows[*a][nth].abs().total_cmp(&rows[*b][nth].abs()))?;
        rows.swap(nth, pivot);
        let row = rows[nth].clone();
        if row[nth].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (other, below) in rows.iter_mut().enumerate() {
            if other != nth {
                let share = below[nth] / row[nth];
                below.iter_mut().zip(&row).for_each(|(to, from)| *to -= share * from);
            }
        }
    }
    Some(rows.iter().enumerate().map(|(nth, row)| row[count] / row[nth]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_point_of_a_bent_valley_is_found() {
        // Steep across, nearly flat along: no parameter alone goes far.
        let misses = |at: &[f64]| Some(vec![10.0 * (at[1] - at[0] * at[0]), 1.0 - at[0], at[2]]);
        let found = polish(misses, vec![-0.5, 0.5, 0.2], &[0.1, 0.01], 40);
        assert!(square(&misses(&found).unwrap()) < 1e-6, "{found:?}");
        assert!((found[0] - 1.0).abs() < 1e-2, "{found:?}");
    }

    #[test]
    fn what_tells_nothing_stays_and_what_is_unknown_is_not_entered() {
        let misses = |at: &[f64]| (at[0] < 0.25).then(|| vec![at[0] - 0.3]);
        let found = polish(misses, vec![0.0, 0.7], &[0.02], 20);
        assert!(found[0] > 0.2 && found[0] < 0.25, "{found:?}");
        assert!((found[1] - 0.7).abs() < 1e-9, "{found:?}");
        assert_eq!(polish(|_| None, vec![0.1], &[0.02], 20), [0.1]);
    }
}
