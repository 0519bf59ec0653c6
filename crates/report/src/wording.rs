//! How figures and lists are put into words, the same in every format.

use units::{Bytes, Nanos, significant};

use crate::analysis::{Cell, Unit};
use crate::numbers::number;

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn and(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// A figure with its unit: `1.40 s`, `12,345 /s`, `85.3 MiB/s`, `412 MiB`.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds if value == 0.0 => "0 s".to_owned(),
        Unit::Seconds if value < 1e-9 => "< 1 ns".to_owned(),
        Unit::Seconds => Nanos::from_secs_f64(value).to_string(),
        Unit::PerSecond => format!("{} /s", number(value)),
        Unit::BytesPerSecond => {
            let mib = value / 1_048_576.0;
            if mib != 0.0 && mib < 0.001 {
                "< 0.001 MiB/s".to_owned()
            } else {
                format!("{} MiB/s", number(mib))
            }
        }
        Unit::Bytes => Bytes(value.round().max(0.0) as u64).to_string(),
        Unit::Count | Unit::Named => number(value),
    }
}

/// Half the width of a cell's interval: `±3%`; `×/÷2.1` where it is wider than the figure;
/// nothing where its figures do not vary at all.
pub(crate) fn spread(cell: &Cell) -> Option<String> {
    let (mean, high) = (cell.mean?, cell.high?);
    if mean <= 0.0 || cell.low == cell.high {
        return None;
    }
    let half = match (cell.overhead(), cell.low) {
        // The interval was widened to one side by the share of the lab's transport.
        (Some(_), Some(low)) if low > 0.0 => (high / mean).max(mean / low) - 1.0,
        _ => high / mean - 1.0,
    };
    Some(match half * 100.0 {
        percent if percent < 0.05 => "±<0.1%".to_owned(),
        percent if percent < 9.95 => format!("±{percent:.1}%"),
        percent if percent < 99.5 => format!("±{percent:.0}%"),
        _ if half < 99.0 => format!("×/÷{}", significant(half + 1.0, 2)),
        _ => "×/÷>99".to_owned(),
    })
}

/// A range of factors: `1.3–1.5 times`, or one where both ends read the same.
pub(crate) fn times(low: f64, high: f64) -> String {
    format!("{} times", range(low, high, 2))
}

/// The same without the word and with a digit more, for tables.
pub(crate) fn factors(low: f64, high: f64) -> String {
    range(low, high, 3)
}

/// Each end with `least` digits, or as many as it takes not to read as 1, up to four. Ends that
/// differ only in the third digit are shown as one figure: nobody needs more.
pub(crate) fn range(low: f64, high: f64, least: usize) -> String {
    let digits_of = |end: f64| {
        let reads_as_one = |digits: usize| factor(end, digits) == factor(1.0, digits);
        (least..4).find(|digits| end == 1.0 || !reads_as_one(*digits)).unwrap_or(4)
    };
    let text = |least: usize| {
        let digits = |end: f64| digits_of(end).max(least);
        (factor(low, digits(low)), factor(high, digits(high)))
    };
    let (mut low_text, mut high_text) = text(least);
    if low_text == high_text {
        (low_text, high_text) = text(3);
    }
    let near = high <= low * SAME_FACTOR && low > SAME_FACTOR;
    match low_text == high_text || near {
        true => factor((low * high).sqrt(), 3),
        false if high >= FACTOR_MAX => format!("> {low_text}"),
        false => format!("{low_text}–{high_text}"),
    }
}

/// Ends of a factor that are no further apart than this are one figure.
const SAME_FACTOR: f64 = 1.005;

/// Larger factors are shown as larger than this.
const FACTOR_MAX: f64 = 10_000.0;

/// One factor with so many significant digits.
pub(crate) fn factor(value: f64, digits: usize) -> String {
    if value >= FACTOR_MAX { "> 9999".to_owned() } else { significant(value, digits) }
}

/// A relative difference, rounded up: `9 %`, or `2.3 times` from 100 % on.
pub(crate) fn percent_up(difference: f64) -> String {
    let percent = difference * 100.0;
    if percent < 1.0 {
        format!("{:.1} %", (percent * 10.0).ceil().max(1.0) / 10.0)
    } else if percent < 100.0 {
        format!("{:.0} %", percent.ceil())
    } else if difference < 1000.0 {
        format!("{} times", significant(1.0 + difference, 2))
    } else {
        "1000 times".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_every_size() {
        assert_eq!(figure(1.4, Unit::Seconds), "1.40 s");
        assert_eq!(figure(0.0, Unit::Seconds), "0 s");
        assert_eq!(figure(12345.4, Unit::PerSecond), "12,345 /s");
        assert_eq!(figure(89_443_532.8, Unit::BytesPerSecond), "85.3 MiB/s");
        assert_eq!(figure(3.0, Unit::Count), "3");
    }

    #[test]
    fn factors_show_as_many_digits_as_they_need() {
        assert_eq!(times(1.31, 1.48), "1.3–1.5 times");
        assert_eq!(times(1.012, 1.034), "1.01–1.03 times");
        assert_eq!(factors(1.31, 1.48), "1.31–1.48");
        assert_eq!(factors(2.0, 2.0), "2.00");
        assert_eq!(times(1.591, 1.592), "1.59 times");
        assert_eq!(times(2.174, 2.177), "2.18 times");
        assert_eq!(times(41.2, 41.3), "41.2 times");
        assert_eq!(factors(0.998, 1.2), "0.998–1.20");
        assert_eq!(times(1.003, 1.296), "1.003–1.3 times");
        assert_eq!(factors(12.0, 2e9), "> 12.0");
        assert_eq!(factors(2e4, 2e9), "> 9999");
    }

    #[test]
    fn lists() {
        assert_eq!(and(&["a", "b", "c"]), "a, b and c");
        assert_eq!(and(&["a"]), "a");
    }
}
