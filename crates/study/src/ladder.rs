//! One verdict from all sizes and all assumptions: that of the largest size on the study's own
//! machine. Smaller sizes and assumed machines that do not confirm it are its limits.

use crate::figures::{Figures, PartRun, Which};
use crate::measured::{self, SEEDS_MIN, atoms_of};
use crate::results::{AtSize, Under};
use crate::verdict::{Elsewhere, Judged, Limit, QuestionVerdict, Says, Verdict};
use crate::{Claim, ClaimResults, Study, Test, atom, published};

/// All runs of one size.
pub(crate) struct Rung<'s> {
    /// On the study's own machine.
    pub(crate) own: Figures<'s>,
    judged: Vec<Option<Judged>>,
    /// Under each assumption of the study; missing where it was not run.
    under: Vec<Option<Vec<Option<Judged>>>>,
}

/// The runs by size, the smallest size first.
pub(crate) fn rungs<'s>(study: &'s Study, runs: &[PartRun]) -> Vec<Rung<'s>> {
    let mut sizes: Vec<Option<f64>> = Vec::new();
    for it in runs {
        if !sizes.contains(&it.tag.size) {
            sizes.push(it.tag.size);
        }
    }
    let order = |size: &Option<f64>| size.unwrap_or(study.scale);
    sizes.sort_by(|a, b| order(a).total_cmp(&order(b)));
    sizes
        .into_iter()
        .map(|size| {
            let looks = |assumption| Figures::looks(study, runs, assumption, size);
            let mut own = looks(None);
            let judged = measured::judge(study, &own, None);
            let under = study.assumptions.iter().map(|it| {
                let looks = looks(Some(&*it.id));
                (!looks.is_empty()).then(|| measured::judge(study, &looks, own.last()))
            });
            let under = under.collect();
            let nothing = || Figures::of(study, &[], Which { assumption: None, size, look: 0 });
            Rung { own: own.pop().unwrap_or_else(nothing), judged, under }
        })
        .collect()
}

/// A claim with its verdicts; `at` is its place in the study.
pub(crate) fn claim(
    study: &Study,
    runs: &[PartRun],
    rungs: &[Rung<'_>],
    at: usize,
) -> ClaimResults {
    let claim = &study.claims[at];
    let statements = match &claim.test {
        Test::Statements(all) => all,
        Test::Untestable(why) => {
            return ClaimResults {
                claim: claim.clone(),
                published: Judged::not_testable(why),
                measured: Judged::not_testable(why),
                size: None,
                sizes: Vec::new(),
                under: Vec::new(),
            };
        }
    };
    let lab = runs.iter().any(|it| it.run.header.is_simulated());
    let run = |rung: &&Rung<'_>| {
        let judged = rung.judged[at].as_ref();
        judged.is_some_and(|judged| judged.verdict != Verdict::NotRun)
    };
    // If nothing was run for this claim, the largest size of a part that it asks about says why.
    let asks = |rung: &&Rung<'_>| {
        let atoms = atoms_of(study, claim).unwrap_or_default();
        let mut rows = atoms.iter().flat_map(|atom| atom.question.cells()).map(|cell| &cell.row);
        rows.any(|row| rung.own.share_of(row).is_some())
    };
    let largest = rungs.iter().rev().find(asks).or(rungs.last());
    let rungs: Vec<&Rung<'_>> = rungs.iter().filter(run).collect();
    let sizes: Vec<AtSize> = rungs.iter().filter_map(|rung| at_size(study, rung, at)).collect();
    let under = rungs.last().map_or_else(Vec::new, |rung| under(study, rung, claim, lab, at));
    let largest = rungs.last().copied().or(largest);
    let own = largest.and_then(|rung| rung.judged[at].clone());
    let measured = match own {
        None => not_run(study, claim),
        Some(own) => {
            let questions = own.questions.iter().enumerate().map(|(nth, question)| {
                let mut limits = Vec::new();
                if question.verdict.is_decided() {
                    limits.extend(smaller_sizes(question.verdict, nth, &sizes));
                    limits.extend(other_machines(question.verdict, nth, &under));
                }
                QuestionVerdict { limits, ..question.clone() }
            });
            Judged::of_questions(questions.collect(), own.answers.clone())
        }
    };
    ClaimResults {
        claim: claim.clone(),
        published: published::judge(study, statements),
        measured,
        size: sizes.last().map(|last| last.size),
        sizes,
        under: under.into_iter().map(|(under, _)| under).collect(),
    }
}

/// A claim for which nothing was run: every question with its reason.
fn not_run(study: &Study, claim: &Claim) -> Judged {
    let nothing = Figures::of(study, &[], Which { assumption: None, size: None, look: 0 });
    let one = Study { claims: vec![claim.clone()], ..study.clone() };
    let judged = measured::judge(&one, &[nothing], None).into_iter().next().flatten();
    judged.unwrap_or_else(|| Judged::of(Vec::new()))
}

fn at_size(study: &Study, rung: &Rung<'_>, at: usize) -> Option<AtSize> {
    let judged = rung.judged[at].as_ref()?;
    let atoms = atoms_of(study, &study.claims[at])?;
    let cells = atoms.iter().flat_map(|atom| atom.question.cells());
    let size = cells.filter_map(|cell| rung.own.share_of(&cell.row)).reduce(f64::min)?;
    Some(AtSize {
        size,
        verdict: judged.verdict,
        questions: judged.questions.iter().map(|question| question.verdict).collect(),
        values: judged.answers.iter().map(|answer| answer.value).collect(),
    })
}

/// The verdict under every assumption that concerns a part the claim refers to.
fn under(
    study: &Study,
    rung: &Rung<'_>,
    claim: &Claim,
    lab: bool,
    at: usize,
) -> Vec<(Under, Vec<QuestionVerdict>)> {
    let atoms = atoms_of(study, claim).unwrap_or_default();
    let rows = atoms.iter().flat_map(atom::Atom::rows);
    let parts: Vec<&str> = rows.filter_map(|row| Some(study.row(row)?.0.part.as_str())).collect();
    let concerned = study.assumptions.iter().zip(&rung.under).filter(|(assumption, _)| {
        lab && assumption.parts.iter().any(|part| parts.contains(&part.as_str()))
    });
    concerned
        .map(|(assumption, judged)| {
            let judged = judged.as_ref().and_then(|judged| judged[at].as_ref());
            let under = Under {
                assumption: assumption.id.clone(),
                about: assumption.about(),
                verdict: judged.map(|judged| judged.verdict),
                reason: judged.and_then(|judged| judged.reason.clone()),
                few_seeds: judged.and_then(|judged| {
                    let borrowed = judged.answers.iter().filter(|answer| answer.borrowed);
                    borrowed.filter_map(|answer| answer.n).min()
                }),
            };
            (under, judged.map(|judged| judged.questions.clone()).unwrap_or_default())
        })
        .collect()
}

/// The assumed machines that do not confirm a question's verdict.
fn other_machines(
    own: Verdict,
    nth: usize,
    under: &[(Under, Vec<QuestionVerdict>)],
) -> impl Iterator<Item = Limit> {
    under.iter().filter_map(move |(under, questions)| {
        let about = &under.about;
        let limit =
            |says, reason| Limit { elsewhere: Elsewhere::Machine(about.clone()), says, reason };
        let Some(question) = questions.get(nth) else {
            return Some(limit(Says::NotTried, format!("not tried with another {about}")));
        };
        if question.verdict == own {
            return None;
        }
        let why = question.reason.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        let said = format!("{} with another {about}{why}", question.verdict);
        Some(match (question.verdict.is_decided(), under.few_seeds) {
            (true, None) => limit(Says::Otherwise, said),
            (true, Some(seeds)) => {
                let seeds = report::counted(seeds, "seed");
                limit(Says::NotShown, format!("{said}, but by {seeds}; {SEEDS_MIN} are needed"))
            }
            (false, _) => limit(Says::NotShown, said),
        })
    })
}

/// The smaller sizes that contradict a question's verdict, the largest of them first.
fn smaller_sizes(own: Verdict, nth: usize, sizes: &[AtSize]) -> impl Iterator<Item = Limit> {
    let smaller = sizes.split_last().map_or(&[][..], |(_, smaller)| smaller);
    let says = move |it: &AtSize| it.questions[nth];
    let contrary = smaller.iter().rev().filter(move |it| says(it).is_decided() && says(it) != own);
    contrary.map(move |it| Limit {
        elsewhere: Elsewhere::Size(it.size),
        says: Says::Otherwise,
        reason: format!("{} at {}", says(it), atom::percent(it.size)),
    })
}
