//! Intervals cover what they say, by seeded simulation; and what was rejected does not.

use crate::noise::Noise;
use stats::{FixedWidth, Next, Resolution, geometric_mean, paired};

const TRIALS: usize = 20_000;
const NOMINAL: std::ops::RangeInclusive<f64> = 0.93..=0.97;

fn share(mut covered: impl FnMut() -> bool, trials: usize) -> f64 {
    (0..trials).filter(|_| covered()).count() as f64 / trials as f64
}

#[test]
fn the_interval_of_a_mean_covers_at_3_to_10_repeats() {
    let mut noise = Noise::new(1);
    for n in 3..=10 {
        let covered = share(
            || {
                let values: Vec<f64> = (0..n).map(|_| (0.08 * noise.normal()).exp()).collect();
                geometric_mean(&values, 0.95).unwrap().interval.unwrap().contains(1.0)
            },
            TRIALS,
        );
        assert!(NOMINAL.contains(&covered), "n {n}: {covered}");
    }
}

/// Contenders of unequal spread (2 and 8 %) in blocks that differ by 20 %, truly 1.1 apart.
#[test]
fn the_interval_of_a_ratio_covers_at_3_to_10_repeats() {
    let mut noise = Noise::new(2);
    let ratio = 1.1f64;
    for n in 3..=10 {
        let covered = share(
            || {
                let table = noise.table(n, 0.2, &[(ratio.ln(), 0.02), (0.0, 0.08)]);
                let found = paired(&table[0], &table[1], Resolution::Fine).unwrap();
                found.interval(0.95).contains(ratio)
            },
            TRIALS,
        );
        assert!(NOMINAL.contains(&covered), "n {n}: {covered}");
    }
}

/// Delays are skewed; differences of two equally skewed contenders are not.
#[test]
fn the_interval_of_a_ratio_survives_skewed_noise() {
    let mut noise = Noise::new(3);
    for n in 3..=10 {
        let covered = share(
            || {
                let mut side = || -> Vec<_> {
                    (0..n as u32)
                        .map(|block| stats::Observation {
                            block,
                            value: (0.08 * noise.skewed()).exp(),
                        })
                        .collect()
                };
                let (a, b) = (side(), side());
                paired(&a, &b, Resolution::Fine).unwrap().interval(0.95).contains(1.0)
            },
            TRIALS,
        );
        assert!((0.93..=0.98).contains(&covered), "n {n}: {covered}");
    }
}

/// Why there is no bootstrap here.
#[test]
fn the_percentile_bootstrap_covers_far_less() {
    let mut noise = Noise::new(4);
    for n in 3..=8 {
        let covered = share(
            || {
                let logs: Vec<f64> = (0..n).map(|_| noise.normal()).collect();
                let mut means: Vec<f64> = (0..400)
                    .map(|_| (0..n).map(|_| logs[noise.below(n)]).sum::<f64>() / n as f64)
                    .collect();
                means.sort_by(f64::total_cmp);
                means[9] <= 0.0 && 0.0 <= means[390]
            },
            2_000,
        );
        assert!((0.72..0.91).contains(&covered), "n {n}: {covered}");
    }
}

/// Why variances are not pooled over contenders: with four quiet contenders (1 %) and two
/// noisy ones (8 %), the pooled interval of the noisy pair misses far too often.
#[test]
fn a_pooled_variance_fails_a_noisy_pair_where_pairs_by_block_hold() {
    let mut noise = Noise::new(5);
    let contenders = [(0.0, 0.08), (0.0, 0.08), (0.0, 0.01), (0.0, 0.01), (0.0, 0.01), (0.0, 0.01)];
    let (k, n) = (contenders.len(), 5);
    // t at 97.5 % with (k − 1)(n − 1) = 20 degrees of freedom.
    let critical = 2.086;
    let (mut pooled, mut pairs) = (0, 0);
    for _ in 0..TRIALS {
        let table = noise.table(n, 0.05, &contenders);
        let logs: Vec<Vec<f64>> =
            table.iter().map(|row| row.iter().map(|seen| seen.value.ln()).collect()).collect();
        let row_means: Vec<f64> =
            logs.iter().map(|row| row.iter().sum::<f64>() / n as f64).collect();
        let grand = row_means.iter().sum::<f64>() / k as f64;
        let mut squares = 0.0;
        for block in 0..n {
            let column = logs.iter().map(|row| row[block]).sum::<f64>() / k as f64;
            for (row, mean) in logs.iter().zip(&row_means) {
                squares += (row[block] - mean - column + grand).powi(2);
            }
        }
        let error = (2.0 * squares / ((k - 1) * (n - 1)) as f64 / n as f64).sqrt();
        pooled += usize::from((row_means[0] - row_means[1]).abs() <= critical * error);
        let found = paired(&table[0], &table[1], Resolution::Fine).unwrap();
        pairs += usize::from(found.interval(0.95).contains(1.0));
    }
    let [pooled, pairs] = [pooled, pairs].map(|covered| covered as f64 / TRIALS as f64);
    assert!(pooled < 0.85, "{pooled}");
    assert!(NOMINAL.contains(&pairs), "{pairs}");
}

#[test]
fn stopping_when_narrow_enough_keeps_most_of_the_coverage() {
    let mut noise = Noise::new(6);
    for (spread, half_width) in [(0.05, 0.02), (0.05, 0.03), (0.02, 0.02), (0.1, 0.05)] {
        let rule = FixedWidth { repeats_max: 1000, ..FixedWidth::new(half_width) };
        let covered = share(
            || {
                let mut values = Vec::new();
                loop {
                    match rule.next(&values).unwrap() {
                        Next::Enough(interval) => return interval.contains(1.0),
                        Next::GiveUp(_) => return false,
                        Next::GoOn { .. } => values.push((spread * noise.normal()).exp()),
                    }
                }
            },
            4_000,
        );
        assert!(covered >= 0.92, "spread {spread}, ±{half_width}: {covered}");
    }
}
