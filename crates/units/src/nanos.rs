//! Time: a point on a trial's clock or a span between two points.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use crate::number::{Notation, ParseQuantityError, significant};

const NOTATION: Notation = Notation {
    what: "a time",
    examples: "250us, 10ms, 1.5s, 2min, 1h",
    suffixes: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("m", 60e9),
        ("h", 3600e9),
        ("d", 86_400e9),
    ],
};

/// Nanoseconds. Holds 584 years; arithmetic saturates, so that an overflow still means "very long".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// Whole microseconds.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// Whole milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Whole seconds.
    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs.saturating_mul(1_000_000_000))
    }

    /// Rounds to the nearest nanosecond; negative and NaN become zero.
    pub fn from_secs_f64(secs: f64) -> Nanos {
        Nanos((secs * 1e9).round() as u64)
    }

    /// Seconds, for arithmetic and charts.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, for arithmetic and charts.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `self - earlier`, or zero where `earlier` is later.
    pub const fn saturating_sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        self.saturating_sub(other)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos::ZERO, Add::add)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(duration: std::time::Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(nanos: Nanos) -> std::time::Duration {
        std::time::Duration::from_nanos(nanos.0)
    }
}

/// Three significant digits in the unit a person would choose: `59.2 µs`, `1.40 s`,
/// `12 min 5 s`, `3 h 20 min`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let text = match ns {
            0..1_000 => format!("{ns} ns"),
            1_000..1_000_000 => format!("{} µs", significant(ns as f64 / 1e3, 3)),
            1_000_000..1_000_000_000 => format!("{} ms", significant(ns as f64 / 1e6, 3)),
            1_000_000_000..120_000_000_000 => format!("{} s", significant(ns as f64 / 1e9, 3)),
            120_000_000_000..7_200_000_000_000 => {
                let secs = (ns as f64 / 1e9).round() as u64;
                format!("{} min {} s", secs / 60, secs % 60)
            }
            _ => {
                let mins = (ns as f64 / 60e9).round() as u64;
                format!("{} h {} min", mins / 60, mins % 60)
            }
        };
        f.pad(&text)
    }
}

impl FromStr for Nanos {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Nanos, ParseQuantityError> {
        NOTATION.parse(text).map(Nanos)
    }
}

crate::bytes::serde_quantity!(Nanos, "a time: whole nanoseconds, or a text such as \"1.5s\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_unit_a_person_would_choose() {
        let shown = |ns| Nanos(ns).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(999), "999 ns");
        assert_eq!(shown(59_200), "59.2 µs");
        assert_eq!(shown(999_900), "1000 µs");
        assert_eq!(shown(1_000_000), "1.00 ms");
        assert_eq!(shown(10_500_000), "10.5 ms");
        assert_eq!(shown(1_400_000_000), "1.40 s");
        assert_eq!(shown(725_000_000_000), "12 min 5 s");
        assert_eq!(shown(12_000_000_000_000), "3 h 20 min");
    }

    #[test]
    fn reads_what_people_write() {
        assert_eq!("1.5s".parse(), Ok(Nanos(1_500_000_000)));
        assert_eq!("2 min".parse(), Ok(Nanos(120_000_000_000)));
        assert_eq!("250us".parse(), Ok(Nanos(250_000)));
        let error = "ten".parse::<Nanos>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`ten` is not a time: its unit is not known (examples: 250us, 10ms, 1.5s, 2min, 1h)"
        );
        assert!("5".parse::<Nanos>().is_err(), "a time without a unit is ambiguous");
    }

    #[test]
    fn converts() {
        assert_eq!(Nanos::from_micros(3), Nanos(3_000));
        assert_eq!(Nanos::from_millis(3), Nanos(3_000_000));
        assert_eq!(Nanos::from_secs(3), Nanos(3_000_000_000));
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos(u64::MAX));
        assert_eq!(Nanos::from_secs_f64(1.5), Nanos(1_500_000_000));
        assert_eq!(Nanos::from_secs_f64(-1.5), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos(1_500_000_000).as_secs_f64(), 1.5);
        assert_eq!(Nanos(1_500_000).as_millis_f64(), 1.5);
        let duration = std::time::Duration::new(2, 7);
        assert_eq!(Nanos::from(duration), Nanos(2_000_000_007));
        assert_eq!(std::time::Duration::from(Nanos(2_000_000_007)), duration);
        assert_eq!(Nanos::from(std::time::Duration::MAX), Nanos(u64::MAX));
    }

    #[test]
    fn arithmetic_stops_at_zero_and_at_the_longest_time() {
        assert_eq!(Nanos(40) + Nanos(2), Nanos(42));
        assert_eq!(Nanos(u64::MAX) + Nanos(2), Nanos(u64::MAX));
        let mut total = Nanos(40);
        total += Nanos(2);
        assert_eq!(total, Nanos(42));
        assert_eq!(Nanos(44) - Nanos(2), Nanos(42));
        assert_eq!(Nanos(2) - Nanos(44), Nanos::ZERO);
        assert_eq!(Nanos(2).saturating_sub(Nanos(44)), Nanos::ZERO);
        assert_eq!([Nanos(1), Nanos(2), Nanos(39)].into_iter().sum::<Nanos>(), Nanos(42));
    }
}
