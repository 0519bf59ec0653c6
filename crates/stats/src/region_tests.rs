//! Worked examples and properties of regions and of what is estimated.

use crate::{Estimated, Interval, Missing, Observation, Region, decide};

const BELOW: Region = Region { low: f64::NEG_INFINITY, high: 0.0 };

fn mean(value: f64, standard_error: f64) -> Estimated {
    Estimated::Mean { value, standard_error, df: 7.0 }
}

fn series(first: u32, values: &[f64]) -> Vec<Observation> {
    (first..).zip(values).map(|(block, value)| Observation { block, value: *value }).collect()
}

#[test]
fn inside_outside_or_not_to_be_told() {
    let about = Region { low: -0.1, high: 0.1 };
    let questions = [(mean(-1.0, 0.1), BELOW), (mean(1.0, 0.1), BELOW), (mean(0.1, 0.1), BELOW)];
    let found = decide(&questions, 0.05);
    assert_eq!(found.iter().map(|d| d.inside).collect::<Vec<_>>(), [Some(true), Some(false), None]);
    // Equality is shown by a narrow interval, not by a wide one around 0.
    assert_eq!(decide(&[(mean(0.0, 0.01), about)], 0.05)[0].inside, Some(true));
    assert_eq!(decide(&[(mean(0.0, 0.2), about)], 0.05)[0].inside, None);
    assert_eq!(decide(&[(mean(0.0, 0.0), BELOW)], 0.05)[0].inside, None, "on the very end");
}

#[test]
fn a_worked_ratio_of_spreads() {
    // s² 4 and 1 with 7 and 7 degrees of freedom: F = 4, two-sided p = 0.0879.
    let found = Estimated::Spread { log_ratio: 2f64.ln(), df_a: 7.0, df_b: 7.0 };
    let above = Region { low: 0.0, high: f64::INFINITY };
    assert!((found.p(above) - 0.0879).abs() < 1e-3, "{}", found.p(above));
    // F(7, 7) at 97.5 % is 4.9949: the interval of s ratio is 2/√4.9949 to 2·√4.9949.
    let interval = found.interval(0.95);
    assert!((interval.low.exp() - 0.8949).abs() < 1e-3, "{interval:?}");
    assert!((interval.high.exp() - 4.4698).abs() < 2e-3, "{interval:?}");
}

#[test]
fn a_worked_ratio_of_spreads_of_unequal_samples() {
    // Logs vary by 0.3 and 0.1: F = 9 with 2 and 4 degrees, where P(F > x) is (1 + x/2)^−2.
    let exp = |values: &[f64]| values.iter().map(|x| x.exp()).collect::<Vec<_>>();
    let (a, b) = (exp(&[1.0, 1.3, 1.6]), exp(&[0.1, -0.1, 0.1, -0.1, 0.0]));
    let found = Estimated::spread(&a, &b).unwrap();
    for region in [BELOW, Region { low: 0.0, high: f64::INFINITY }] {
        assert!((found.p(region) - 2.0 / 5.5f64.powi(2)).abs() < 1e-9, "{}", found.p(region));
    }
    // 2.5 % lie above 2 (√40 − 1), and as many below 2 (1/√0.975 − 1).
    let (above, below) = (2.0 * (40f64.sqrt() - 1.0), 2.0 * (1.0 / 0.975f64.sqrt() - 1.0));
    let interval = found.interval(0.95);
    assert!((interval.low - (9.0 / above).ln() / 2.0).abs() < 1e-6, "{interval:?}");
    assert!((interval.high - (9.0 / below).ln() / 2.0).abs() < 1e-6, "{interval:?}");
    let certain = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    assert_eq!((found.interval(1.0), found.interval(1.1)), (certain, certain));
}

#[test]
fn of_a_ratio_of_spreads_the_harder_end_decides() {
    // With 2 and 4 degrees the interval around −0.01 is −1.19 to 1.82: the end at 1.5 is the
    // farther one and not left out. There F is e^−3.02, and below it lie 4.7 %.
    let found = Estimated::Spread { log_ratio: -0.01, df_a: 2.0, df_b: 4.0 };
    let about = Region { low: -1.5, high: 1.5 };
    let p = 2.0 * (1.0 - (1.0 + (-3.02f64).exp() / 2.0).powi(-2));
    assert!((found.p(about) - p).abs() < 1e-9, "{}", found.p(about));
    assert_eq!(decide(&[(found, about)], 0.05)[0].inside, None);
    assert_eq!(decide(&[(found, about)], 0.10)[0].inside, Some(true));
}

#[test]
fn rounding_is_no_spread_and_decides_nothing() {
    let varying = [1.0, 1.1, 1.2];
    for (figure, n) in [1.1, 2.3, 3.0].into_iter().flat_map(|x| (2..12).map(move |n| (x, n))) {
        let same = vec![figure; n];
        let not_at_all = Err(Missing::NoSpread);
        assert_eq!(Estimated::spread(&same, &varying), not_at_all, "{n} of {figure}");
        assert_eq!(Estimated::spread(&varying, &same), not_at_all, "{n} of {figure}");
        // The mean of n equal logarithms need not be that logarithm to the last bit.
        let mean = Estimated::log_mean(&same).unwrap();
        let at_most = |limit: f64| Region { high: limit.ln(), ..BELOW };
        assert_eq!(mean.p(at_most(figure)), 1.0, "{n} of {figure}");
        assert_eq!(mean.p(at_most(figure * 1.000_001)), 0.0, "{n} of {figure}");
    }
    // A million apart in every block, but for the last bit of a million.
    let (a, b) = (
        series(0, &[2e6 + 0.1, 2e6 + 0.2, 2e6 + 0.3]),
        series(0, &[1e6 + 0.1, 1e6 + 0.2, 1e6 + 0.3]),
    );
    assert!(a[0].value - b[0].value != a[2].value - b[2].value);
    let Ok(Estimated::Mean { standard_error, .. }) = Estimated::difference(&a, &b) else {
        panic!("a mean")
    };
    assert_eq!(standard_error, 0.0);
}

#[test]
fn a_worked_mean_of_logarithms() {
    // Logs 1 to 5: mean 3, s² 2.5, of five.
    let values = [1f64, 2.0, 3.0, 4.0, 5.0].map(f64::exp);
    let Ok(Estimated::Mean { value, standard_error, df }) = Estimated::log_mean(&values) else {
        panic!("a mean")
    };
    assert!((value - 3.0).abs() < 1e-12 && (standard_error - 0.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(df, 4.0);
}

/// The second example of Wikipedia's "Welch's t-test" (t −1.57, df 9.9, p 0.149); more digits
/// from exact fractions, and the t density integrated with mpmath.
#[test]
fn a_worked_difference_of_unequal_samples() {
    let a = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8];
    let b = [
        21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6,
        21.5, 22.5, 23.5, 21.5, 21.8,
    ];
    // One block that both have is too few for a comparison by blocks.
    let found = Estimated::difference(&series(0, &a), &series(9, &b)).unwrap();
    let Estimated::Mean { value, standard_error, df } = found else { panic!("a mean") };
    assert!((value + 1.525).abs() < 1e-9, "{value}");
    assert!((standard_error - 0.974_171_038).abs() < 1e-9, "{standard_error}");
    assert!((df - 9.904_741_249).abs() < 1e-8, "{df}");
    assert!((found.p(BELOW) - 0.148_841_697).abs() < 1e-8, "{}", found.p(BELOW));
    let interval = found.interval(0.95);
    assert!((interval.low + 3.698_421).abs() < 1e-5, "{interval:?}");
    assert!((interval.high - 0.648_421).abs() < 1e-5, "{interval:?}");
}

#[test]
fn independent_figures_that_do_not_vary() {
    // Ten times 0.1 have another mean than four times, in the last bit.
    let found = Estimated::difference(&series(0, &[0.1; 10]), &series(50, &[0.1; 4])).unwrap();
    assert_eq!(found, Estimated::Mean { value: 0.0, standard_error: 0.0, df: 3.0 });
    assert_eq!(decide(&[(found, BELOW)], 0.05)[0].inside, None);
}

#[test]
fn differences_by_block_or_without() {
    let (a, b) = (series(0, &[12.0, 22.0, 32.0]), series(0, &[10.0, 20.0, 30.0]));
    let paired = Estimated::difference(&a, &b).unwrap();
    assert_eq!(paired, Estimated::Mean { value: 2.0, standard_error: 0.0, df: 2.0 });
    let apart = Estimated::difference(&a, &series(7, &[10.0, 20.0, 30.0])).unwrap();
    assert!(matches!(apart, Estimated::Mean { value, standard_error, .. }
        if value == 2.0 && standard_error > 8.0));
}

#[test]
fn one_figure_has_the_spread_of_others() {
    // Four figures with a standard error of 0.1 vary by 0.2; twice that, over two figures.
    let four = Estimated::Mean { value: 5.0, standard_error: 0.1, df: 3.0 };
    let few = |n, of, times| Estimated::with_spread_of(1.0, n, &four, of, times);
    let of_one = Estimated::Mean { value: 1.0, standard_error: 0.4, df: 3.0 };
    assert_eq!(few(1, 4, 2.0), Some(of_one));
    let Some(Estimated::Mean { standard_error, df, .. }) = few(2, 4, 2.0) else { panic!() };
    assert!((standard_error - 0.4 / 2f64.sqrt()).abs() < 1e-12);
    assert_eq!(df, 3.0);
    assert_eq!((few(0, 4, 1.0), few(1, 0, 1.0)), (None, None));
    let spread = Estimated::Spread { log_ratio: 0.0, df_a: 3.0, df_b: 3.0 };
    assert_eq!(Estimated::with_spread_of(1.0, 1, &spread, 4, 1.0), None);
}

proptest::proptest! {
    #[test]
    fn the_interval_tells_the_same_as_the_decision(
        means in proptest::collection::vec((-1f64..1.0, 0.001f64..0.5), 1..12),
        spreads in proptest::collection::vec((-2f64..2.0, 1u8..40, 1u8..40), 0..12),
        (low, high) in (-1.5f64..-0.1, 0.1f64..1.5),
    ) {
        let region = Region { low, high };
        let means = means.into_iter().map(|(value, error)| mean(value, error));
        let spreads = spreads.into_iter().map(|(log_ratio, df_a, df_b)| Estimated::Spread {
            log_ratio,
            df_a: f64::from(df_a),
            df_b: f64::from(df_b),
        });
        let questions: Vec<_> = means.chain(spreads).map(|found| (found, region)).collect();
        for decision in decide(&questions, 0.05) {
            let Interval { low, high } = decision.interval;
            let inside = low >= region.low - 1e-9 && high <= region.high + 1e-9;
            let outside = high <= region.low + 1e-9 || low >= region.high - 1e-9;
            match decision.inside {
                Some(true) => proptest::prop_assert!(inside),
                Some(false) => proptest::prop_assert!(outside),
                None => {
                    let inside = low > region.low && high < region.high;
                    let outside = high < region.low || low > region.high;
                    proptest::prop_assert!(!inside && !outside);
                }
            }
        }
    }
}
