//! Comparisons whose answer is known beforehand, to count how often they come out wrong: a
//! contender compared with itself, or with one that is slower by a known share.

use crate::{Better, Observation, Settings, compare_all};

/// The outcomes of several comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answers {
    /// The second was shown to be larger.
    pub larger: usize,
    /// The second was shown to be smaller.
    pub smaller: usize,
    /// They could not be told apart.
    pub alike: usize,
}

impl Answers {
    /// All of them.
    pub fn comparisons(&self) -> usize {
        self.larger + self.smaller + self.alike
    }

    /// Those that found a difference.
    pub fn differ(&self) -> usize {
        self.larger + self.smaller
    }

    fn count(&mut self, first: &[Observation], second: &[Observation], alpha: f64) {
        let settings = Settings { alpha, ..Settings::new(Better::Lower) };
        let table = compare_all(&[first.to_vec(), second.to_vec()], &settings);
        let log_ratio = |pair: &crate::Pair| pair.comparison().log_ratio;
        match table.pairs.first() {
            Some(pair) if pair.shown.separated && log_ratio(pair) < 0.0 => self.larger += 1,
            Some(pair) if pair.shown.separated => self.smaller += 1,
            _ => self.alike += 1,
        }
    }
}

/// Compares one contender with itself: its figures are taken in order, `each` for one side and
/// then `each` for the other, so that no figure and no seed is used twice. A remainder is not
/// used.
pub fn compare_with_itself(figures: &[Observation], each: usize, alpha: f64) -> Answers {
    let mut answers = Answers::default();
    if each > 0 {
        for both in figures.chunks_exact(2 * each) {
            answers.count(&both[..each], &both[each..], alpha);
        }
    }
    answers
}

/// Compares two contenders in batches of `each` blocks; no block is used twice. Blocks that
/// only one of them has are left out.
pub fn compare_in_batches(
    first: &[Observation],
    second: &[Observation],
    each: usize,
    alpha: f64,
) -> Answers {
    let shared: Vec<(Observation, Observation)> = first
        .iter()
        .filter_map(|one| {
            let other = second.iter().find(|other| other.block == one.block)?;
            Some((*one, *other))
        })
        .collect();
    let mut answers = Answers::default();
    if each > 0 {
        for batch in shared.chunks_exact(each) {
            let (first, second): (Vec<_>, Vec<_>) = batch.iter().copied().unzip();
            answers.count(&first, &second, alpha);
        }
    }
    answers
}

/// The most of `comparisons` that may differ by chance at an error rate of `alpha`: a larger
/// number has a probability below 2.5 % (the upper tail of the binomial distribution).
pub fn most_by_chance(comparisons: usize, alpha: f64) -> usize {
    const TAIL: f64 = 0.025;
    let (n, odds) = (comparisons as f64, alpha / (1.0 - alpha));
    // Starts at P(X = 0); the ratio of binomial probabilities leads from each to the next. In
    // logarithms, since (1 − α)^n may be too small for a float.
    let mut log_probability = n * (-alpha).ln_1p();
    let mut up_to = log_probability.exp();
    let mut most = 0;
    while up_to < 1.0 - TAIL && most < comparisons {
        most += 1;
        let k = most as f64;
        log_probability += ((n - k + 1.0) / k * odds).ln();
        up_to += log_probability.exp();
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: impl IntoIterator<Item = f64>) -> Vec<Observation> {
        (0..).zip(values).map(|(block, value)| Observation { block, value }).collect()
    }

    #[test]
    fn what_differs_is_found_with_its_sign_and_in_its_batches() {
        let noise = [1.0, 1.02, 0.99, 1.01];
        let first = figures(noise.iter().cycle().take(14).copied());
        let second: Vec<_> =
            first.iter().map(|o| Observation { value: o.value * 1.05, ..*o }).collect();
        let answers = compare_in_batches(&first, &second, 4, 0.05);
        assert_eq!(answers, Answers { larger: 3, smaller: 0, alike: 0 });
        let answers = compare_in_batches(&second, &first, 7, 0.05);
        assert_eq!(answers, Answers { larger: 0, smaller: 2, alike: 0 });
        assert_eq!(compare_in_batches(&first, &second[..3], 4, 0.05).comparisons(), 0);
    }

    #[test]
    fn a_contender_is_compared_with_itself_on_disjoint_figures() {
        let alike = figures([1.0, 1.02, 0.99, 1.01, 1.01, 0.98, 1.0, 1.02]);
        assert_eq!(compare_with_itself(&alike, 2, 0.05).alike, 2);
        let jump = figures([1.0, 1.02, 0.99, 1.01, 2.0, 2.02, 1.99, 2.01]);
        assert_eq!(compare_with_itself(&jump, 4, 0.05).larger, 1);
        assert_eq!(compare_with_itself(&jump, 5, 0.05).comparisons(), 0);
    }

    #[test]
    fn the_error_rate_decides_and_each_answer_counts_once() {
        // Log differences 0.1, 0.2, 0.2, 0.3: t = 4.899 with 3 degrees, p = 0.016.
        let first = figures([1.0; 4]);
        let second = figures([0.1f64, 0.2, 0.2, 0.3].map(f64::exp));
        assert_eq!(compare_in_batches(&first, &second, 4, 0.05).larger, 1);
        assert_eq!(compare_in_batches(&first, &second, 4, 0.01).alike, 1);
        let answers = Answers { larger: 3, smaller: 2, alike: 7 };
        assert_eq!((answers.differ(), answers.comparisons()), (5, 12));
        let none = Answers::default();
        assert_eq!(compare_in_batches(&first, &second, 0, 0.05), none);
        assert_eq!(compare_with_itself(&first, 0, 0.05), none);
    }

    /// Against the distribution summed by hand: P(X ≤ 15) = 0.956 and P(X ≤ 16) = 0.976 at
    /// 200 and 5 %.
    #[test]
    fn the_limit_is_the_binomial_one() {
        assert_eq!(most_by_chance(200, 0.05), 16);
        assert_eq!(most_by_chance(0, 0.05), 0);
        assert_eq!(most_by_chance(1, 0.05), 1);
        assert_eq!(most_by_chance(20, 0.05), 3);
        assert!((600..720).contains(&most_by_chance(12_000, 0.05)));
    }
}
