//! Numbers as text.

use units::significant;

/// `1 trial`, `3 trials`.
#[must_use]
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(count as f64)) }
}

/// Three significant digits, whole numbers in full, thousands apart; an exponent only where
/// nobody could count the digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-6..1e15).contains(&size) {
        format!("{value:.2e}")
    } else if size >= 999.5 || value.fract() == 0.0 {
        grouped(value)
    } else {
        significant(value, 3)
    }
}

/// A whole number with its thousands apart.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size() {
        assert_eq!(number(999.9), "1,000");
        assert_eq!(number(999.4), "999");
        assert_eq!(number(1e300), "1.00e300");
        assert_eq!(number(1e-12), "1.00e-12");
        assert_eq!(number(-1234567.0), "−1,234,567");
        assert_eq!(counted(1, "trial"), "1 trial");
        assert_eq!(counted(1234, "trial"), "1,234 trials");
    }
}
