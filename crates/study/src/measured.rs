//! Claims on what was measured.

use stats::{
    Comparison, Decision, Estimated, Observation, Resolution, decide, paired, share_of_look, welch,
};

use crate::atom::{Atom, Question, digits};
use crate::figures::Figures;
use crate::verdict::{Answer, Judged, Verdict};
use crate::{Claim, Study, Test, atom};

/// Error rate of all questions of a claim together.
pub(crate) const ALPHA: f64 = 0.05;

/// Seeds a cell needs before a claim may rest on it.
pub const SEEDS_MIN: usize = 3;

/// More seeds than this are not offered as what would decide a question.
const SEEDS_OFFERED: f64 = 100.0;

/// The verdict on every claim under one set of assumptions, in the order of the study;
/// `None` for what cannot be tested. The questions of a claim are one family (Holm): a reader takes
/// a claim's verdict by itself, and a study that asks more claims should not decide each less.
///
/// `looks` holds what was known each time it was decided whether to go on, the last of them
/// all there is. Each look has its own share of the error rate, so that looking again and
/// again finds no more by chance than looking once; what one look has decided stays so.
pub(crate) fn judge(study: &Study, looks: &[Figures<'_>]) -> Vec<Option<Judged>> {
    let asked: Vec<Option<Vec<Atom>>> = study.claims.iter().map(|c| atoms_of(study, c)).collect();
    let all: Vec<&Atom> = asked.iter().flatten().flatten().collect();
    let questions: Vec<usize> = asked.iter().flatten().flat_map(|it| atom::questions(it)).collect();
    let families: Vec<usize> = asked.iter().flatten().map(Vec::len).collect();
    let mut answers: Vec<Answer> = Vec::new();
    for (look, figures) in looks.iter().enumerate() {
        let now = look_at(figures, &all, &questions, &families, share_of_look(ALPHA, look));
        let before = std::mem::take(&mut answers);
        let decided = |answer: &Answer| answer.verdict.is_decided().then_some(answer.verdict);
        let mut before = before.iter().map(decided);
        answers = now
            .into_iter()
            .map(|answer| match before.next().flatten() {
                Some(verdict) if !answer.verdict.is_decided() && answer.found.is_some() => {
                    Answer { verdict, takes: None, ..answer }
                }
                _ => answer,
            })
            .collect();
    }
    let mut answers = answers.into_iter();
    let judged = asked.iter().map(|atoms| {
        let atoms = atoms.as_ref()?;
        Some(Judged::of(answers.by_ref().take(atoms.len()).collect()))
    });
    judged.collect()
}

/// What was found at one look at all questions, of which each claim has the next so many.
fn look_at(
    figures: &Figures<'_>,
    all: &[&Atom],
    questions: &[usize],
    families: &[usize],
    alpha: f64,
) -> Vec<Answer> {
    let estimated: Vec<Result<(Estimated, usize), Lack>> =
        all.iter().map(|atom| estimate(figures, atom)).collect();
    let mut asked = all.iter().zip(&estimated);
    let mut decisions: Vec<Decision> = Vec::new();
    for size in families {
        let family: Vec<_> = asked
            .by_ref()
            .take(*size)
            .filter_map(|(atom, found)| Some((found.as_ref().ok()?.0, atom.region)))
            .collect();
        decisions.extend(decide(&family, alpha));
    }
    let mut decisions = decisions.into_iter();
    all.iter()
        .zip(questions)
        .zip(estimated)
        .map(|((atom, question), found)| {
            let blank = atom.unanswered(*question);
            match found {
                Err(lack) => Answer {
                    verdict: if lack.run { Verdict::Undecided } else { Verdict::NotRun },
                    reason: Some(lack.reason),
                    takes: lack.takes,
                    ..blank
                },
                Ok((found, n)) => match decisions.next() {
                    None => blank,
                    Some(decision) => answered(atom, blank, &found, n, &decision),
                },
            }
        })
        .collect()
}

/// What is nearer than that, as a logarithm, has nobody ahead: a thousandth. In the lab three
/// seeds can agree on less, of two contenders that are the same (seen on 2026-11-26: twins were
/// 0.04 % apart with p = 0.002, in one lab of many), and no page could have measured it.
const NOBODY_AHEAD: f64 = 0.001;

fn answered(
    atom: &Atom,
    blank: Answer,
    found: &Estimated,
    n: usize,
    decision: &Decision,
) -> Answer {
    let (low, high) = (decision.interval.low, decision.interval.high);
    let nobody_ahead = atom.asks_who_is_ahead() && low.abs().max(high.abs()) < NOBODY_AHEAD;
    let verdict = match decision.inside {
        _ if nobody_ahead => Verdict::Undecided,
        Some(true) => Verdict::Holds,
        Some(false) => Verdict::DoesNotHold,
        None => Verdict::Undecided,
    };
    let told =
        format!("{} ({} to {})", atom.shown(found.value()), atom.shown(low), atom.shown(high));
    Answer {
        found: Some(told),
        value: Some([found.value(), low, high].map(|value| atom.plain(value))),
        verdict,
        takes: (verdict == Verdict::Undecided).then(|| takes(atom, found, n, decision)),
        p: Some(decision.p_adjusted),
        n: Some(n),
        ..blank
    }
}

/// What would decide a question, by the spread seen so far; where that is out of reach, how
/// far apart the two can be at most.
fn takes(atom: &Atom, found: &Estimated, n: usize, decision: &Decision) -> String {
    let (low, high) = (decision.interval.low, decision.interval.high);
    let (half, distance) = ((high - low) / 2.0, atom.region.distance(found.value()));
    // The width falls with the root of the number of seeds.
    let seeds = (n as f64 * (half / distance).powi(2)).ceil().max(n as f64 + 1.0);
    let apart = low.abs().max(high.abs()).exp_m1() * 100.0;
    let alike = matches!(atom.question, Question::Ratio(..)) && apart < 10.0;
    match (seeds <= SEEDS_OFFERED, alike) {
        (true, false) => format!("about {seeds} seeds would decide it"),
        // So near each other that nobody needs to know who is ahead: no number of seeds decides
        // between twins.
        (true, true) if apart < 1.0 => format!("they differ by less than {} %", digits(apart)),
        (true, true) => {
            let apart = digits(apart);
            format!("they differ by less than {apart} %; about {seeds} seeds would decide it")
        }
        (false, true) => format!("they differ by less than {} %", digits(apart)),
        (false, false) => format!("more than {SEEDS_OFFERED} seeds would be needed to decide it"),
    }
}

/// The questions of a claim; `None` where it cannot be tested.
pub(crate) fn atoms_of(study: &Study, claim: &Claim) -> Option<Vec<Atom>> {
    match &claim.test {
        Test::Untestable(_) => None,
        Test::Statements(all) => Some(all.iter().flat_map(|one| atom::atoms(study, one)).collect()),
    }
}

/// Why a question has no number.
struct Lack {
    /// Whether something was run for it.
    run: bool,
    reason: String,
    takes: Option<String>,
}

/// The number a question asks for, with the seeds it rests on.
fn estimate(figures: &Figures<'_>, atom: &Atom) -> Result<(Estimated, usize), Lack> {
    let missing = |reason: String| Lack { run: false, reason, takes: None };
    let mut series: Vec<Vec<Observation>> = Vec::new();
    for cell in atom.question.cells() {
        let found = figures.of_cell(cell).map_err(missing)?;
        if found.len() < SEEDS_MIN {
            return Err(Lack {
                run: true,
                reason: format!(
                    "{} of the {SEEDS_MIN} seeds a verdict needs ({} in {})",
                    found.len(),
                    cell.column,
                    figures.called(&cell.row)
                ),
                takes: None,
            });
        }
        if no_seed_decides(figures, atom) {
            let share = figures.share_of(&cell.row).unwrap_or(1.0);
            return Err(Lack {
                run: true,
                reason: format!("an amount of time says nothing at {}", atom::percent(share)),
                takes: Some("a run at the published size would decide it".to_owned()),
            });
        }
        series.push(found);
    }
    let n = series.iter().map(Vec::len).min().unwrap_or(0);
    let estimated = match (&atom.question, &series[..]) {
        (Question::Ratio(..), [a, b]) => compared(a, b).map(Estimated::from),
        (Question::Beside(_), [a, b, c, d]) => {
            compared(&quotients(a, b), &quotients(c, d)).map(Estimated::from)
        }
        (Question::Difference(..), [a, b]) => Estimated::difference(a, b),
        (Question::Spread(..), [a, b]) => Estimated::spread(&values(a), &values(b)),
        (_, [a, ..]) => Estimated::log_mean(&values(a)),
        (_, []) => return Err(missing("nothing was asked".to_owned())),
    };
    let lack =
        |missing: stats::Missing| Lack { run: true, reason: missing.to_string(), takes: None };
    estimated.map(|found| (found, n)).map_err(lack)
}

/// Whether it asks for an amount of time, which says nothing at another size than the page's.
pub(crate) fn no_seed_decides(figures: &Figures<'_>, atom: &Atom) -> bool {
    let scaled = |row: &&str| figures.share_of(row).is_some_and(|share| share != 1.0);
    atom.question.is_absolute() && atom.unit.is_time() && atom.rows().iter().any(scaled)
}

/// a ÷ b for each seed that both have.
pub(crate) fn quotients(a: &[Observation], b: &[Observation]) -> Vec<Observation> {
    let of = |x: &Observation| {
        let y = b.iter().find(|y| y.block == x.block)?;
        Some(Observation { value: x.value / y.value, ..*x })
    };
    a.iter().filter_map(of).collect()
}

/// By seed where both have the same ones, else as independent samples.
pub(crate) fn compared(a: &[Observation], b: &[Observation]) -> Result<Comparison, stats::Missing> {
    let shared = a.iter().filter(|x| b.iter().any(|y| y.block == x.block)).count();
    match shared >= SEEDS_MIN || shared * 2 > a.len().max(b.len()) {
        true => paired(a, b, Resolution::Fine),
        false => welch(&values(a), &values(b), Resolution::Fine),
    }
}

fn values(series: &[Observation]) -> Vec<f64> {
    series.iter().map(|observation| observation.value).collect()
}
