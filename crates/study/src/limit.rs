//! In words: the smaller sizes and other machines that do not confirm a verdict.

use crate::atom;
use crate::verdict::{Elsewhere, Judged, Limit, QuestionVerdict, Says, Verdict};

fn is_size(elsewhere: &Elsewhere) -> bool {
    matches!(elsewhere, Elsewhere::Size(_))
}

fn name(elsewhere: &Elsewhere) -> String {
    match elsewhere {
        Elsewhere::Size(size) => atom::percent(*size),
        Elsewhere::Machine(about) => about.clone(),
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
        // Sizes together, then machines, with the questions that are limited by one of them.
        let places = [true, false].into_iter().filter_map(|size| {
            let here = |it: &Limit| it.says == says && is_size(&it.elsewhere) == size;
            let mut names: Vec<String> = Vec::new();
            for limit in limits().filter(|it| here(it)) {
                let name = name(&limit.elsewhere);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let count = questions.iter().filter(|it| it.limits.iter().any(here)).count();
            let of = match count == questions.len() {
                true => String::new(),
                false => format!(" ({count} of {} questions)", questions.len()),
            };
            let before = if size { "at" } else { "with another" };
            (!names.is_empty()).then(|| format!("{before} {}{of}", names.join(", ")))
        });
        let places: Vec<String> = places.collect();
        let head = match (says, verdict) {
            (Says::Otherwise, Verdict::Holds) => "not",
            (Says::Otherwise, Verdict::DoesNotHold) => "holds",
            (Says::Otherwise, _) => "the opposite",
            (Says::NotShown, _) => "not shown",
            (Says::NotTried, _) => "not tried",
        };
        if !places.is_empty() {
            said.push(format!("{head} {}", places.join(", ")));
        }
    }
    (!said.is_empty()).then(|| said.join("; "))
}
