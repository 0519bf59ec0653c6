//! Verdicts on claims.

use std::fmt;

use serde::Serialize;

/// What can be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Verdict {
    Holds,
    DoesNotHold,
    Undecided,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided => "undecided",
        })
    }
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked: `ext2 ÷ xfs in write_io`.
    pub asked: String,
    /// For which answers the claim holds: `below 1`.
    pub wanted: String,
    /// The answer with its interval: `0.613 (0.601 to 0.625)`; missing where there is none.
    pub found: Option<String>,
    /// Whether the claim holds by this answer.
    pub verdict: Verdict,
    /// Why it is undecided, where something is missing.
    pub reason: Option<String>,
    /// p after correction over all questions of the study; not for published figures.
    pub p: Option<f64>,
    /// Seeds it rests on; not for published figures.
    pub n: Option<usize>,
}

/// A verdict with what led to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// What turned it, in words.
    pub reason: Option<String>,
    /// Every question of the claim.
    pub answers: Vec<Answer>,
}

impl Judged {
    /// All must hold; one that does not is enough for the claim not to.
    pub(crate) fn of(answers: Vec<Answer>) -> Judged {
        let any = |verdict: Verdict| answers.iter().find(|answer| answer.verdict == verdict);
        let (verdict, decisive) = match (any(Verdict::DoesNotHold), any(Verdict::Undecided)) {
            (Some(answer), _) => (Verdict::DoesNotHold, Some(answer)),
            (None, Some(answer)) => (Verdict::Undecided, Some(answer)),
            (None, None) => (Verdict::Holds, None),
        };
        let reason = decisive.map(Answer::in_words);
        Judged { verdict, reason, answers }
    }
}

impl Answer {
    /// `ext2 ÷ xfs in write_io is 1.2 (1.1 to 1.3), below 1 is claimed`.
    pub fn in_words(&self) -> String {
        match (&self.found, &self.reason) {
            (Some(found), None) => {
                format!("{} is {found}; claimed is {}", self.asked, self.wanted)
            }
            (Some(found), Some(reason)) => format!("{} is {found}; {reason}", self.asked),
            (None, Some(reason)) => format!("{}: {reason}", self.asked),
            (None, None) => self.asked.clone(),
        }
    }
}
