//! What an attempt found.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The answer of one attempt. In words: `yes`, `yes: 255 bytes`, `no: Operation not
/// supported`, `untried: no command for it`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Finding {
    /// It can; with a figure where there is one.
    Yes(String),
    /// It was tried and cannot; with what was seen.
    No(String),
    /// It could not be tried; with the reason.
    Untried(String),
}

/// An event reported while capabilities are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The filesystem whose capabilities are tried.
    Of {
        /// Kernel release.
        kernel: String,
        /// Tools and their versions.
        tools: Vec<(String, String)>,
    },
    /// An answer.
    Capability {
        /// Name in [`super::CAPABILITIES`].
        name: String,
        /// The answer.
        finding: Finding,
    },
}

impl Finding {
    pub(super) fn yes(detail: impl Into<String>) -> Finding {
        Finding::Yes(detail.into())
    }

    pub(super) fn no(reason: impl Into<String>) -> Finding {
        Finding::No(reason.into())
    }

    /// For what the filesystem's own programs do not do.
    pub(super) fn without_command() -> Finding {
        Finding::no("its tools have no command for it")
    }

    pub(super) fn untried(reason: impl Into<String>) -> Finding {
        Finding::Untried(reason.into())
    }

    /// For a capability that is the kernel call itself: an error means no.
    pub(super) fn of<T>(answer: io::Result<T>) -> Finding {
        match answer {
            Ok(_) => Finding::yes(""),
            Err(error) => Finding::no(words(&error)),
        }
    }

    /// `yes` if it holds, else a `no` with what was seen instead.
    pub(super) fn if_so(holds: bool, otherwise: &str) -> Finding {
        if holds { Finding::yes("") } else { Finding::no(otherwise) }
    }
}

/// An error of the kernel in its words alone.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, rest) = match self {
            Finding::Yes(rest) => ("yes", rest),
            Finding::No(rest) => ("no", rest),
            Finding::Untried(rest) => ("untried", rest),
        };
        if rest.is_empty() { f.write_str(word) } else { write!(f, "{word}: {rest}") }
    }
}

impl FromStr for Finding {
    type Err = String;

    fn from_str(text: &str) -> Result<Finding, String> {
        let (word, rest) = text.split_once(": ").unwrap_or((text, ""));
        match word {
            "yes" => Ok(Finding::yes(rest)),
            "no" => Ok(Finding::no(rest)),
            "untried" => Ok(Finding::untried(rest)),
            _ => Err(format!("`{text}` begins with none of yes, no, untried")),
        }
    }
}

impl From<Finding> for String {
    fn from(finding: Finding) -> String {
        finding.to_string()
    }
}

impl TryFrom<String> for Finding {
    type Error = String;

    fn try_from(text: String) -> Result<Finding, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for text in ["yes", "yes: 255 bytes", "no: Input/output error", "untried: no: really"] {
            assert_eq!(text.parse::<Finding>().unwrap().to_string(), text);
        }
        assert!("perhaps".parse::<Finding>().is_err());
    }
}
