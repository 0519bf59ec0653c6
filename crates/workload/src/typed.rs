//! Parameters as constants that know the type of their value, so that a misspelt name or a
//! value of another kind does not compile.

use std::marker::PhantomData;

use units::{Bytes, Nanos};

use crate::{Kind, Limits, Parameter};

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
/// One of several words, each a variant of `C`.
pub(crate) type ChoiceParameter<C> = Typed<C>;
/// Several of some words.
pub(crate) type WordsParameter = Typed<Words<'static>>;
/// The text of a file.
pub(crate) type DocumentParameter = Typed<Document>;
/// Free text.
pub(crate) type TextParameter = Typed<Text>;

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

read_as_text!(Document, Text);

/// The words of a parameter as variants, so that each `match` on it names every word.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    /// The words, each with its meaning.
    const WORDS: Meanings;
    /// In the order of the words.
    const VARIANTS: &'static [Self];

    /// Its place among the words.
    fn place(self) -> usize {
        Self::VARIANTS.iter().position(|variant| *variant == self).unwrap_or_default()
    }

    /// Its word.
    fn word(self) -> &'static str {
        Self::WORDS[self.place()].0
    }
}

/// Declares a [`Choice`] with its words and their meanings.
macro_rules! choice {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident { $($variant:ident = $word:literal: $meaning:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name {
            $(#[doc = $meaning] $variant,)+
        }

        impl $crate::typed::Choice for $name {
            const WORDS: $crate::typed::Meanings = &[$(($word, $meaning)),+];
            const VARIANTS: &'static [$name] = &[$($name::$variant),+];
        }

        impl $crate::typed::Value for $name {
            type Read<'p> = $name;

            fn read(text: &str) -> Option<$name> {
                use $crate::typed::Choice;
                let place = $name::WORDS.iter().position(|(word, _)| *word == text)?;
                Some($name::VARIANTS[place])
            }
        }
    };
}
pub(crate) use choice;

impl<V> Typed<V> {
    const fn made(
        name: &'static str,
        help: &'static str,
        kind: Kind,
        default: &'static str,
    ) -> Self {
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
pub(crate) type Meanings = &'static [(&'static str, &'static str)];

impl CountParameter {
    /// A number from `min` to `max`, both included.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        min: u64,
        max: u64,
        default: &'static str,
    ) -> Self {
        Typed::made(name, help, Kind::Count { min, max }, default)
    }
}

impl SizeParameter {
    /// A size from `min` to `max`, both included, such as `4K`.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        min: Bytes,
        max: Bytes,
        default: &'static str,
    ) -> Self {
        let limits = Limits { min: min.0, max: max.0, step: 1, zero: false };
        Typed::made(name, help, Kind::Size(limits), default)
    }
}

impl TimeParameter {
    /// A time from `min` to `max`, both included, such as `60s`.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        min: Nanos,
        max: Nanos,
        default: &'static str,
    ) -> Self {
        let limits = Limits { min: min.0, max: max.0, step: 1, zero: false };
        Typed::made(name, help, Kind::Time(limits), default)
    }
}

impl<V> Typed<V> {
    /// The same size or time, which may also be 0.
    pub(crate) const fn or_zero(self) -> Self {
        self.limited(1, true)
    }

    /// The same size or time, which is a multiple of `step`.
    pub(crate) const fn in_steps_of(self, step: u64) -> Self {
        self.limited(step, false)
    }

    const fn limited(self, step: u64, zero: bool) -> Self {
        let Parameter { name, help, kind, default, scales } = self.row;
        let kind = match kind {
            Kind::Size(limits) => Kind::Size(Limits { step, zero, ..limits }),
            Kind::Time(limits) => Kind::Time(Limits { step, zero, ..limits }),
            other => other,
        };
        Typed { row: Parameter { name, help, kind, default, scales }, value: PhantomData }
    }
}

/// The largest size that a parameter takes: sums of thousands of them are still numbers.
pub(crate) const FILE_MAX: Bytes = Bytes::from_gib(64 << 10);
/// The longest time that a parameter takes.
pub(crate) const TIME_MAX: Nanos = Nanos::from_secs(30 * 24 * 3600);
/// The most ops or rounds that a parameter takes.
pub(crate) const OPS_MAX: u64 = 1_000_000_000_000;
/// The most memory that the buffers of a workload's threads take together.
const BUFFERS_MAX: Bytes = Bytes::from_gib(1);

/// Refuses buffers that do not fit into memory.
pub(crate) fn buffers(count: u64, each: Bytes) -> Result<(), String> {
    let all = each * count;
    match all > BUFFERS_MAX {
        true => Err(format!(
            "{count} buffers of {each} take {all} of memory, and {BUFFERS_MAX} is the most; \
             choose fewer threads or smaller I/Os"
        )),
        false => Ok(()),
    }
}

impl FractionParameter {
    /// A number from 0 to 1.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::made(name, help, Kind::Fraction, default)
    }
}

impl SwitchParameter {
    /// `on` or `off`.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::made(name, help, Kind::Switch, default)
    }
}

impl<C: Choice> ChoiceParameter<C> {
    /// One of the words of `C`.
    pub(crate) const fn of(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::made(name, help, Kind::Choice(C::WORDS), default)
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
        Typed::made(name, help, Kind::Words(words), default)
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
        Typed::made(name, help, Kind::Document(shipped), default)
    }
}

impl TextParameter {
    /// Free text.
    pub(crate) const fn new(name: &'static str, help: &'static str, default: &'static str) -> Self {
        Typed::made(name, help, Kind::Text, default)
    }
}
