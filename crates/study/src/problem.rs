//! What is wrong with a study's files.

use std::fmt;

pub(crate) use text::meant as suggest;

/// One mistake: where it is, and what was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file: its path as the study was named on the command line.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if known.
    pub suggestion: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; {suggestion}"),
            None => Ok(()),
        }
    }
}
