//! Reading statements.

use std::str::FromStr;

use super::{Assertion, Figure, Statement};

/// Why a text is not a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a statement: {problem}")]
pub struct StatementError {
    /// The text.
    pub text: String,
    /// What is wrong with it, and where.
    pub problem: String,
}

/// What may follow the first column, for messages.
const FORMS: &str = "after the column comes one of: best, worst, better than, worse than, better beside, \
                     at least, at most, about N times, about equal to, saves, varies more than";

/// Words that cannot be the name of a column.
const KEYWORDS: &[&str] = &[
    "ranking", "best", "worst", "among", "better", "worse", "beside", "than", "by", "at", "least",
    "most", "about", "times", "equal", "to", "within", "saves", "over", "varies", "more", "%",
];

impl FromStr for Statement {
    type Err = StatementError;

    fn from_str(text: &str) -> Result<Statement, StatementError> {
        parse(text).map_err(|problem| StatementError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Statement, String> {
    let (rows, rest) = text
        .split_once(':')
        .ok_or("it must begin with its rows and a colon: `write_io: ext2 best`")?;
    let rows: Vec<String> = rows.split(',').map(|row| row.trim().to_owned()).collect();
    if let Some(row) = rows.iter().find(|row| !is_name(row)) {
        return Err(format!("`{row}` before the colon is not a row's name"));
    }
    let mut words = Words::of(rest);
    let assertion = assertion(&mut words)?;
    match words.next() {
        None => Ok(Statement { rows, assertion }),
        Some(word) => Err(format!("`{word}` is left over at its end")),
    }
}

fn assertion(words: &mut Words<'_>) -> Result<Assertion, String> {
    if words.skip(&["ranking"]) {
        let figures = words.figures()?;
        if figures.len() < 2 {
            return Err("a ranking has at least two columns, separated by commas".to_owned());
        }
        return Ok(Assertion::Ranking(figures));
    }
    let a = words.figure()?;
    if words.skip(&["best"]) {
        return Ok(Assertion::Best { figure: a, among: words.among()? });
    }
    if words.skip(&["worst"]) {
        return Ok(Assertion::Worst { figure: a, among: words.among()? });
    }
    if words.skip(&["better", "beside"]) {
        return better_beside(a, words);
    }
    if words.skip(&["better", "than"]) {
        let (b, by) = (words.figure()?, words.percent(&["by", "at", "least"])?);
        return Ok(Assertion::Better { a, b, by });
    }
    if words.skip(&["worse", "than"]) {
        let (b, by) = (words.figure()?, words.percent(&["by", "at", "least"])?);
        return Ok(Assertion::Worse { a, b, by });
    }
    if words.skip(&["varies", "more", "than"]) {
        return Ok(Assertion::VariesMore { a, b: words.figure()? });
    }
    if words.skip(&["about", "equal", "to"]) {
        let (others, within) = (words.figures()?, words.percent(&["within"])?);
        return Ok(Assertion::AboutEqual { a, others, within });
    }
    of_amount(a, words)
}

/// What follows `better beside`.
fn better_beside(a: Figure, words: &mut Words<'_>) -> Result<Assertion, String> {
    let b = words.figure()?;
    words.expect("than")?;
    words.expect("in")?;
    let place = words.place();
    let row =
        words.next().filter(|row| is_name(row)).ok_or(format!("a row is expected {place}"))?;
    let there = |figure: &Figure| Figure { row: Some(row.to_owned()), ..figure.clone() };
    let there = [there(&a), there(&b)];
    Ok(Assertion::BetterBeside { a, b, there })
}

/// What is said with an amount: `about 2 times`, `saves 11 s over`, `at least 3`.
fn of_amount(a: Figure, words: &mut Words<'_>) -> Result<Assertion, String> {
    if words.skip(&["about"]) {
        let times = words.number()?;
        words.expect("times")?;
        let (b, within) = (words.figure()?, words.percent(&["within"])?);
        return Ok(Assertion::AboutTimes { a, times, b, within });
    }
    if words.skip(&["saves"]) {
        let amount = words.number()?;
        let unit = words.unit("over");
        words.expect("over")?;
        let (b, within) = (words.figure()?, words.percent(&["within"])?);
        return Ok(Assertion::Saves { a, amount, unit, b, within });
    }
    let least = words.skip(&["at", "least"]);
    if !least && !words.skip(&["at", "most"]) {
        return Err(match words.next() {
            Some(word) => format!("`{word}` is not known here; {FORMS}"),
            None => format!("it ends too early; {FORMS}"),
        });
    }
    let amount = words.number()?;
    if words.skip(&["times"]) {
        let b = words.figure()?;
        return Ok(match least {
            true => Assertion::AtLeastTimes { a, times: amount, b },
            false => Assertion::AtMostTimes { a, times: amount, b },
        });
    }
    let unit = words.unit("");
    Ok(match least {
        true => Assertion::AtLeast { a, amount, unit },
        false => Assertion::AtMost { a, amount, unit },
    })
}

/// Whether `text` can name a row or, without `@`, a column.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !KEYWORDS.contains(&text)
        && text.chars().all(|c| !c.is_whitespace() && !",@:%".contains(c))
}

/// Words, commas and percent signs.
struct Words<'t> {
    words: Vec<&'t str>,
    at: usize,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Words<'t> {
        let mut words = Vec::new();
        for mut word in text.split_whitespace() {
            while let Some(at) = word.find([',', '%']) {
                words.extend((at > 0).then(|| &word[..at]));
                words.push(&word[at..=at]);
                word = &word[at + 1..];
            }
            words.extend((!word.is_empty()).then_some(word));
        }
        Words { words, at: 0 }
    }

    fn next(&mut self) -> Option<&'t str> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    /// Skips these words if they come next.
    fn skip(&mut self, expected: &[&str]) -> bool {
        let comes = self.words[self.at.min(self.words.len())..].starts_with(expected);
        self.at += if comes { expected.len() } else { 0 };
        comes
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        match self.skip(&[word]) {
            true => Ok(()),
            false => Err(format!("`{word}` is expected {}", self.place())),
        }
    }

    /// The current position, for messages.
    fn place(&self) -> String {
        match self.words.get(self.at) {
            Some(word) => format!("before `{word}`"),
            None => "at its end".to_owned(),
        }
    }

    fn figure(&mut self) -> Result<Figure, String> {
        let place = self.place();
        let word = self.next().ok_or(format!("a column is expected {place}"))?;
        let (column, row) = match word.rsplit_once('@') {
            Some((column, row)) => (column, Some(row)),
            None => (word, None),
        };
        if !is_name(column) || row.is_some_and(|row| !is_name(row)) {
            return Err(format!("`{word}` is not a column; write NAME or NAME@ROW"));
        }
        Ok(Figure { column: column.to_owned(), row: row.map(str::to_owned) })
    }

    fn figures(&mut self) -> Result<Vec<Figure>, String> {
        let mut figures = vec![self.figure()?];
        while self.skip(&[","]) {
            figures.push(self.figure()?);
        }
        Ok(figures)
    }

    fn among(&mut self) -> Result<Vec<Figure>, String> {
        if self.skip(&["among"]) { self.figures() } else { Ok(Vec::new()) }
    }

    fn number(&mut self) -> Result<f64, String> {
        let place = self.place();
        let word = self.next().ok_or(format!("a number is expected {place}"))?;
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(format!("`{word}` is not a number above 0")),
        }
    }

    fn percent(&mut self, lead: &[&str]) -> Result<Option<f64>, String> {
        if !self.skip(lead) {
            return Ok(None);
        }
        let number = self.number()?;
        self.expect("%")?;
        Ok(Some(number))
    }

    /// The next word, unless it is `end` or there is none.
    fn unit(&mut self, end: &str) -> String {
        match self.words.get(self.at) {
            Some(word) if *word != end => {
                self.at += 1;
                (*word).to_owned()
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(text: &str) -> String {
        text.parse::<Statement>().unwrap_err().problem
    }

    #[test]
    fn reads_what_the_documentation_shows() {
        for text in [
            "write_io: ranking ext2, reiserfs, ext3-index",
            "a, b: xfs/ext/sw best",
            "a: ext2 worst among xfs, jfs@other",
            "a: x better than y by at least 20 %",
            "a: x better beside y than in b",
            "a: x at least 10 times y",
            "a: x about 14 times x@b within 50 %",
            "a: x about equal to y, z within 5 %",
            "a: x saves 11 s over y",
            "a: x at least 32768 /s",
            "a: x at most 1.5",
            "a: x varies more than y",
        ] {
            assert_eq!(text.parse::<Statement>().unwrap().to_string(), text);
        }
        let tight: Statement = "a:x about equal to y,z within 5%".parse().unwrap();
        assert_eq!(tight.to_string(), "a: x about equal to y, z within 5 %");
    }

    #[test]
    fn errors_say_what_is_expected_where() {
        assert!(problem("ext2 best").contains("colon"));
        assert!(problem("a: ext2 fastest").contains("`fastest` is not known here; after the"));
        assert!(problem("a: ext2").contains("ends too early"));
        assert!(problem("a: ranking ext2").contains("at least two"));
        assert!(problem("a: x at least ten times y").contains("`ten` is not a number"));
        assert!(problem("a: x better than y by at least 5").contains("`%` is expected at its end"));
        assert!(problem("a: x better beside y than").contains("`in` is expected at its end"));
        assert!(problem("a: x better beside y than in").contains("a row is expected at its end"));
        assert!(problem("a: x best of all").contains("`of` is left over"));
        assert!(problem("a: x saves 11 s y").contains("`over` is expected before `y`"));
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z][a-z0-9/._-]{0,8}".prop_filter("no keyword", |name| is_name(name))
    }

    fn figure() -> impl Strategy<Value = Figure> {
        (name(), proptest::option::of(name())).prop_map(|(column, row)| Figure { column, row })
    }

    fn assertion() -> impl Strategy<Value = Assertion> {
        let list = || proptest::collection::vec(figure(), 1..4);
        let number = || 1e-3f64..1e6;
        let percent = || proptest::option::of(0.5f64..90.0);
        let unit = || proptest::sample::select(vec!["", "s", "ms", "MB/s", "/s", "io/s"]);
        prop_oneof![
            proptest::collection::vec(figure(), 2..5).prop_map(Assertion::Ranking),
            (figure(), list()).prop_map(|(figure, among)| Assertion::Best { figure, among }),
            figure().prop_map(|figure| Assertion::Worst { figure, among: Vec::new() }),
            (figure(), figure(), percent()).prop_map(|(a, b, by)| Assertion::Better { a, b, by }),
            (figure(), figure(), percent()).prop_map(|(a, b, by)| Assertion::Worse { a, b, by }),
            (figure(), figure(), name()).prop_map(|(a, b, row)| {
                let there = |of: &Figure| Figure { row: Some(row.clone()), ..of.clone() };
                Assertion::BetterBeside { there: [there(&a), there(&b)], a, b }
            }),
            (figure(), number(), figure()).prop_map(|(a, times, b)| Assertion::AtLeastTimes {
                a,
                times,
                b
            }),
            (figure(), number(), figure()).prop_map(|(a, times, b)| Assertion::AtMostTimes {
                a,
                times,
                b
            }),
            (figure(), number(), figure(), percent())
                .prop_map(|(a, times, b, within)| Assertion::AboutTimes { a, times, b, within }),
            (figure(), list(), percent()).prop_map(|(a, others, within)| Assertion::AboutEqual {
                a,
                others,
                within
            }),
            (figure(), number(), unit(), figure(), percent()).prop_map(
                |(a, amount, unit, b, within)| Assertion::Saves {
                    a,
                    amount,
                    unit: unit.to_owned(),
                    b,
                    within
                }
            ),
            (figure(), number(), unit()).prop_map(|(a, amount, unit)| Assertion::AtLeast {
                a,
                amount,
                unit: unit.to_owned()
            }),
            (figure(), figure()).prop_map(|(a, b)| Assertion::VariesMore { a, b }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            rows in proptest::collection::vec(name(), 1..4),
            assertion in assertion(),
        ) {
            let statement = Statement { rows, assertion };
            prop_assert_eq!(statement.to_string().parse::<Statement>(), Ok(statement));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}") {
            let _ = text.parse::<Statement>();
        }
    }
}
