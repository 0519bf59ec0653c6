//! What the quantities share: splitting `12.5ms` into number and suffix, and printing a
//! number with a fixed count of significant digits.

/// Why a text is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}: {problem} (examples: {examples})")]
pub struct ParseQuantityError {
    /// The text as it was given.
    pub text: String,
    /// What was expected, with its article: `a size`.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
    /// Texts that would have been accepted.
    pub examples: &'static str,
}

/// How one quantity is written: its name, examples for errors, and suffixes with factors.
pub(crate) struct Notation {
    pub(crate) what: &'static str,
    pub(crate) examples: &'static str,
    /// Suffix in lower case and its factor in base units. The empty suffix is the base unit.
    pub(crate) suffixes: &'static [(&'static str, f64)],
}

impl Notation {
    /// Reads `text` as a whole number of base units.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseQuantityError> {
        let fail = |problem| ParseQuantityError {
            text: text.to_owned(),
            what: self.what,
            problem,
            examples: self.examples,
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (digits, suffix) = trimmed.split_at(split);
        let digits = digits.replace('_', "");
        let suffix = suffix.trim().to_ascii_lowercase();
        let factor = self
            .suffixes
            .iter()
            .find(|(name, _)| *name == suffix)
            .map(|(_, factor)| *factor)
            .ok_or_else(|| match suffix.is_empty() {
                true => fail("it has no unit"),
                false => fail("its unit is not known"),
            })?;
        // Whole numbers take the integer path, so that large values keep every digit.
        if let Ok(whole) = digits.parse::<u64>()
            && factor >= 1.0
        {
            return whole.checked_mul(factor as u64).ok_or_else(|| fail("it is too large"));
        }
        let number: f64 = digits.parse().map_err(|_| fail("it does not start with a number"))?;
        let value = number * factor;
        // As a float the largest number is 2^64, which is one too many.
        if value >= u64::MAX as f64 {
            return Err(fail("it is too large"));
        }
        Ok(value.round() as u64)
    }
}

/// Prints `value` with `digits` significant digits and no exponent: `significant(0.01234, 3)`
/// is `0.0123`, `significant(1234.5, 3)` is `1234` (digits before the point are never dropped).
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i64;
    let decimals = (digits as i64 - 1 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    // Rounding up to the next power of ten (9.996 → 10.00) leaves one digit too many.
    let shown = text.chars().filter(char::is_ascii_digit).collect::<String>();
    if decimals > 0 && shown.trim_start_matches('0').len() > digits {
        let decimals = decimals - 1;
        return format!("{value:.decimals$}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn keeps_the_asked_digits() {
        assert_eq!(significant(1.4567, 3), "1.46");
        assert_eq!(significant(0.01234, 3), "0.0123");
        assert_eq!(significant(-0.01234, 3), "-0.0123");
        assert_eq!(significant(0.0, 3), "0");
        assert_eq!(significant(f64::INFINITY, 3), "inf");
    }

    #[test]
    fn never_drops_a_digit_before_the_point() {
        assert_eq!(significant(1_235.5, 3), "1236");
        assert_eq!(significant(123.4, 3), "123");
    }

    #[test]
    fn rounding_up_to_a_power_of_ten_adds_no_digit() {
        assert_eq!(significant(9.996, 3), "10.0");
        assert_eq!(significant(99.96, 3), "100");
        assert_eq!(significant(0.09996, 3), "0.100");
    }
}
