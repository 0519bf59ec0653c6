//! What limits a verdict: smaller sizes and other machines that do not confirm it.

use serde::Serialize;

use crate::atom;
use crate::verdict::{QuestionVerdict, Verdict};

/// Where else a question was asked than on the study's own machine at the largest size.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Elsewhere {
    /// At a smaller size, as a share of the published one.
    Size(f64),
    /// On a machine with another part: `processor`, `array`.
    Machine(String),
}

/// What is said there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The opposite.
    Otherwise,
    /// Nothing that is decided, or the opposite by fewer seeds than a verdict needs.
    NotShown,
    /// It was not run there.
    NotTried,
}

/// A place that does not confirm a question's verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Where.
    pub elsewhere: Elsewhere,
    /// What is said there.
    pub says: Says,
    /// The same in words, with the figures.
    pub reason: String,
}

impl Elsewhere {
    fn in_words(&self) -> String {
        match self {
            Elsewhere::Size(size) => format!("at {}", atom::percent(*size)),
            Elsewhere::Machine(about) => format!("with another {about}"),
        }
    }
}

/// The limits of questions, for the verdict on all of them.
pub(crate) fn in_words(verdict: Verdict, questions: &[QuestionVerdict]) -> Option<String> {
    let limits = || questions.iter().flat_map(|question| &question.limits);
    let mut said: Vec<String> = Vec::new();
    for says in [Says::Otherwise, Says::NotShown, Says::NotTried] {
        let mut places: Vec<(&Elsewhere, usize)> = Vec::new();
        for limit in limits().filter(|limit| limit.says == says) {
            match places.iter_mut().find(|(known, _)| **known == limit.elsewhere) {
                Some((_, count)) => *count += 1,
                None => places.push((&limit.elsewhere, 1)),
            }
        }
        let places: Vec<String> = places
            .into_iter()
            .map(|(place, count)| match count == questions.len() {
                true => place.in_words(),
                false => format!("{} ({count} of {} questions)", place.in_words(), questions.len()),
            })
            .collect();
        let head = match (says, verdict) {
            (Says::Otherwise, Verdict::Holds) => "not",
            (Says::Otherwise, Verdict::DoesNotHold) => "holds",
            (Says::Otherwise, _) => "otherwise",
            (Says::NotShown, _) => "not shown",
            (Says::NotTried, _) => "not tried",
        };
        if !places.is_empty() {
            said.push(format!("{head} {}", places.join(", ")));
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}
