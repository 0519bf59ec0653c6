//! In words: the smaller sizes and other machines that do not confirm a verdict.

use crate::atom;
use crate::verdict::{Elsewhere, Judged, QuestionVerdict, Says, Verdict};

fn place(elsewhere: &Elsewhere) -> String {
    match elsewhere {
        Elsewhere::Size(size) => format!("at {}", atom::percent(*size)),
        Elsewhere::Machine(about) => format!("with another {about}"),
    }
}

/// Where the questions of a claim are not confirmed: `not at 3 % (2 of 8 questions); not shown with
/// another drive`. `None` where all that was tried confirms them.
pub(crate) fn of_claim(judged: &Judged) -> Option<String> {
    of_questions(judged.verdict, &judged.questions)
}

/// The limits of questions, for the verdict on all of them.
pub(crate) fn of_questions(verdict: Verdict, questions: &[QuestionVerdict]) -> Option<String> {
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
            .map(|(elsewhere, count)| match count == questions.len() {
                true => place(elsewhere),
                false => format!("{} ({count} of {} questions)", place(elsewhere), questions.len()),
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
