//! The words of Filebench's workload model language.

use super::Problem;

/// A word and the line it stands in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// A command, an attribute, a name, a path.
    Word(String),
    /// `16k` is 16384.
    Number(u64),
    /// `$name`, without the sign.
    Variable(String),
    /// What stands between quotes.
    Quoted(String),
    /// One of `= , { } ( )`.
    Sign(char),
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Word(word) => f.write_str(word),
            Kind::Number(number) => write!(f, "{number}"),
            Kind::Variable(name) => write!(f, "${name}"),
            Kind::Quoted(text) => write!(f, "\"{text}\""),
            Kind::Sign(sign) => write!(f, "{sign}"),
        }
    }
}

/// Longest text that is read.
const LONGEST: usize = 1 << 20;

/// Splits a text into its words; `#` begins a comment.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    if text.len() > LONGEST {
        return Err(Problem::at(1, "it is longer than a MiB, which no model is"));
    }
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let mut rest = line.trim_start();
        while !rest.is_empty() && !rest.starts_with('#') {
            let (kind, length) = first(rest).map_err(|what| Problem::at(number, what))?;
            tokens.push(Token { line: number, kind });
            rest = rest[length..].trim_start();
        }
    }
    Ok(tokens)
}

/// The first word of a text that does not begin with a blank, and its length.
fn first(text: &str) -> Result<(Kind, usize), String> {
    let begin = text.chars().next().unwrap_or_default();
    let while_in = |is: fn(char) -> bool, from: usize| {
        text[from..].find(|c: char| !is(c)).map_or(text.len(), |end| from + end)
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || "/._:;-+*".contains(c);
    match begin {
        '=' | ',' | '{' | '}' | '(' | ')' => Ok((Kind::Sign(begin), 1)),
        '"' => {
            let end = quote_end(&text[1..]).ok_or("a quote that is opened here is not closed")?;
            Ok((Kind::Quoted(text[1..=end].replace('\\', "")), end + 2))
        }
        '$' => {
            let bracket = usize::from(text[1..].starts_with(['{', '(']));
            let end = while_in(|c| c.is_ascii_alphanumeric() || c == '_', 1 + bracket);
            let name = text[1 + bracket..end].to_owned();
            if name.is_empty() {
                return Err("a `$` without the name of a variable".to_owned());
            }
            let closed = usize::from(bracket > 0 && text[end..].starts_with(['}', ')']));
            Ok((Kind::Variable(name), end + closed))
        }
        '0'..='9' => {
            let end = while_in(|c| c.is_ascii_alphanumeric() || c == '.', 0);
            let number = number(&text[..end]).ok_or_else(|| {
                format!("`{}` is no whole number with k, m, g or t", &text[..end])
            })?;
            Ok((Kind::Number(number), end))
        }
        c if is_word(c) => {
            let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
            Ok((Kind::Word(text[..end].to_owned()), end))
        }
        c => Err(format!("`{}` is no part of the language", c.escape_default())),
    }
}

/// Where the quote ends: a `"` without a `\` before it.
fn quote_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|&at| bytes[at] == b'"' && (at == 0 || bytes[at - 1] != b'\\'))
}

/// `16`, `16k`, `1m`, `10g`; the unit in either case.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_numbers_variables_and_quotes_are_told_apart() {
        let word = |text: &str| Kind::Word(text.to_owned());
        assert_eq!(
            kinds("set $size=16k # a comment\n"),
            [word("set"), Kind::Variable("size".to_owned()), Kind::Sign('='), Kind::Number(16_384)]
        );
        assert_eq!(
            kinds("parameters=mean:16384;gamma:1.5)"),
            [word("parameters"), Kind::Sign('='), word("mean:16384;gamma:1.5"), Kind::Sign(')')]
        );
        assert_eq!(kinds("psrun -10 60"), [word("psrun"), word("-10"), Kind::Number(60)]);
        let said = Kind::Quoted("set $dir=<dir> \"x\"".to_owned());
        assert_eq!(kinds(r#"usage "set \$dir=<dir> \"x\"""#), [word("usage"), said]);
        assert_eq!(kinds("${a_1}"), [Kind::Variable("a_1".to_owned())]);
        assert_eq!(kinds("10G 1M"), [Kind::Number(10 << 30), Kind::Number(1 << 20)]);
    }

    #[test]
    fn what_is_no_word_is_told_with_its_line() {
        for (text, why) in [
            ("\n\nset $=1", "line 3: a `$` without"),
            ("\necho \"x", "line 2: a quote"),
            ("run 60q", "line 1: `60q` is no whole number"),
            ("run 99999999999999999999", "no whole number"),
            ("run 99999999999g", "no whole number"),
            ("run 1.5", "no whole number"),
            ("@", "no part of the language"),
        ] {
            let said = tokens(text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
