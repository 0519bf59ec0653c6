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

/// A cell's figure: the mean, or of a few counts that differ the least and the most, since half a
/// flush is none.
pub(crate) fn shown(cell: &Cell, unit: Unit) -> Option<String> {
    let mean = cell.mean?;
    let values = || cell.figures.iter().map(|figure| figure.value);
    let (least, most) = (values().fold(mean, f64::min), values().fold(mean, f64::max));
    Some(match unit {
        Unit::Count if mean < COUNTED_UP_TO && least < most => {
            format!("{}–{}", number(least), number(most))
        }
        _ => figure(mean, unit),
    })
}

/// Counts below this are shown as they were counted.
const COUNTED_UP_TO: f64 = 10.0;

/// Half the width of a cell's interval: `±3%`; `×/÷2.1` where it is wider than the figure; `±?`
/// where it is so wide that there are not enough repeats to say; nothing where its figures do not
/// vary at all.
pub(crate) fn spread(cell: &Cell) -> Option<String> {
    let half = half(cell)?;
    Some(match half * 100.0 {
        _ if is_vague(cell) => VAGUE.to_owned(),
        percent if percent < 0.05 => "±<0.1%".to_owned(),
        percent if percent < 9.95 => format!("±{percent:.1}%"),
        percent if half < WIDE => format!("±{percent:.0}%"),
        _ => format!("×/÷{}", significant(half + 1.0, 2)),
    })
}

/// Half an interval from which on it is told as a factor.
const WIDE: f64 = 0.995;

/// Half the width of a cell's interval as a share of its figure; nothing where its figures do not
/// vary at all.
fn half(cell: &Cell) -> Option<f64> {
    let (mean, high) = (cell.mean?, cell.high?);
    if mean <= 0.0 || cell.low == cell.high {
        return None;
    }
    Some(match (cell.overhead(), cell.low) {
        // The interval was widened to one side by the share of the lab's transport.
        (Some(_), Some(low)) if low > 0.0 => (high / mean).max(mean / low) - 1.0,
        _ => high / mean - 1.0,
    })
}

/// Stands for an interval that says nothing.
pub(crate) const VAGUE: &str = "±?";

/// Whether a cell's interval is so wide that its ends say nothing.
pub(crate) fn is_vague(cell: &Cell) -> bool {
    let wide = |(mean, high): (f64, f64)| mean > 0.0 && high / mean > FIGURE_MAX;
    cell.mean.zip(cell.high).is_some_and(wide)
}

/// A figure that may be this many times as large is not known.
const FIGURE_MAX: f64 = 5.0;

/// Whether a cell's interval is told as a factor.
pub(crate) fn is_wide(cell: &Cell) -> bool {
    !is_vague(cell) && half(cell).is_some_and(|half| half >= WIDE)
}

/// A factor whose ends are further apart than this is not known.
const RANGE_MAX: f64 = 20.0;

/// How a contender's figure stands to the leader's, for a column.
pub(crate) enum Against {
    /// There is no figure, or nobody leads.
    Nothing,
    /// The leader, or how many times worse.
    Times(String),
    /// Why there is no factor.
    Words(&'static str),
}

impl Against {
    /// With a multiplication sign behind a factor.
    pub(crate) fn with_sign(&self) -> String {
        match self {
            Against::Times(times) if times != "1" => format!("{times}×"),
            other => other.plain(),
        }
    }

    /// As it is.
    pub(crate) fn plain(&self) -> String {
        match self {
            Against::Nothing => String::new(),
            Against::Times(times) => times.clone(),
            Against::Words(words) => (*words).to_owned(),
        }
    }
}

/// How a contender stands to the leader: `1`, `1.32`, `4.2–4.3`, `over 20`, or why nobody can say.
/// Each end has `least` digits or more.
pub(crate) fn against(cell: &Cell, least: usize) -> Against {
    match cell.against_best {
        _ if cell.mean.is_none() => Against::Nothing,
        _ if cell.leads => Against::Times("1".to_owned()),
        _ if cell.has_too_few() => Against::Words("not enough trials"),
        None => Against::Nothing,
        Some(against) => match against.low.zip(against.high) {
            // On a screen ends that are so near are one figure.
            Some((low, high)) if least < 3 && high <= low * SCREEN_SAME => {
                Against::Times(range(against.ratio, against.ratio, 3))
            }
            Some((low, high)) => match factors(low, high, least) {
                Some(times) => Against::Times(times),
                None => Against::Words("not enough repeats"),
            },
            None => Against::Words("not enough repeats"),
        },
    }
}

/// A range of factors, or one where both ends read the same; `None` where the range is so wide
/// that there are not enough repeats to say.
pub(crate) fn factors(low: f64, high: f64, least: usize) -> Option<String> {
    match (low > 1.0, high < 1.0) {
        (true, _) if low >= 1000.0 => Some("over 1,000".to_owned()),
        (true, _) if high / low > RANGE_MAX || high >= FACTOR_MAX => {
            Some(format!("over {}", factor(low, 2)))
        }
        (_, true) if high / low > RANGE_MAX => Some(format!("under {}", factor(high, 2))),
        _ if high / low > RANGE_MAX || low.is_nan() || high.is_nan() => None,
        _ => Some(range(low, high, least)),
    }
}

/// Ends of a factor no further apart than this are one figure on a screen: more digits would promise
/// more than anybody needs.
const SCREEN_SAME: f64 = 1.02;

/// Each end with `least` digits, or as many as it takes not to read as 1, up to four. Ends that
/// differ only in the third digit are shown as one figure: nobody needs more.
fn range(low: f64, high: f64, least: usize) -> String {
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
        false => format!("{low_text}–{high_text}"),
    }
}

/// Ends of a factor that are no further apart than this are one figure.
const SAME_FACTOR: f64 = 1.005;

/// Larger factors are shown as larger than this.
const FACTOR_MAX: f64 = 10_000.0;

/// One factor with so many significant digits.
pub(crate) fn factor(value: f64, digits: usize) -> String {
    if value >= FACTOR_MAX { "over 9,999".to_owned() } else { significant(value, digits) }
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
        let times = |low, high| factors(low, high, 2).unwrap();
        assert_eq!(times(1.31, 1.48), "1.3–1.5");
        assert_eq!(times(1.012, 1.034), "1.01–1.03");
        assert_eq!(factors(1.31, 1.48, 3).unwrap(), "1.31–1.48");
        assert_eq!(factors(2.0, 2.0, 3).unwrap(), "2.00");
        assert_eq!(times(1.591, 1.592), "1.59");
        assert_eq!(times(2.174, 2.177), "2.18");
        assert_eq!(times(41.2, 41.3), "41.2");
        assert_eq!(factors(0.998, 1.2, 3).unwrap(), "0.998–1.20");
        assert_eq!(times(1.003, 1.296), "1.003–1.3");
    }

    /// `> 0.000000000000×` and `0.15–99×` say nothing.
    #[test]
    fn a_factor_that_may_be_anything_is_not_shown() {
        assert_eq!(factors(1e-13, 9e12, 2), None);
        assert_eq!(factors(0.15, 99.0, 2), None);
        assert_eq!(factors(f64::NAN, f64::NAN, 2), None);
        assert_eq!(factors(12.0, 2e9, 2).unwrap(), "over 12");
        assert_eq!(factors(1e-9, 0.08, 2).unwrap(), "under 0.080");
        assert_eq!(factors(2e4, 2e9, 2).unwrap(), "over 1,000");
        assert_eq!(factors(0.5, 2.0, 2).unwrap(), "0.50–2.0");
    }

    fn cell(figures: &[f64], mean: f64, high: f64) -> Cell {
        let figure =
            |value: &f64| crate::TrialFigure { trial: 0, block: 0, value: *value, overhead: None };
        Cell {
            figures: figures.iter().map(figure).collect(),
            mean: Some(mean),
            low: Some(mean * mean / high),
            high: Some(high),
            ..Cell::default()
        }
    }

    #[test]
    fn an_interval_that_says_nothing_is_not_shown_and_half_a_flush_is_none() {
        assert_eq!(spread(&cell(&[60.0, 70.0], 66.0, 7000.0)).unwrap(), "±?");
        assert_eq!(spread(&cell(&[60.0, 70.0], 66.0, 132.0)).unwrap(), "×/÷2.0");
        let flushes = cell(&[0.0, 1.0, 1.0], 0.667, 1.0);
        assert_eq!(shown(&flushes, Unit::Count).unwrap(), "0–1");
        assert_eq!(shown(&flushes, Unit::Seconds).unwrap(), "667 ms");
        let same = cell(&[2.0, 2.0], 2.0, 2.0);
        assert_eq!(shown(&same, Unit::Count).unwrap(), "2");
    }

    #[test]
    fn lists() {
        assert_eq!(and(&["a", "b", "c"]), "a, b and c");
        assert_eq!(and(&["a"]), "a");
    }
}
