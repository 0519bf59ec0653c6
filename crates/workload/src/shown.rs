//! Parameter values in readable form.

use crate::Kind;

/// A value as one would type it: `6s` where nanoseconds are stored, `16K` for bytes; for a whole
/// file, its first words and its length. Values that another version of fstrial stored in another
/// form are shown unchanged.
pub fn shown(workload: &str, parameter: &str, value: &str) -> String {
    let known = crate::find(workload).and_then(|workload| {
        workload.describe().parameters.iter().find(|known| known.name == parameter)
    });
    let number: Option<u64> = value.parse().ok();
    match known.map(|parameter| parameter.kind) {
        Some(Kind::Size(_)) => number.and_then(|number| whole(number, SIZES)),
        // A time has a unit, even if it is 0.
        Some(Kind::Time(_)) if value == "0" => Some("0s".to_owned()),
        Some(Kind::Time(_)) => number.and_then(|number| whole(number, TIMES)),
        _ => file(value),
    }
    .unwrap_or_else(|| value.to_owned())
}

const SIZES: &[(u64, &str)] = &[(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];

const TIMES: &[(u64, &str)] = &[
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
fn whole(number: u64, units: &[(u64, &str)]) -> Option<String> {
    let mut fitting = units.iter().filter(|_| number > 0);
    let (unit, suffix) = fitting.find(|(unit, _)| number.is_multiple_of(*unit))?;
    Some(format!("{}{suffix}", number / unit))
}

/// The first meaningful line of a file's text, shortened.
fn file(text: &str) -> Option<String> {
    const LENGTH: usize = 40;
    let (first, _) = text.split_once('\n')?;
    let first: String = first.trim_start_matches(['#', ' ']).chars().take(LENGTH).collect();
    Some(format!("“{}”, {} bytes", first.trim_end(), text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    #[test]
    fn values_are_shown_as_they_are_typed() {
        assert_eq!(shown("varmail", "time", "6000000000"), "6s");
        assert_eq!(shown("varmail", "time", "90000000000"), "90s");
        assert_eq!(shown("varmail", "time", "1"), "1ns");
        assert_eq!(shown("varmail", "mean_size", "16384"), "16K");
        assert_eq!(shown("varmail", "mean_size", "16385"), "16385");
        assert_eq!(shown("varmail", "mean_size", "0"), "0");
        assert_eq!(shown("varmail", "threads", "1024"), "1024");
        assert_eq!(shown("gone", "size", "1024"), "1024");
        let text = "# a mail spool\n[[phase]]\n";
        assert_eq!(shown("custom", "file", text), "“a mail spool”, 25 bytes");
    }

    /// Every default, shown and read again, is itself.
    #[test]
    fn what_is_shown_can_be_typed() {
        for workload in crate::catalogue() {
            let description = workload.describe();
            let Ok(defaults) = Parameters::resolve(description, &Default::default(), 1.0) else {
                continue;
            };
            let shown: std::collections::BTreeMap<String, String> = defaults
                .iter()
                .filter(|(_, value)| !value.contains('\n'))
                .map(|(name, value)| (name.to_owned(), shown(description.name, name, value)))
                .collect();
            let again = Parameters::resolve(description, &shown, 1.0);
            assert_eq!(again.unwrap(), defaults, "{}", description.name);
        }
    }
}
