//! Student's t distribution, central and non-central.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

/// The t for which a central t variable lies between −t and t with probability
/// `confidence`. Infinite where `confidence` is 1 or the degrees of freedom are not positive.
pub(crate) fn two_sided_quantile(confidence: f64, df: f64) -> f64 {
    let tail = (1.0 - confidence) / 2.0;
    match StudentsT::new(0.0, 1.0, df) {
        // The lower tail, since 1 − tail loses digits for small tails.
        Ok(t) if tail > 0.0 => -t.inverse_cdf(tail),
        _ => f64::INFINITY,
    }
}

/// Probability that a central t variable lies farther from 0 than `t`. The incomplete beta
/// function keeps small probabilities exact where 1 − cdf would give 0.
pub(crate) fn two_sided_p(t: f64, df: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    beta_reg(df / 2.0, 0.5, df / (df + t * t)).clamp(0.0, 1.0)
}

/// Probability that a central t variable exceeds `t`.
pub(crate) fn upper_p(t: f64, df: f64) -> f64 {
    let half = two_sided_p(t, df) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// Probability that |T| exceeds `critical` for non-central T with this non-centrality:
/// the power of a two-sided test. Integrates over the distribution of the estimated
/// standard deviation, which given the rest is independent of the mean.
pub(crate) fn two_sided_power(critical: f64, non_centrality: f64, df: f64) -> f64 {
    const STEPS: usize = 600;
    if !critical.is_finite() {
        return 0.0;
    }
    // u = s/σ has density 2 (ν/2)^(ν/2) / Γ(ν/2) · u^(ν−1) · exp(−ν u²/2).
    let ln_scale = std::f64::consts::LN_2 + df / 2.0 * (df / 2.0).ln() - ln_gamma(df / 2.0);
    let density = |u: f64| (ln_scale + (df - 1.0) * u.ln() - df * u * u / 2.0).exp();
    let rejected = |u: f64| {
        normal_cdf(non_centrality - critical * u) + normal_cdf(-non_centrality - critical * u)
    };
    // Beyond these the density, or the probability of rejection, is negligible.
    let density_end = 1.0 + 9.0 / (2.0 * df).sqrt();
    let upper = density_end.min((non_centrality.abs() + 9.0) / critical.max(f64::MIN_POSITIVE));
    let step = upper / STEPS as f64;
    // The midpoint rule needs no value at u = 0, where the logarithm has none.
    let sum: f64 = (0..STEPS)
        .map(|index| {
            let u = (index as f64 + 0.5) * step;
            density(u) * rejected(u)
        })
        .sum();
    (sum * step).clamp(0.0, 1.0)
}

fn normal_cdf(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of printed tables, to the digits printed there.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (confidence, df, table) in [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 4.0, 2.776),
            (0.95, 9.0, 2.262),
            (0.99, 3.0, 5.841),
            (0.995, 2.0, 14.089),
            (0.999, 5.0, 6.869),
            (0.95, 120.0, 1.980),
        ] {
            let t = two_sided_quantile(confidence, df);
            assert!((t - table).abs() < 6e-4, "{confidence} {df}: {t}");
            assert!((two_sided_p(t, df) - (1.0 - confidence)).abs() < 1e-9);
        }
        for (confidence, df) in [(1.0, 4.0), (1.1, 4.0), (f64::NAN, 4.0), (0.95, 0.0)] {
            assert_eq!(two_sided_quantile(confidence, df), f64::INFINITY, "{confidence} {df}");
        }
    }

    #[test]
    fn small_probabilities_do_not_vanish() {
        let p = two_sided_p(60.0, 30.0);
        assert!(p > 0.0 && p < 1e-30, "{p}");
        assert!((upper_p(-1.0, 5.0) + upper_p(1.0, 5.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn power_without_a_difference_is_the_error_rate() {
        // Down to the error rate that remains for each pair of many contenders.
        for (error, df) in [0.05, 1e-3, 1e-5]
            .into_iter()
            .flat_map(|error| [1.0, 2.0, 9.0, 100.0].map(|df| (error, df)))
        {
            let critical = two_sided_quantile(1.0 - error, df);
            let power = two_sided_power(critical, 0.0, df);
            assert!((power / error - 1.0).abs() < 1e-3, "{error} {df}: {power}");
        }
    }

    /// T² is a noncentral F: a Poisson mixture of incomplete beta functions, summed with mpmath.
    #[test]
    fn worked_powers() {
        for (critical, non_centrality, df, expected) in [
            (12.706, 10.0, 1.0, 0.567_313_935_5),
            (2.776, 3.0, 4.0, 0.619_381_654_5),
            (7.649, 9.8, 2.0, 0.798_920_588_2),
            (2.035, 2.887, 33.0, 0.800_005_936_5),
        ] {
            let power = two_sided_power(critical, non_centrality, df);
            assert!((power - expected).abs() < 2e-6, "{critical} {non_centrality} {df}: {power}");
        }
        // Of one degree of freedom the far ends count: 6·10^−10 lies beyond six deviations.
        assert!(two_sided_power(4.0, 40.0, 1.0) > 1.0 - 1e-10);
    }
}
