//! `name=value,name,…`: the attributes of what is defined.

use super::law::Law;
use super::{Problem, lexer};

/// What an attribute or a variable is set to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Law(Law),
    Switch(bool),
    Text(String),
    Table(Vec<(u64, u64, u64)>),
}

#[derive(Debug, Clone)]
struct Attribute {
    line: usize,
    name: String,
    /// `None` where only the name stands there.
    value: Option<Value>,
}

/// Those of one definition; each is taken once, and what is left is not known.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes(Vec<Attribute>);

impl Attributes {
    /// Adds one.
    pub(super) fn add(
        &mut self,
        line: usize,
        name: &str,
        value: Option<Value>,
    ) -> Result<(), Problem> {
        if self.0.iter().any(|known| known.name == name) {
            return Err(Problem::at(line, format!("{name} is given twice")));
        }
        self.0.push(Attribute { line, name: name.to_owned(), value });
        Ok(())
    }

    /// The line and value of one, which is then no longer there.
    pub(super) fn take(&mut self, name: &str) -> Option<(usize, Option<Value>)> {
        let at = self.0.iter().position(|known| known.name == name)?;
        let attribute = self.0.remove(at);
        Some((attribute.line, attribute.value))
    }

    /// A number or the law of one.
    pub(super) fn law(&mut self, name: &str) -> Result<Option<Law>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some((_, Some(Value::Law(law)))) => Ok(Some(law)),
            Some((line, Some(Value::Text(text)))) => match lexer::number(&text) {
                Some(number) => Ok(Some(Law::constant(number))),
                None => Err(Problem::at(line, format!("{name}={text} is no number"))),
            },
            Some((line, _)) => Err(Problem::at(line, format!("{name} needs a number"))),
        }
    }

    /// A number that is always the same.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, Problem> {
        let line = self.line_of(name);
        match self.law(name)? {
            None => Ok(None),
            Some(law) => law.fixed().map(Some).ok_or_else(|| {
                let what = format!("{name} takes a number that stays the same, none that is drawn");
                Problem::at(line, what)
            }),
        }
    }

    /// Whether it is on: its name alone, `true`, or a number other than 0.
    pub(super) fn switch(&mut self, name: &str) -> Result<bool, Problem> {
        match self.take(name) {
            None => Ok(false),
            Some((_, None)) => Ok(true),
            Some((_, Some(Value::Switch(on)))) => Ok(on),
            Some((line, Some(Value::Law(law)))) => match law.fixed() {
                Some(number) => Ok(number != 0),
                None => Err(Problem::at(line, format!("{name} is either on or off"))),
            },
            Some((line, _)) => Err(Problem::at(line, format!("{name} is either on or off"))),
        }
    }

    /// A percentage: a number, or a switch for all or none.
    pub(super) fn percent(&mut self, name: &str) -> Result<u64, Problem> {
        let line = self.line_of(name);
        let is_number = |it: &Attribute| it.name == name && matches!(it.value, Some(Value::Law(_)));
        let percent = if self.0.iter().any(is_number) {
            self.number(name)?.unwrap_or(0)
        } else {
            u64::from(self.switch(name)?) * 100
        };
        match percent {
            0..=100 => Ok(percent),
            _ => Err(Problem::at(line, format!("{name}={percent} is above 100 percent"))),
        }
    }

    /// A name or another text.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some((_, Some(Value::Text(text)))) => Ok(Some(text)),
            Some((line, Some(Value::Law(law)))) => match law.fixed() {
                Some(number) => Ok(Some(number.to_string())),
                None => Err(Problem::at(line, format!("{name} needs a name"))),
            },
            Some((line, _)) => Err(Problem::at(line, format!("{name} needs a name"))),
        }
    }

    /// The rows of a table.
    pub(super) fn table(&mut self, name: &str) -> Option<Vec<(u64, u64, u64)>> {
        match self.take(name) {
            Some((_, Some(Value::Table(rows)))) => Some(rows),
            _ => None,
        }
    }

    /// The line of one, or that of the definition's first.
    fn line_of(&self, name: &str) -> usize {
        let known = self.0.iter().find(|known| known.name == name).or_else(|| self.0.first());
        known.map_or(1, |attribute| attribute.line)
    }

    /// Refuses what was not taken.
    pub(super) fn end(self, of: &str) -> Result<(), Problem> {
        let Some(left) = self.0.first() else { return Ok(()) };
        Err(Problem::at(left.line, format!("{of}: attribute `{}` is not known", left.name)))
    }
}
