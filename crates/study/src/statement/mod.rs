//! The language of claims.
//!
//! ```text
//! ROWS ":" ASSERTION                 the assertion holds in each of these rows
//!
//! ranking A, B, C                    best first, each better than the next
//! A best [among B, C]                better than every other column, or than these
//! A worst [among B, C]
//! A better than B [by at least N %]  A's figure is better than B's, by N % of B's or more
//! A worse than B [by at least N %]
//! A better beside B than in ROW      the ratio of A to B is better than their ratio in that row
//! A at least N times B               the figures themselves, whichever end is good
//! A at most N times B
//! A about N times B [within N %]     from N/(1 + w) to N·(1 + w); 25 % where not given
//! A about equal to B, C [within N %] from 1/(1 + w) to 1 + w; 10 % where not given
//! A saves N UNIT over B [within N %] B − A, from N·(1 − w) to N·(1 + w); 25 %
//! A at least N UNIT                  A's own figure, in the row's unit
//! A at most N UNIT
//! A varies more than B               spread of single runs relative to their mean
//! ```
//! A and B are columns; `NAME@ROW` takes the figure from another row.

mod parse;

use std::fmt;

use serde::{Serialize, Serializer};

pub use parse::StatementError;
pub(crate) use parse::is_name;

/// Default tolerance of `about N times`, in per cent.
pub(crate) const WITHIN_TIMES: f64 = 25.0;
/// Default tolerance of `about equal`, in per cent.
pub(crate) const WITHIN_EQUAL: f64 = 10.0;
/// Default tolerance of `saves`, in per cent.
pub(crate) const WITHIN_SAVES: f64 = 25.0;

/// A statement that can be tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The rows; the assertion must hold in each of them.
    pub rows: Vec<String>,
    /// The assertion.
    pub assertion: Assertion,
}

/// A column, of the statement's row or of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The contender.
    pub column: String,
    /// The row, where it is another one.
    pub row: Option<String>,
}

/// An assertion about some figures. Percentages are as written (20 for 20 %), `None` for the
/// default.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the module's table says it")]
pub enum Assertion {
    Ranking(Vec<Figure>),
    Best { figure: Figure, among: Vec<Figure> },
    Worst { figure: Figure, among: Vec<Figure> },
    Better { a: Figure, b: Figure, by: Option<f64> },
    Worse { a: Figure, b: Figure, by: Option<f64> },
    BetterBeside { a: Figure, b: Figure, there: [Figure; 2] },
    AtLeastTimes { a: Figure, times: f64, b: Figure },
    AtMostTimes { a: Figure, times: f64, b: Figure },
    AboutTimes { a: Figure, times: f64, b: Figure, within: Option<f64> },
    AboutEqual { a: Figure, others: Vec<Figure>, within: Option<f64> },
    Saves { a: Figure, amount: f64, unit: String, b: Figure, within: Option<f64> },
    AtLeast { a: Figure, amount: f64, unit: String },
    AtMost { a: Figure, amount: f64, unit: String },
    VariesMore { a: Figure, b: Figure },
}

impl Assertion {
    /// Every figure it refers to.
    pub fn figures(&self) -> Vec<&Figure> {
        match self {
            Assertion::Ranking(figures) => figures.iter().collect(),
            Assertion::Best { figure, among } | Assertion::Worst { figure, among } => {
                std::iter::once(figure).chain(among).collect()
            }
            Assertion::BetterBeside { a, b, there: [c, d] } => vec![a, b, c, d],
            Assertion::AboutEqual { a, others, .. } => std::iter::once(a).chain(others).collect(),
            Assertion::Better { a, b, .. }
            | Assertion::Worse { a, b, .. }
            | Assertion::AtLeastTimes { a, b, .. }
            | Assertion::AtMostTimes { a, b, .. }
            | Assertion::AboutTimes { a, b, .. }
            | Assertion::Saves { a, b, .. }
            | Assertion::VariesMore { a, b } => vec![a, b],
            Assertion::AtLeast { a, .. } | Assertion::AtMost { a, .. } => vec![a],
        }
    }

    /// Whether it needs the row to have a better end.
    pub fn ranks(&self) -> bool {
        matches!(
            self,
            Assertion::Ranking(_)
                | Assertion::Best { .. }
                | Assertion::Worst { .. }
                | Assertion::Better { .. }
                | Assertion::Worse { .. }
                | Assertion::BetterBeside { .. }
        )
    }

    /// The unit it names.
    pub fn unit(&self) -> Option<&str> {
        match self {
            Assertion::Saves { unit, .. }
            | Assertion::AtLeast { unit, .. }
            | Assertion::AtMost { unit, .. } => Some(unit),
            _ => None,
        }
    }
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column)?;
        self.row.as_ref().map_or(Ok(()), |row| write!(f, "@{row}"))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rows.join(", "), self.assertion)
    }
}

fn list(figures: &[Figure]) -> String {
    figures.iter().map(Figure::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let among = |among: &[Figure]| match among {
            [] => String::new(),
            among => format!(" among {}", list(among)),
        };
        let percent = |word: &str, value: Option<f64>| {
            value.map_or(String::new(), |value| format!(" {word} {value} %"))
        };
        let amount = |amount: f64, unit: &str| match unit {
            "" => amount.to_string(),
            unit => format!("{amount} {unit}"),
        };
        match self {
            Assertion::Ranking(figures) => write!(f, "ranking {}", list(figures)),
            Assertion::Best { figure, among: rest } => write!(f, "{figure} best{}", among(rest)),
            Assertion::Worst { figure, among: rest } => write!(f, "{figure} worst{}", among(rest)),
            Assertion::Better { a, b, by } => {
                write!(f, "{a} better than {b}{}", percent("by at least", *by))
            }
            Assertion::Worse { a, b, by } => {
                write!(f, "{a} worse than {b}{}", percent("by at least", *by))
            }
            Assertion::BetterBeside { a, b, there: [there, _] } => {
                let row = there.row.as_deref().unwrap_or_default();
                write!(f, "{a} better beside {b} than in {row}")
            }
            Assertion::AtLeastTimes { a, times, b } => write!(f, "{a} at least {times} times {b}"),
            Assertion::AtMostTimes { a, times, b } => write!(f, "{a} at most {times} times {b}"),
            Assertion::AboutTimes { a, times, b, within } => {
                write!(f, "{a} about {times} times {b}{}", percent("within", *within))
            }
            Assertion::AboutEqual { a, others, within } => {
                write!(f, "{a} about equal to {}{}", list(others), percent("within", *within))
            }
            Assertion::Saves { a, amount: value, unit, b, within } => {
                let value = amount(*value, unit);
                write!(f, "{a} saves {value} over {b}{}", percent("within", *within))
            }
            Assertion::AtLeast { a, amount: value, unit } => {
                write!(f, "{a} at least {}", amount(*value, unit))
            }
            Assertion::AtMost { a, amount: value, unit } => {
                write!(f, "{a} at most {}", amount(*value, unit))
            }
            Assertion::VariesMore { a, b } => write!(f, "{a} varies more than {b}"),
        }
    }
}
