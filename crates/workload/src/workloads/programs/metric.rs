//! A figure that a program prints: found by a pattern, read with the unit that stands behind it.

use regex_lite::{Match, Regex};
use serde::{Deserialize, Serialize};

use super::printed_unit::{Unit, known, token};

/// Matches that a note names at most.
const NAMED: usize = 8;

/// A figure that a program prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name: small letters, digits, underscores.
    pub name: String,
    /// A regular expression with a group named `value`.
    pub pattern: String,
    /// Its unit, for the reader; a figure that is printed in another unit of the kind is converted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which is better.
    #[serde(default)]
    pub better: Better,
    /// Which of several matches counts.
    #[serde(default, skip_serializing_if = "Take::is_first")]
    pub take: Take,
    /// The phase whose output has it; each of them where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The larger one, as of a rate.
    #[default]
    Higher,
    /// The smaller one, as of a time.
    Lower,
}

/// Which of several matches counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// The first one.
    #[default]
    First,
    /// The last one, as of a program that reports while it works.
    Last,
}

impl Take {
    fn is_first(&self) -> bool {
        *self == Take::First
    }
}

/// What was found in a program's output.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) value: f64,
    /// That other matches did not count, where they differ.
    pub(super) note: Option<String>,
}

impl Metric {
    /// What is wrong with it, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!(
                "metric `{}`: a name has small letters, digits and underscores",
                self.name
            ));
        }
        self.regex().map(drop)
    }

    fn regex(&self) -> Result<Regex, String> {
        let named = |problem: String| format!("metric `{}`: {problem}", self.name);
        let regex = Regex::new(&self.pattern).map_err(|error| named(error.to_string()))?;
        match regex.capture_names().any(|name| name == Some("value")) {
            true => Ok(regex),
            false => Err(named("its pattern has no group `(?<value>…)`".to_owned())),
        }
    }

    /// Whether this phase's output has it.
    pub(super) fn is_of(&self, phase: &str) -> bool {
        self.phase.as_deref().is_none_or(|own| own == phase)
    }

    /// Its value in a program's output; `None` where nothing matches.
    ///
    /// # Errors
    /// Why what matches is no value.
    pub(super) fn find(&self, said: &str) -> Result<Option<Found>, String> {
        let regex = self.regex()?;
        let matches: Vec<Match<'_>> =
            regex.captures_iter(said).filter_map(|found| found.name("value")).collect();
        let counts = match self.take {
            Take::First => matches.first(),
            Take::Last => matches.last(),
        };
        let Some(counts) = counts else { return Ok(None) };
        let value = read(said, *counts, &self.unit)
            .map_err(|problem| format!("{} is missing: {problem}", self.name))?;
        let note = matches.iter().any(|other| other.as_str() != counts.as_str()).then(|| {
            let word = if self.take == Take::First { "first" } else { "last" };
            let shown: Vec<&str> = matches.iter().take(NAMED).map(|it| it.as_str()).collect();
            let more = if matches.len() > NAMED { ", …" } else { "" };
            format!(
                "{}: its pattern matches {} times ({}{more}); the {word} counts",
                self.name,
                matches.len(),
                shown.join(", ")
            )
        });
        Ok(Some(Found { value, note }))
    }

    /// Why it is missing where nothing matches.
    pub(super) fn unprinted(&self) -> String {
        format!("{} is missing: nothing it printed matches `{}`", self.name, self.pattern)
    }
}

/// The number of a match, in this unit. What stands directly before and behind it belongs to it.
fn read(said: &str, found: Match<'_>, unit: &str) -> Result<f64, String> {
    let text = found.as_str().trim();
    let length = number_length(text);
    let inside = &text[length..];
    let behind = if inside.is_empty() { &said[found.end()..] } else { inside };
    let spaced = behind.strip_prefix([' ', '\t']);
    let printed = token(spaced.unwrap_or(behind));
    let shown = || {
        let gap = if spaced.is_some() { " " } else { "" };
        format!("`{}{gap}{printed}`", &text[..length])
    };
    let refused = |why: &str| Err(format!("{} {why}", shown()));
    let Ok(number) = text[..length].replace([',', '_'], "").parse::<f64>() else {
        return Err(format!("`{text}` is no number"));
    };
    if is_part(&said[..found.start()], &text[..length]) {
        return refused("is only a part of a number; the pattern has to take all of it");
    }
    let rest = &behind[printed.len()..];
    if spaced.is_none() && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',') {
        let digit = rest.trim_start_matches(['.', ',']).starts_with(|c: char| c.is_ascii_digit());
        if digit {
            return refused("goes on behind what the pattern takes: it is not a plain number");
        }
    }
    let wanted = Unit::of(unit);
    let factor = match spaced {
        None => wanted.factor(printed),
        // A word that is no unit is the next word.
        Some(_) if !known(printed) || wanted.is_own() && printed != unit => Some(1.0),
        Some(_) => wanted.factor(printed),
    };
    let Some(factor) = factor else {
        let unit = if unit.is_empty() { "a plain number" } else { unit };
        return refused(&format!("is not in {unit}; name its unit: unit = \"{printed}\""));
    };
    let value = number * factor;
    if value.is_finite() { Ok(value) } else { refused("is too large") }
}

/// The bytes at the beginning that are a number, with thousands separated or not.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(text.starts_with(['+', '-']));
    let whole = digits(at);
    at += whole;
    if (1..=3).contains(&whole) {
        while at < bytes.len() && matches!(bytes[at], b',' | b'_') && digits(at + 1) == 3 {
            at += 4;
        }
    }
    if bytes.get(at) == Some(&b'.') && (digits(at + 1) > 0 || whole > 0) {
        at += 1 + digits(at + 1);
    }
    let exponent = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-'))) + 1;
    if matches!(bytes.get(at), Some(b'e' | b'E'))
        && bytes.len() > at + exponent
        && digits(at + exponent) > 0
    {
        at += exponent + digits(at + exponent);
    }
    at
}

/// Whether what stands before a match belongs to its number: further digits, or a sign.
fn is_part(before: &str, number: &str) -> bool {
    let mut last = before.chars().rev();
    match (last.next(), last.next()) {
        (Some(digit), _) if digit.is_ascii_digit() => true,
        (Some('.' | ','), Some(digit)) => digit.is_ascii_digit(),
        (Some('-'), previous) => {
            !number.starts_with(['+', '-']) && previous.is_none_or(|it| " =:\t\n(".contains(it))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(pattern: &str, unit: &str) -> Metric {
        Metric {
            name: "rate".to_owned(),
            pattern: pattern.to_owned(),
            unit: unit.to_owned(),
            better: Better::Higher,
            take: Take::First,
            phase: None,
        }
    }

    fn value(pattern: &str, unit: &str, said: &str) -> Result<f64, String> {
        Ok(metric(pattern, unit).find(said)?.expect("it matches").value)
    }

    #[test]
    fn what_stands_behind_a_number_belongs_to_it() {
        for (said, unit, expected) in [
            ("x=10.3k", "", 10_300.0),
            ("x=10.3k,", "IOPS", 10_300.0),
            ("x=1,234 ", "", 1234.0),
            ("x=1,234,567.5", "", 1_234_567.5),
            ("x=5M", "", 5e6),
            ("x=12.5MB/s", "MB/s", 12.5),
            ("x=12.5 MB/s", "MB/s", 12.5),
            ("x=1.5 GB/s", "MB/s", 1500.0),
            ("x=2GiB/s", "MiB/s", 2048.0),
            ("x=2 GiB/s", "", 2_147_483_648.0),
            ("x=12ms", "ms", 12.0),
            ("x=1.5 s", "ms", 1500.0),
            ("x=40usec", "us", 40.0),
            ("x=7 in all", "MB/s", 7.0),
            ("x=7 s", "tps", 7.0),
            ("x=7tps", "tps", 7.0),
            ("x=3e2;", "", 300.0),
            ("x=99.5%", "%", 99.5),
            ("x=-4", "", -4.0),
        ] {
            let found = value("x=(?<value>-?[0-9.,e]*[0-9])", unit, said);
            let found = found.unwrap_or_else(|problem| panic!("{said}: {problem}"));
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{said} in {unit}: {found}");
        }
    }

    #[test]
    fn what_is_no_plain_number_is_refused_and_never_cut_off() {
        for (pattern, said, unit) in [
            ("x=(?<value>[0-9]+)", "x=10.3k", ""),
            ("x=(?<value>[0-9.]+)", "x=10.3q", ""),
            ("x=(?<value>[0-9.]+)", "x=12ms", "MB/s"),
            ("x=(?<value>[0-9.]+)", "x=12 ms", "MB/s"),
            ("x=(?<value>[0-9.]+)", "x=12 MB", "MB/s"),
            ("x=(?<value>[0-9.]+)", "x=1,5", ""),
            ("(?<value>[0-9]k)", "x=10k", ""),
            ("(?<value>[0-9]+)", "x=-5", ""),
            ("x=(?<value>\\S+)", "x=fast", ""),
        ] {
            let found = value(pattern, unit, said);
            assert!(found.is_err(), "{said} in {unit}: {found:?}");
        }
    }

    #[test]
    fn the_first_match_counts_and_the_others_are_named() {
        let said = "read: iops=10.3k\nwrite: iops=5\ntrim: iops=0\n";
        let first = metric("iops=(?<value>\\S+)", "").find(said).unwrap().unwrap();
        assert_eq!(first.value, 10_300.0);
        let note = first.note.unwrap();
        assert!(note.contains("3 times (10.3k, 5, 0); the first counts"), "{note}");
        let last = Metric { take: Take::Last, ..metric("iops=(?<value>\\S+)", "") };
        assert_eq!(last.find(said).unwrap().unwrap().value, 0.0);
        let twice = metric("v (?<value>\\S+)", "").find("v 1\nv 1\n").unwrap().unwrap();
        assert_eq!(twice.note, None);
        assert_eq!(metric("none (?<value>.)", "").find(said), Ok(None));
    }
}
