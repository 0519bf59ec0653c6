//! Parameters as constants that know the type of their value, so that a misspelt name or a
//! value of another kind does not compile.

use std::marker::PhantomData;

use units::{Bytes, Nanos};

use crate::{Kind, Parameter};

/// A parameter whose value is read as `V`: `parameters.get(&SIZE)`.
#[derive(Debug)]
pub(crate) struct Typed<V> {
    /// What the workload's description lists.
    pub(crate) row: Parameter,
    value: PhantomData<V>,
}

/// A whole number.
pub(crate) type CountParameter = Typed<u64>;
/// A number of bytes.
pub(crate) type SizeParameter = Typed<Bytes>;
/// A length of time.
pub(crate) type TimeParameter = Typed<Nanos>;
/// A number from 0 to 1.
pub(crate) type FractionParameter = Typed<f64>;
/// On or off.
pub(crate) type SwitchParameter = Typed<bool>;
/// One of several words.
pub(crate) type ChoiceParameter = Typed<Word>;
/// Several of some words.
pub(crate) type WordsParameter = Typed<Words<'static>>;
/// The text of a file.
pub(crate) type DocumentParameter = Typed<Document>;
/// Free text.
pub(crate) type TextParameter = Typed<Text>;

/// Marks a parameter whose value is one of several words.
#[derive(Debug)]
pub(crate) enum Word {}
/// Marks a parameter whose value is a file's text.
#[derive(Debug)]
pub(crate) enum Document {}
/// Marks a parameter whose value is free text.
#[derive(Debug)]
pub(crate) enum Text {}

/// The words chosen of a `WordsParameter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words<'p>(&'p str);

impl Words<'_> {
    /// Whether the word `all` selects every word.
    pub(crate) fn are_all(self) -> bool {
        self.0 == "all"
    }

    /// Whether this word is among them.
    pub(crate) fn have(self, word: &str) -> bool {
        self.are_all() || self.0.split('+').any(|given| given == word)
    }
}

/// A type that a parameter's value is read as.
pub(crate) trait Value {
    /// What a reader gets; it may borrow from the parameters.
    type Read<'p>;

    /// The value of a text in the notation of [`crate::Parameters`]; `None` where it is of
    /// another kind.
    fn read(text: &str) -> Option<Self::Read<'_>>;
}

impl Value for u64 {
    type Read<'p> = u64;

    fn read(text: &str) -> Option<u64> {
        text.parse().ok()
    }
}

impl Value for Bytes {
    type Read<'p> = Bytes;

    fn read(text: &str) -> Option<Bytes> {
        text.parse().ok().map(Bytes)
    }
}

impl Value for Nanos {
    type Read<'p> = Nanos;

    fn read(text: &str) -> Option<Nanos> {
        text.parse().ok().map(Nanos)
    }
}

impl Value for f64 {
    type Read<'p> = f64;

    fn read(text: &str) -> Option<f64> {
        text.parse().ok()
    }
}

impl Value for bool {
    type Read<'p> = bool;

    fn read(text: &str) -> Option<bool> {
        Some(text == "on")
    }
}

impl Value for Words<'static> {
    type Read<'p> = Words<'p>;

    fn read(text: &str) -> Option<Words<'_>> {
        Some(Words(text))
    }
}

/// Kinds whose value is the text itself.
macro_rules! read_as_text {
    ($($kind:ty),+) => {$(
        impl Value for $kind {
            type Read<'p> = &'p str;

            fn read(text: &str) -> Option<&str> {
                Some(text)
            }
        }
    )+};
}

read_as_text!(Word, Document, Text);

impl<V> Typed<V> {
    const fn of(name: &'static str, help: &'static str, kind: Kind, default: &'static str) -> Self {
        let row = Parameter { name, help, kind, default, scales: false };
        Typed { row, value: PhantomData }
    }

    /// The same parameter, multiplied by `--scale`.
    pub(crate) const fn scaled(self) -> Self {
        let Parameter { name, help, kind, default, .. } = self.row;
        let row = Parameter { name, help, kind, default, scales: true };
        Typed { row, value: PhantomData }
    }

    /// The same parameter with another default, for another workload.
    pub(crate) const fn with_default(self, default: &'static str) -> Self {
        let Parameter { name, help, kind, scales, .. } = self.row;
        Typed { row: Parameter { name, help, kind, default, scales }, value: PhantomData }
    }

    /// The same parameter with another help text, for another workload.
    pub(crate) const fn with_help(self, help: &'static str) -> Self {
        let Parameter { name, kind, default, scales, .. } = self.row;
        Typed { row: Parameter { name, help, kind, default, scales }, value: PhantomData }
    }
}

/// One word or some words, each with its meaning.
type Meanings = &'static [(&'static str, &'static str)];

impl CountParameter {
    /// A number from `min` to `max`, both included.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        min: u64,
        max: u64,
        default: &'static str,
    ) -> Self {
        Typed::of(name, help, Kind::Count { min, max }, default)
    }
}

impl SizeParameter {
    /// A size, such as `4K`.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::of(name, help, Kind::Size, default)
    }
}

impl TimeParameter {
    /// A time, such as `60s`.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::of(name, help, Kind::Time, default)
    }
}

impl FractionParameter {
    /// A number from 0 to 1.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::of(name, help, Kind::Fraction, default)
    }
}

impl SwitchParameter {
    /// `on` or `off`.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::of(name, help, Kind::Switch, default)
    }
}

impl ChoiceParameter {
    /// One of `words`.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        words: Meanings,
        default: &'static str,
    ) -> Self {
        Typed::of(name, help, Kind::Choice(words), default)
    }
}

impl WordsParameter {
    /// Some of `words`.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        words: Meanings,
        default: &'static str,
    ) -> Self {
        Typed::of(name, help, Kind::Words(words), default)
    }
}

impl DocumentParameter {
    /// The text of a file, or one of the `shipped`.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        shipped: Meanings,
        default: &'static str,
    ) -> Self {
        Typed::of(name, help, Kind::Document(shipped), default)
    }
}

impl TextParameter {
    /// Free text.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::of(name, help, Kind::Text, default)
    }
}
