//! Why a request is refused, before anything is touched.

use serde::{Deserialize, Serialize};

/// A request that breaks a rule. Names the rule and the next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}: {rule}{}", next.as_ref().map(|next| format!("; {next}")).unwrap_or_default())]
pub struct Refusal {
    /// What was asked for: `ext3: journal_size=1K`.
    pub what: String,
    /// The rule it breaks: `a journal has at least 1024 blocks`.
    pub rule: String,
    /// What to do instead, if there is something.
    pub next: Option<String>,
}

impl Refusal {
    /// A refusal without a next step.
    pub fn new(what: impl Into<String>, rule: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), rule: rule.into(), next: None }
    }

    /// Adds the next step.
    pub fn with_next(self, next: impl Into<String>) -> Refusal {
        Refusal { next: Some(next.into()), ..self }
    }
}
