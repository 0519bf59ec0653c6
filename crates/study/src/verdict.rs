//! Verdicts on claims.

use std::fmt;

use serde::Serialize;

/// The verdict on a claim, or on one of its questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every question that was run holds.
    Holds,
    /// No question holds, and one was shown not to.
    DoesNotHold,
    /// Some questions hold, others do not.
    Partly,
    /// The measured figures do not decide it.
    Undecided,
    /// There is no figure to decide it by.
    NotRun,
    /// No figure could decide it.
    NotTestable,
}

/// Every kind, in the order in which they are counted.
pub(crate) const VERDICTS: [Verdict; 6] = [
    Verdict::Holds,
    Verdict::DoesNotHold,
    Verdict::Partly,
    Verdict::Undecided,
    Verdict::NotRun,
    Verdict::NotTestable,
];

impl Verdict {
    /// Whether it is decided, in full or in part.
    pub(crate) fn is_decided(self) -> bool {
        matches!(self, Verdict::Holds | Verdict::DoesNotHold | Verdict::Partly)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Partly => "partly",
            Verdict::Undecided => "undecided",
            Verdict::NotRun => "not run",
            Verdict::NotTestable => "not testable",
        })
    }
}

/// A comparison of figures and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question of the claim it belongs to, from 0: `A best` is one question, with an
    /// answer for each other column.
    pub question: usize,
    /// What was asked: `ext2 ÷ xfs in the write script`.
    pub asked: String,
    /// The answers for which the claim holds: `below 1`.
    pub wanted: String,
    /// The ends of their range, as numbers; missing where it has none.
    pub claimed: [Option<f64>; 2],
    /// The answer with its interval: `0.613 (0.601 to 0.625)`; missing where there is none.
    pub found: Option<String>,
    /// The answer as a number, and the ends of its interval where it has one.
    pub value: Option<[f64; 3]>,
    /// Whether the claim holds by this answer.
    pub verdict: Verdict,
    /// Why it is not decided, if something is missing.
    pub reason: Option<String>,
    /// What would decide it, or what is known even though it is not decided.
    pub takes: Option<String>,
    /// p after correction over all questions of its claim; `None` for published figures.
    pub p: Option<f64>,
    /// Number of seeds; `None` for published figures.
    pub n: Option<usize>,
    /// Whether these are too few to show a spread, so that the spread of the study's own machine
    /// was used.
    pub borrowed: bool,
}

/// A question of a claim: it holds or not, whatever the others do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Where it is not confirmed.
    pub limits: Vec<Limit>,
    /// What led to it, in words.
    pub reason: Option<String>,
}

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

/// A verdict with what led to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Every question of the claim.
    pub questions: Vec<QuestionVerdict>,
    /// What decided it, in words.
    pub reason: Option<String>,
    /// The comparisons behind the questions.
    pub answers: Vec<Answer>,
}

impl Judged {
    /// From answers in the order of their questions.
    pub(crate) fn of(answers: Vec<Answer>) -> Judged {
        let questions = answers.chunk_by(|a, b| a.question == b.question).map(question).collect();
        Judged::of_questions(questions, answers)
    }

    /// From questions whose verdicts may have limits.
    pub(crate) fn of_questions(questions: Vec<QuestionVerdict>, answers: Vec<Answer>) -> Judged {
        let has = |verdict: Verdict| questions.iter().any(|it| it.verdict == verdict);
        let (held, failed) = (has(Verdict::Holds), has(Verdict::DoesNotHold));
        let run = questions.iter().any(|it| it.verdict != Verdict::NotRun);
        let verdict = match () {
            () if !run => Verdict::NotRun,
            () if held && failed => Verdict::Partly,
            () if failed => Verdict::DoesNotHold,
            () if has(Verdict::Undecided) => Verdict::Undecided,
            () => Verdict::Holds,
        };
        let decided = decisive(verdict, &questions);
        let limits = said_once(&questions, &|it| {
            let reasons: Vec<&str> = it.limits.iter().map(|limit| limit.reason.as_str()).collect();
            (!reasons.is_empty()).then(|| reasons.join("; "))
        });
        let reasons: Vec<String> = decided.into_iter().chain(limits).collect();
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        Judged { verdict, questions, reason, answers }
    }

    /// What no figure can decide.
    pub(crate) fn not_testable(why: &str) -> Judged {
        Judged {
            verdict: Verdict::NotTestable,
            questions: Vec::new(),
            reason: Some(why.to_owned()),
            answers: Vec::new(),
        }
    }

    /// What decided it, or left it open, in words, without its limits.
    pub fn decisive(&self) -> Option<String> {
        match self.verdict {
            Verdict::NotTestable => self.reason.clone(),
            verdict => decisive(verdict, &self.questions),
        }
    }

    /// How many of its questions have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.questions.iter().filter(|question| question.verdict == verdict).count()
    }

    /// Whether another size gives a question the opposite answer.
    pub(crate) fn turns_with_size(&self) -> bool {
        self.questions.iter().any(QuestionVerdict::turns_with_size)
    }
}

impl QuestionVerdict {
    /// Whether another size gives the opposite answer.
    pub(crate) fn turns_with_size(&self) -> bool {
        let turns =
            |it: &Limit| it.says == Says::Otherwise && matches!(it.elsewhere, Elsewhere::Size(_));
        self.limits.iter().any(turns)
    }
}

/// The reasons of the questions that give a claim this verdict.
fn decisive(verdict: Verdict, questions: &[QuestionVerdict]) -> Option<String> {
    let decisive: &[Verdict] = match verdict {
        Verdict::Holds | Verdict::NotTestable => &[],
        Verdict::Partly | Verdict::DoesNotHold => &[Verdict::DoesNotHold],
        Verdict::Undecided => &[Verdict::Undecided],
        Verdict::NotRun => &[Verdict::NotRun],
    };
    decisive.iter().find_map(|kind| {
        let reason = |it: &QuestionVerdict| {
            (it.verdict == *kind).then(|| it.reason.clone().unwrap_or_default())
        };
        said_once(questions, &reason)
    })
}

/// The reasons of questions, each once, with their numbers: at most two, and how many more.
fn said_once(
    questions: &[QuestionVerdict],
    reason: &dyn Fn(&QuestionVerdict) -> Option<String>,
) -> Option<String> {
    let reasons = questions.iter().enumerate().filter_map(|(nth, it)| Some((nth, reason(it)?)));
    let reasons: Vec<(usize, String)> = reasons.collect();
    let count = reasons.len();
    let mut said: Vec<(usize, String)> = Vec::new();
    for (nth, reason) in reasons {
        if said.iter().all(|(_, known)| *known != reason) {
            said.push((nth + 1, reason));
        }
    }
    Some(match &said[..] {
        [] => return None,
        [(_, only)] if count == questions.len() => only.clone(),
        [(nth, only)] if count == 1 => format!("question {nth}: {only}"),
        [(_, only)] => format!("{count} questions: {only}"),
        [(a, first), (b, second)] => format!("question {a}: {first}; question {b}: {second}"),
        [(a, first), ..] => format!("question {a}: {first}; and {} more questions", count - 1),
    })
}

impl fmt::Display for Judged {
    /// `partly (4 of 6 questions)`; without its limits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.questions.len();
        match self.verdict {
            Verdict::Partly => {
                write!(f, "partly ({} of {of} questions)", self.count(Verdict::Holds))
            }
            Verdict::Undecided if self.count(Verdict::Holds) > 0 => {
                write!(f, "undecided ({} of {of} questions hold)", self.count(Verdict::Holds))
            }
            Verdict::Holds if self.count(Verdict::Holds) < of => {
                let held = self.count(Verdict::Holds);
                write!(f, "holds ({held} of {of} questions, the others without figures)")
            }
            // What is shown of few questions is not shown of all.
            Verdict::DoesNotHold if self.count(Verdict::DoesNotHold) < of => {
                let decided = self.count(Verdict::DoesNotHold);
                write!(f, "does not hold ({decided} of {of} questions decided)")
            }
            verdict => verdict.fmt(f),
        }
    }
}

/// The verdict on one question: all of its answers must hold.
fn question(answers: &[Answer]) -> QuestionVerdict {
    let any = |verdict: Verdict| answers.iter().find(|answer| answer.verdict == verdict);
    let all_missing = answers.iter().all(|answer| answer.verdict == Verdict::NotRun);
    let decisive = any(Verdict::DoesNotHold)
        .or_else(|| any(Verdict::Undecided))
        .or_else(|| any(Verdict::NotRun));
    let verdict = match decisive {
        None => Verdict::Holds,
        // Part of it holds, the rest was not run.
        Some(answer) if answer.verdict == Verdict::NotRun && !all_missing => Verdict::Undecided,
        Some(answer) => answer.verdict,
    };
    QuestionVerdict { verdict, limits: Vec::new(), reason: decisive.map(Answer::in_words) }
}

impl Answer {
    /// `ext2 ÷ xfs in write_io is 1.2 (1.1 to 1.3); claimed is below 1`.
    pub(crate) fn in_words(&self) -> String {
        let mut said = match &self.found {
            Some(found) => format!("{} is {found}", self.asked),
            None => self.asked.clone(),
        };
        said += &match (&self.found, &self.reason) {
            (Some(_), None) => format!("; claimed is {}", self.wanted),
            (Some(_), Some(reason)) => format!("; {reason}"),
            (None, Some(reason)) => format!(": {reason}"),
            (None, None) => String::new(),
        };
        said + &self.takes.as_ref().map_or(String::new(), |takes| format!("; {takes}"))
    }
}
