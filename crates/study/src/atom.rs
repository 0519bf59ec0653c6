//! Splits statements into questions, each of which one number answers.

use crate::statement::{Assertion, Figure, Statement, WITHIN_EQUAL, WITHIN_SAVES, WITHIN_TIMES};
use crate::verdict::{Answer, Verdict};
use crate::{Direction, Published, Row, RowUnit, Study};
use stats::Region;

/// A cell of the study's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellName {
    pub(crate) row: String,
    pub(crate) column: String,
}

/// Which number a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// ln(a / b)
    Ratio(CellName, CellName),
    /// ln((a / b) / (c / d))
    Beside([CellName; 4]),
    /// a − b, in the unit of the row
    Difference(CellName, CellName),
    /// ln(a)
    Value(CellName),
    /// ln(spread of a / spread of b)
    Spread(CellName, CellName),
}

impl Question {
    /// The cells whose figures it needs.
    pub(crate) fn cells(&self) -> Vec<&CellName> {
        match self {
            Question::Ratio(a, b) | Question::Difference(a, b) | Question::Spread(a, b) => {
                vec![a, b]
            }
            Question::Beside(cells) => cells.iter().collect(),
            Question::Value(a) => vec![a],
        }
    }

    /// Whether the number changes with the scale even if nothing else does.
    pub(crate) fn is_absolute(&self) -> bool {
        matches!(self, Question::Difference(..) | Question::Value(_))
    }
}

/// A question and the range of answers for which the statement holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atom {
    pub(crate) question: Question,
    /// What is asked, in words: `ext2 ÷ xfs in the write script`.
    asked: String,
    pub(crate) region: Region,
    /// Whether an answer exactly at an end of the region counts as inside.
    pub(crate) closed: bool,
    pub(crate) unit: RowUnit,
    /// Whether it belongs to the same question as the atom before it: being the best is one
    /// question, however many others there are.
    pub(crate) goes_on: bool,
}

/// Everything that must be true for the statement to hold.
pub(crate) fn atoms(study: &Study, statement: &Statement) -> Vec<Atom> {
    statement.rows.iter().flat_map(|row| of_row(study, row, &statement.assertion)).collect()
}

fn of_row(study: &Study, own: &str, assertion: &Assertion) -> Vec<Atom> {
    let Some((table, row)) = study.row(own) else { return Vec::new() };
    AskedRow { study, own, table, row }.atoms(assertion)
}

/// A row of which a statement says something.
#[derive(Clone, Copy)]
struct AskedRow<'s> {
    study: &'s Study,
    /// Its id, for figures that name no other row.
    own: &'s str,
    table: &'s Published,
    row: &'s Row,
}

impl AskedRow<'_> {
    fn atoms(self, assertion: &Assertion) -> Vec<Atom> {
        match assertion {
            Assertion::Ranking(figures) => {
                figures.windows(2).map(|pair| self.better(&pair[0], &pair[1], None)).collect()
            }
            Assertion::Best { figure, among } => {
                let others = self.others(figure, among);
                as_one(others.iter().map(|other| self.better(figure, other, None)).collect())
            }
            Assertion::Worst { figure, among } => {
                let others = self.others(figure, among);
                as_one(others.iter().map(|other| self.worse(figure, other, None)).collect())
            }
            Assertion::Better { a, b, by } => vec![self.better(a, b, *by)],
            Assertion::Worse { a, b, by } => vec![self.worse(a, b, *by)],
            Assertion::BetterBeside { a, b, there } => vec![self.better_beside(a, b, there)],
            Assertion::AboutEqual { a, others, within } => {
                let room = (within.unwrap_or(WITHIN_EQUAL) / 100.0).ln_1p();
                others.iter().map(|b| self.atom(self.ratio(a, b), -room, room, true)).collect()
            }
            Assertion::VariesMore { a, b } => {
                let question = Question::Spread(self.cell(a), self.cell(b));
                vec![self.atom(question, 0.0, f64::INFINITY, false)]
            }
            Assertion::AtLeastTimes { .. }
            | Assertion::AtMostTimes { .. }
            | Assertion::AboutTimes { .. }
            | Assertion::Saves { .. }
            | Assertion::AtLeast { .. }
            | Assertion::AtMost { .. } => self.of_amount(assertion).into_iter().collect(),
        }
    }

    /// The atom of a statement with an amount; `None` if it has none.
    fn of_amount(self, assertion: &Assertion) -> Option<Atom> {
        const INFINITE: f64 = f64::INFINITY;
        let (question, low, high) = match assertion {
            Assertion::AtLeastTimes { a, times, b } => (self.ratio(a, b), times.ln(), INFINITE),
            Assertion::AtMostTimes { a, times, b } => (self.ratio(a, b), -INFINITE, times.ln()),
            Assertion::AboutTimes { a, times, b, within } => {
                let room = (within.unwrap_or(WITHIN_TIMES) / 100.0).ln_1p();
                (self.ratio(a, b), times.ln() - room, times.ln() + room)
            }
            Assertion::Saves { a, amount, b, within, .. } => {
                let share = within.unwrap_or(WITHIN_SAVES) / 100.0;
                let question = Question::Difference(self.cell(b), self.cell(a));
                (question, amount * (1.0 - share), amount * (1.0 + share))
            }
            Assertion::AtLeast { a, amount, .. } => {
                (Question::Value(self.cell(a)), amount.ln(), INFINITE)
            }
            Assertion::AtMost { a, amount, .. } => {
                (Question::Value(self.cell(a)), -INFINITE, amount.ln())
            }
            _ => return None,
        };
        Some(self.atom(question, low, high, true))
    }

    fn atom(self, question: Question, low: f64, high: f64, closed: bool) -> Atom {
        Atom {
            asked: asked(self.study, &question),
            question,
            region: Region { low, high },
            closed,
            unit: self.row.unit,
            goes_on: false,
        }
    }

    fn cell(self, figure: &Figure) -> CellName {
        CellName {
            row: figure.row.clone().unwrap_or_else(|| self.own.to_owned()),
            column: figure.column.clone(),
        }
    }

    fn ratio(self, a: &Figure, b: &Figure) -> Question {
        Question::Ratio(self.cell(a), self.cell(b))
    }

    /// That a's figure is better than b's by this per cent of b's.
    fn better(self, a: &Figure, b: &Figure, by: Option<f64>) -> Atom {
        self.beyond(a, b, by, self.row.better == Direction::Higher)
    }

    /// That a's figure is worse than b's by this per cent of b's.
    fn worse(self, a: &Figure, b: &Figure, by: Option<f64>) -> Atom {
        self.beyond(a, b, by, self.row.better != Direction::Higher)
    }

    /// That a's figure is higher, or lower, than b's by this per cent of b's.
    fn beyond(self, a: &Figure, b: &Figure, by: Option<f64>, higher: bool) -> Atom {
        let share = by.unwrap_or(0.0) / 100.0;
        let (low, high) = match higher {
            true => (share.ln_1p(), f64::INFINITY),
            false => (-f64::INFINITY, (1.0 - share).max(0.0).ln()),
        };
        self.atom(self.ratio(a, b), low, high, by.is_some())
    }

    /// That a's figure compares better with b's than in the other row.
    fn better_beside(self, a: &Figure, b: &Figure, [c, d]: &[Figure; 2]) -> Atom {
        let question = Question::Beside([a, b, c, d].map(|figure| self.cell(figure)));
        match self.row.better {
            Direction::Higher => self.atom(question, 0.0, f64::INFINITY, false),
            _ => self.atom(question, -f64::INFINITY, 0.0, false),
        }
    }

    /// The figures that one is compared with: those named, else all others of the row.
    fn others(self, figure: &Figure, among: &[Figure]) -> Vec<Figure> {
        if !among.is_empty() {
            return among.to_vec();
        }
        let all = self.table.columns.iter().filter(|column| **column != figure.column);
        all.map(|column| Figure { column: column.clone(), row: figure.row.clone() }).collect()
    }
}

/// Atoms that are one question together.
fn as_one(mut atoms: Vec<Atom>) -> Vec<Atom> {
    atoms.iter_mut().skip(1).for_each(|atom| atom.goes_on = true);
    atoms
}

/// What is asked, in words: `ext2 ÷ xfs in the write script`.
fn asked(study: &Study, question: &Question) -> String {
    let called = |cell: &CellName| study.called(&cell.row).to_owned();
    let pair = |sign: &str, a: &CellName, b: &CellName| match a.row == b.row {
        true => format!("{} {sign} {} in {}", a.column, b.column, called(a)),
        false => format!("{} in {} {sign} {} in {}", a.column, called(a), b.column, called(b)),
    };
    match question {
        Question::Ratio(a, b) => pair("÷", a, b),
        Question::Beside([a, b, c, _]) => {
            format!("{}, beside the same in {}", pair("÷", a, b), called(c))
        }
        Question::Difference(a, b) => pair("−", a, b),
        Question::Value(a) => format!("{} in {}", a.column, called(a)),
        Question::Spread(a, b) => format!("spread of {}", pair("÷", a, b)),
    }
}

/// For each atom of a claim the number of its question, from 0.
pub(crate) fn questions(atoms: &[Atom]) -> Vec<usize> {
    let mut begun = 0;
    atoms
        .iter()
        .map(|atom| {
            begun += usize::from(!atom.goes_on);
            begun - 1
        })
        .collect()
}

impl Atom {
    /// Whether it asks only which of two is ahead, not by how much.
    pub(crate) fn asks_who_is_ahead(&self) -> bool {
        let even = self.region.low == 0.0 || self.region.high == 0.0;
        matches!(self.question, Question::Ratio(..)) && even
    }

    /// An answer with nothing filled in yet.
    pub(crate) fn unanswered(&self, question: usize) -> Answer {
        Answer {
            question,
            asked: self.asked.clone(),
            wanted: self.wanted(),
            claimed: [self.region.low, self.region.high]
                .map(|end| end.is_finite().then(|| self.plain(end))),
            found: None,
            value: None,
            verdict: Verdict::Undecided,
            reason: None,
            takes: None,
            p: None,
            n: None,
            borrowed: false,
        }
    }

    /// The rows it refers to.
    pub(crate) fn rows(&self) -> Vec<&str> {
        self.question.cells().into_iter().map(|cell| cell.row.as_str()).collect()
    }

    /// A value of the question as a plain number: ratios and amounts, not their logarithms.
    pub(crate) fn plain(&self, value: f64) -> f64 {
        match self.question {
            Question::Difference(..) => value,
            _ => value.exp(),
        }
    }

    /// A value of the question as people read it: ratios as `1.42`, amounts with their unit.
    pub(crate) fn shown(&self, value: f64) -> String {
        let unit = match (self.unit, &self.question) {
            (RowUnit::Plain, _)
            | (_, Question::Ratio(..) | Question::Spread(..) | Question::Beside(_)) => {
                String::new()
            }
            (unit, _) => format!(" {unit}"),
        };
        format!("{}{unit}", digits(self.plain(value)))
    }

    /// The answers for which the statement holds: `below 1`, `0.91 to 1.1`.
    pub(crate) fn wanted(&self) -> String {
        let Region { low, high } = self.region;
        match (low.is_finite(), high.is_finite(), self.closed) {
            (true, true, _) => format!("{} to {}", self.shown(low), self.shown(high)),
            (true, false, true) => format!("at least {}", self.shown(low)),
            (true, false, false) => format!("above {}", self.shown(low)),
            (false, true, true) => format!("at most {}", self.shown(high)),
            (false, true, false) => format!("below {}", self.shown(high)),
            (false, false, _) => "anything".to_owned(),
        }
    }
}

/// A number with three or four significant digits.
pub(crate) fn digits(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let places = match value.abs() {
        0.0 => 0,
        x if x >= 1000.0 => 0,
        x if x >= 100.0 => 1,
        x if x >= 10.0 => 2,
        x if x >= 0.1 => 3,
        x => (2.0 - x.log10().floor()).min(12.0) as usize,
    };
    let text = format!("{value:.places$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A share of the published size in words: `3 %`, `the published size`.
pub(crate) fn percent(size: f64) -> String {
    match size {
        size if (size - 1.0).abs() < 1e-9 => "the published size".to_owned(),
        size => format!("{} %", digits(size * 100.0)),
    }
}

/// A share of the published size in words: `3 %`, `the published size`, or the study's own word for
/// size 1 where it has one.
pub fn size_in_words(study: &Study, size: f64) -> String {
    let full = (size - 1.0).abs() < 1e-9 && !study.full_size.is_empty();
    if full { study.full_size.clone() } else { percent(size) }
}
