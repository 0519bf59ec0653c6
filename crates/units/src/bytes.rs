//! Size: of a file, a request, a device.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

use crate::number::{Notation, ParseQuantityError, significant};

const NOTATION: Notation = Notation {
    what: "a size",
    examples: "512, 4K, 256M, 1.5GiB",
    suffixes: &[
        ("", 1.0),
        ("b", 1.0),
        ("k", 1024.0),
        ("kb", 1024.0),
        ("kib", 1024.0),
        ("m", 1_048_576.0),
        ("mb", 1_048_576.0),
        ("mib", 1_048_576.0),
        ("g", 1_073_741_824.0),
        ("gb", 1_073_741_824.0),
        ("gib", 1_073_741_824.0),
        ("t", 1_099_511_627_776.0),
        ("tb", 1_099_511_627_776.0),
        ("tib", 1_099_511_627_776.0),
    ],
};

/// A count of bytes. Suffixes are powers of 1024, as mke2fs and mkfs.xfs read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// Whole KiB (1024 bytes).
    pub const fn from_kib(kib: u64) -> Bytes {
        Bytes(kib.saturating_mul(1 << 10))
    }

    /// Whole MiB.
    pub const fn from_mib(mib: u64) -> Bytes {
        Bytes(mib.saturating_mul(1 << 20))
    }

    /// Whole GiB.
    pub const fn from_gib(gib: u64) -> Bytes {
        Bytes(gib.saturating_mul(1 << 30))
    }

    /// Rounds up to a multiple of `unit` (which must not be zero).
    pub const fn round_up(self, unit: u64) -> Bytes {
        Bytes(self.0.div_ceil(unit).saturating_mul(unit))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, count: u64) -> Bytes {
        Bytes(self.0.saturating_mul(count))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

/// Exact multiples are shown exactly (`256 MiB`), others with three significant digits
/// (`1.43 GiB`).
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let bytes = self.0;
        let text = match STEPS.iter().find(|(size, _)| bytes >= *size) {
            None => format!("{bytes} B"),
            Some((size, name)) if bytes.is_multiple_of(*size) => format!("{} {name}", bytes / size),
            Some((size, name)) => {
                format!("{} {name}", significant(bytes as f64 / *size as f64, 3))
            }
        };
        f.pad(&text)
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Bytes, ParseQuantityError> {
        NOTATION.parse(text).map(Bytes)
    }
}

/// Serde for a quantity: written as a number of base units, read from that or from a text
/// with a suffix. One macro, so that no two quantities are read by different rules.
macro_rules! serde_quantity {
    ($name:ident, $expecting:literal) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<$name, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$name, E> {
                        Ok($name(value))
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$name, E> {
                        let unexpected = serde::de::Unexpected::Signed(value);
                        u64::try_from(value)
                            .map($name)
                            .map_err(|_| E::invalid_value(unexpected, &self))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                source.deserialize_any(Visitor)
            }
        }
    };
}
pub(crate) use serde_quantity;

serde_quantity!(Bytes, "a size: whole bytes, or a text such as \"256M\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_shows() {
        assert_eq!("256M".parse(), Ok(Bytes::from_mib(256)));
        assert_eq!("1.5GiB".parse(), Ok(Bytes::from_mib(1536)));
        assert_eq!("8192".parse(), Ok(Bytes(8192)));
        assert_eq!(Bytes::from_mib(256).to_string(), "256 MiB");
        assert_eq!(Bytes(1500).to_string(), "1.46 KiB");
        assert_eq!(Bytes(17).to_string(), "17 B");
        assert!("-4K".parse::<Bytes>().is_err());
        assert!("99999999999999T".parse::<Bytes>().is_err());
        assert_eq!("18446744073709551615".parse(), Ok(Bytes(u64::MAX)));
        assert!("18446744073709551616".parse::<Bytes>().is_err());
    }

    /// Every way to write a unit is the same power of 1024, in either case.
    #[test]
    fn each_suffix_is_a_power_of_1024() {
        for (power, letter) in ["", "k", "m", "g", "t"].into_iter().enumerate() {
            let bytes = Bytes(3 << (10 * power));
            let spellings: &[&str] = if letter.is_empty() { &["", "b"] } else { &["", "b", "ib"] };
            for rest in spellings {
                let text = format!("3{letter}{rest}");
                assert_eq!(text.parse(), Ok(bytes), "{text}");
                assert_eq!(text.to_uppercase().parse(), Ok(bytes), "{text} in capitals");
            }
        }
    }

    #[test]
    fn an_exact_multiple_has_no_decimals() {
        assert_eq!(Bytes(1 << 10).to_string(), "1 KiB");
        assert_eq!(Bytes(1 << 20).to_string(), "1 MiB");
        assert_eq!(Bytes(1 << 30).to_string(), "1 GiB");
        assert_eq!(Bytes(5 << 40).to_string(), "5 TiB");
        assert_eq!(Bytes((1 << 30) + (1 << 20)).to_string(), "1.00 GiB");
    }

    #[test]
    fn whole_units_are_powers_of_1024() {
        assert_eq!(Bytes::from_kib(3), Bytes(3_072));
        assert_eq!(Bytes::from_mib(3), Bytes(3_145_728));
        assert_eq!(Bytes::from_gib(3), Bytes(3_221_225_472));
        assert_eq!(Bytes::from_gib(u64::MAX), Bytes(u64::MAX));
    }

    #[test]
    fn sums_and_products_stop_at_the_largest_number() {
        assert_eq!(Bytes(40) + Bytes(2), Bytes(42));
        assert_eq!(Bytes(u64::MAX) + Bytes(2), Bytes(u64::MAX));
        let mut total = Bytes(40);
        total += Bytes(2);
        assert_eq!(total, Bytes(42));
        assert_eq!(Bytes(40) * 3, Bytes(120));
        assert_eq!(Bytes(u64::MAX) * 3, Bytes(u64::MAX));
        assert_eq!([Bytes(1), Bytes(2), Bytes(39)].into_iter().sum::<Bytes>(), Bytes(42));
        assert_eq!(Bytes(4_097).round_up(4_096), Bytes(8_192));
        assert_eq!(Bytes(4_096).round_up(4_096), Bytes(4_096));
    }

    #[test]
    fn json_is_a_plain_number_and_text_is_accepted() {
        assert_eq!(serde_json::to_string(&Bytes(4096)).unwrap(), "4096");
        assert_eq!(serde_json::from_str::<Bytes>("\"4K\"").unwrap(), Bytes(4096));
        assert!(serde_json::from_str::<Bytes>("-1").is_err());
    }

    proptest::proptest! {
        #[test]
        fn whole_units_survive_a_round_trip(mib in 0u64..4_000_000) {
            let size = Bytes::from_mib(mib);
            proptest::prop_assert_eq!(format!("{mib}M").parse(), Ok(size));
        }
    }
}
