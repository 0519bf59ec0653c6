//! Sizes and times in the units that one would type.

use crate::Kind;

pub(crate) const SIZES: &[(u64, &str)] =
    &[(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];

pub(crate) const TIMES: &[(u64, &str)] = &[
    (3_600_000_000_000, "h"),
    (60_000_000_000, "min"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1000, "us"),
    (1, "ns"),
];

/// Which values a size or a time may have, as one would type them.
pub fn range(kind: Kind) -> Option<String> {
    let (of, units, limits) = match kind {
        Kind::Size(limits) => ("a size", SIZES, limits),
        Kind::Time(limits) => ("a time", TIMES, limits),
        _ => return None,
    };
    let shown = |number: u64| match whole(number, units) {
        Some(text) => text,
        None if matches!(kind, Kind::Time(_)) => "0s".to_owned(),
        None => number.to_string(),
    };
    let mut text = format!("{of} from {} to {}", shown(limits.min), shown(limits.max));
    if limits.step > 1 {
        text.push_str(&format!(", a multiple of {}", shown(limits.step)));
    }
    if limits.zero {
        text.push_str(", or 0");
    }
    Some(text)
}

/// A number in the largest unit of which it is a multiple; `None` for 0.
pub(crate) fn whole(number: u64, units: &[(u64, &str)]) -> Option<String> {
    let mut fitting = units.iter().filter(|_| number > 0);
    let (unit, suffix) = fitting.find(|(unit, _)| number.is_multiple_of(*unit))?;
    Some(format!("{}{suffix}", number / unit))
}
