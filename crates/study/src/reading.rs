//! Reads TOML with line numbers: every value knows its line, and a problem is noted without ending
//! the reading, so that all problems of a file are reported at once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Problem, suggest};

/// The largest scale, and the largest share of the published size.
pub(crate) const SHARE_MAX: f64 = 1_000_000.0;

/// A value and its position in the file.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) at: Range<usize>,
}

/// One file being read.
pub(crate) struct Reading<'t> {
    file: String,
    text: &'t str,
    problems: RefCell<Vec<Problem>>,
}

impl<'t> Reading<'t> {
    pub(crate) fn new(file: String, text: &'t str) -> Reading<'t> {
        Reading { file, text, problems: RefCell::default() }
    }

    /// The file's tables, and its syntax errors noted.
    pub(crate) fn parse(&self) -> Spanned<DeTable<'t>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.note(error.span().unwrap_or(0..0), format!("not TOML: {}", error.message()));
        }
        table
    }

    pub(crate) fn note(&self, at: Range<usize>, message: impl Into<String>) {
        self.note_with(at, message, None);
    }

    pub(crate) fn note_with(
        &self,
        at: Range<usize>,
        message: impl Into<String>,
        suggestion: Option<String>,
    ) {
        let start = at.start.min(self.text.len());
        let before = self.text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        self.problems.borrow_mut().push(Problem {
            file: self.file.clone(),
            line: before + 1,
            message: message.into(),
            suggestion,
        });
    }

    /// The problems noted, in the order of the file.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.line);
        problems
    }
}

/// A table whose keys are known.
pub(crate) struct Keys<'r, 't> {
    pub(crate) reading: &'r Reading<'t>,
    /// What it is: `[[part]]`.
    what: &'static str,
    pub(crate) at: Range<usize>,
    table: &'r DeTable<'t>,
}

impl<'r, 't> Keys<'r, 't> {
    /// Notes every key that is not among `known`.
    pub(crate) fn new(
        reading: &'r Reading<'t>,
        what: &'static str,
        at: Range<usize>,
        table: &'r DeTable<'t>,
        known: &[&str],
    ) -> Keys<'r, 't> {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let message = format!("{what} has no key `{name}`");
                let suggestion = suggest(name, known.iter().copied());
                reading.note_with(key.span(), message, suggestion);
            }
        }
        Keys { reading, what, at, table }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'r Spanned<DeValue<'t>>> {
        self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
    }

    /// The value of a key that must be there.
    fn needed(&self, key: &str) -> Option<&'r Spanned<DeValue<'t>>> {
        let found = self.get(key);
        if found.is_none() {
            self.reading.note(self.at.clone(), format!("{} needs `{key}`", self.what));
        }
        found
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let is = value.get_ref().type_str();
        self.reading.note(value.span(), format!("`{key}` is {wanted}, not a TOML {is}"));
    }

    fn as_text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Located<String>> {
        match value.get_ref().as_str() {
            Some(text) => Some(Located { value: text.to_owned(), at: value.span() }),
            None => {
                self.wrong_type(key, value, "a text");
                None
            }
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<Located<String>> {
        self.needed(key).and_then(|value| self.as_text(key, value))
    }

    /// A text that must be there, without its position.
    pub(crate) fn plain(&self, key: &str) -> String {
        self.text(key).map_or(String::new(), |text| text.value.trim().to_owned())
    }

    pub(crate) fn optional(&self, key: &str) -> Option<Located<String>> {
        self.get(key).and_then(|value| self.as_text(key, value))
    }

    pub(crate) fn switch(&self, key: &str) -> bool {
        let Some(value) = self.get(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong_type(key, value, "true or false");
            false
        })
    }

    pub(crate) fn number(&self, key: &str) -> Option<Located<f64>> {
        let value = self.get(key)?;
        let Some(number) = number(value.get_ref()) else {
            self.wrong_type(key, value, "a number");
            return None;
        };
        Some(Located { value: number, at: value.span() })
    }

    /// A number above 0, of no more than [`SHARE_MAX`].
    pub(crate) fn positive(&self, key: &str) -> Option<f64> {
        let number = self.number(key)?;
        if number.value > 0.0 && number.value <= SHARE_MAX {
            return Some(number.value);
        }
        self.reading.note(number.at, format!("`{key}` is a number above 0, at most {SHARE_MAX}"));
        None
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn count(&self, key: &str, most: u32) -> Option<u32> {
        let number = self.number(key)?;
        if number.value.fract() == 0.0 && number.value >= 1.0 && number.value <= f64::from(most) {
            return Some(number.value as u32);
        }
        self.reading.note(number.at, format!("`{key}` is a whole number from 1 to {most}"));
        None
    }

    /// The elements of an array; none if it is left out.
    pub(crate) fn list(&self, key: &str) -> &'r [Spanned<DeValue<'t>>] {
        let Some(value) = self.get(key) else { return &[] };
        match value.get_ref().as_array() {
            Some(array) => array,
            None => {
                self.wrong_type(key, value, "a list");
                &[]
            }
        }
    }

    /// The texts of an array.
    pub(crate) fn texts(&self, key: &str) -> Vec<Located<String>> {
        self.list(key).iter().filter_map(|value| self.as_text(key, value)).collect()
    }

    /// A text, or a list of them.
    pub(crate) fn one_or_more(&self, key: &str) -> Vec<Located<String>> {
        match self.get(key).map(Spanned::get_ref) {
            Some(DeValue::Array(_)) => self.texts(key),
            Some(_) => self.optional(key).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Tables in an array.
    pub(crate) fn tables(
        &self,
        key: &str,
        what: &'static str,
        known: &[&str],
    ) -> Vec<Keys<'r, 't>> {
        self.list(key)
            .iter()
            .filter_map(|value| match value.get_ref().as_table() {
                Some(table) => Some(Keys::new(self.reading, what, value.span(), table, known)),
                None => {
                    self.wrong_type(key, value, "a list of tables");
                    None
                }
            })
            .collect()
    }

    /// A table.
    pub(crate) fn table(
        &self,
        key: &str,
        what: &'static str,
        known: &[&str],
    ) -> Option<Keys<'r, 't>> {
        let value = self.get(key)?;
        match value.get_ref().as_table() {
            Some(table) => Some(Keys::new(self.reading, what, value.span(), table, known)),
            None => {
                self.wrong_type(key, value, "a table");
                None
            }
        }
    }

    /// Notes a problem if the name was already used.
    pub(crate) fn unique(&self, seen: &mut Names, name: &Located<String>, kind: &str) {
        if !seen.known.insert(name.value.clone()) {
            let message = format!("there is another {kind} `{}`", name.value);
            self.reading.note_with(name.at.clone(), message, Some("rename one".to_owned()));
        }
        seen.written.push(name.value.clone());
    }
}

/// Names of one kind.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: HashSet<String>,
    /// In their order.
    pub(crate) written: Vec<String>,
}

/// An integer or a float.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|value| value as f64)
        }
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

/// Every value of a table, by its keys joined with dots.
pub(crate) fn dotted(prefix: &str, table: &DeTable<'_>, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let key = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(below) => dotted(&format!("{key}."), below, found),
            DeValue::String(text) => {
                found.insert(key, text.to_string());
            }
            DeValue::Boolean(truth) => {
                found.insert(key, truth.to_string());
            }
            other => {
                let number = number(other).map_or(String::new(), |number| number.to_string());
                found.insert(key, number);
            }
        }
    }
}
