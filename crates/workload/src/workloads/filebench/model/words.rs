//! Reading a model word by word.

use super::Problem;
use super::attributes::{Attributes, Value};
use super::law::Law;
use super::lexer::{Kind, Token};
use super::text::Reader;

impl Reader<'_> {
    /// `name=value,name`.
    pub(super) fn attributes(&mut self) -> Result<Attributes, Problem> {
        let mut attributes = Attributes::default();
        loop {
            let line = self.line();
            let name = match self.peek().map(|it| it.kind.clone()) {
                // Old models set a variable of a composite flowop here.
                Some(Kind::Variable(name)) => {
                    let what = format!("${name}: variables of a flowop are not known here");
                    return Err(Problem::at(line, what));
                }
                _ => self.word("an attribute")?,
            };
            let name = match name.as_str() {
                "filesetname" => "filename".to_owned(),
                "filesize" => "size".to_owned(),
                _ => name,
            };
            let value = if self.is_sign('=') {
                self.at += 1;
                Some(if self.is_sign('{') { self.table()? } else { self.value()? })
            } else {
                None
            };
            attributes.add(line, &name, value)?;
            if !self.is_sign(',') {
                return Ok(attributes);
            }
            self.at += 1;
        }
    }

    /// `{{85, 1k, 64k}, {15, 64k, 1m}}`.
    pub(super) fn table(&mut self) -> Result<Value, Problem> {
        let mut rows = Vec::new();
        self.sign('{')?;
        loop {
            self.sign('{')?;
            let mut row = [0; 3];
            for (place, cell) in row.iter_mut().enumerate() {
                if place > 0 {
                    self.sign(',')?;
                }
                let line = self.line();
                *cell = match self.value()? {
                    Value::Law(law) => law.fixed(),
                    _ => None,
                }
                .ok_or_else(|| Problem::at(line, "a table has numbers"))?;
            }
            self.sign('}')?;
            rows.push((row[0], row[1], row[2]));
            if !self.is_sign(',') {
                break;
            }
            self.at += 1;
        }
        self.sign('}')?;
        Ok(Value::Table(rows))
    }

    pub(super) fn value(&mut self) -> Result<Value, Problem> {
        let Some(token) = self.peek().cloned() else {
            return Err(Problem::at(self.line(), "the text ends where a value is expected"));
        };
        self.at += 1;
        Ok(match token.kind {
            Kind::Number(number) => Value::Law(Law::constant(number)),
            Kind::Word(word) if word == "true" || word == "false" => Value::Switch(word == "true"),
            Kind::Word(word) | Kind::Quoted(word) => Value::Text(word),
            Kind::Variable(name) => match self.variables.get(&name) {
                Some(value) => value.clone(),
                None => {
                    let meant = text::meant(&name, self.variables.keys().map(String::as_str));
                    let meant = meant.unwrap_or_else(|| "set it above".to_owned());
                    return Err(Problem::at(token.line, format!("${name} is not set; {meant}")));
                }
            },
            Kind::Sign(sign) => {
                return Err(Problem::at(token.line, format!("a value is expected, not `{sign}`")));
            }
        })
    }

    /// Leaves out the rest of a command's line, which says nothing about files.
    pub(super) fn skip_arguments(&mut self, line: usize) -> Result<(), Problem> {
        while self.peek().is_some_and(|token| token.line == line) {
            if matches!(&self.tokens[self.at].kind, Kind::Word(word) if word == "command") {
                return Err(Problem::at(line, "stats command: it runs a program; leave it out"));
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The line of the next word, or of the last one.
    pub(super) fn line(&self) -> usize {
        self.peek().or(self.tokens.last()).map_or(1, |token| token.line)
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        self.peek().is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    pub(super) fn is_word(&self) -> bool {
        matches!(self.peek(), Some(Token { kind: Kind::Word(_), .. }))
    }

    pub(super) fn is_word_of(&self, words: &[&str]) -> bool {
        matches!(self.peek(), Some(Token { kind: Kind::Word(word), .. }) if words.contains(&&**word))
    }

    pub(super) fn sign(&mut self, sign: char) -> Result<(), Problem> {
        let line = self.line();
        let found = self.peek().map_or("the end".to_owned(), |token| format!("`{}`", token.kind));
        if self.is_sign(sign) {
            self.at += 1;
            return Ok(());
        }
        Err(Problem::at(line, format!("`{sign}` is expected, not {found}")))
    }

    pub(super) fn word(&mut self, what: &str) -> Result<String, Problem> {
        let line = self.line();
        match self.peek().map(|token| token.kind.clone()) {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            Some(other) => Err(Problem::at(line, format!("{what} is expected, not `{other}`"))),
            None => Err(Problem::at(line, format!("the text ends where {what} is expected"))),
        }
    }
}
