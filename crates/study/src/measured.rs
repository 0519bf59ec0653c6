//! Claims on what was measured.

use stats::{Comparison, Estimated, Observation, Resolution, decide, paired, welch};

use crate::atom::{Atom, Question, digits};
use crate::figures::Figures;
use crate::verdict::{Answer, Judged, Verdict};
use crate::{Claim, Study, Test, atom};

/// Error rate of all questions of a study together.
pub(crate) const ALPHA: f64 = 0.05;

/// Seeds a cell needs before a claim may rest on it.
pub const SEEDS_MIN: usize = 8;

/// The verdict on every claim under one set of assumptions, in the order of the study;
/// `None` for what cannot be tested. All questions of all claims are one family (Holm).
pub(crate) fn judge(study: &Study, figures: &Figures<'_>) -> Vec<Option<Judged>> {
    let asked: Vec<Option<Vec<Atom>>> = study.claims.iter().map(|c| atoms_of(study, c)).collect();
    let all: Vec<&Atom> = asked.iter().flatten().flatten().collect();
    let estimated: Vec<Result<(Estimated, usize), String>> =
        all.iter().map(|atom| estimate(figures, atom)).collect();
    let family: Vec<_> = all
        .iter()
        .zip(&estimated)
        .filter_map(|(atom, found)| Some((found.as_ref().ok()?.0, atom.region)))
        .collect();
    let mut decisions = decide(&family, ALPHA).into_iter();
    let mut answers = all.iter().zip(estimated).map(|(atom, found)| match found {
        Err(reason) => Answer { reason: Some(reason), ..blank(atom) },
        Ok((found, n)) => match decisions.next() {
            None => blank(atom),
            Some(decision) => {
                let (low, high) = (decision.interval.low, decision.interval.high);
                let verdict = match decision.inside {
                    Some(true) => Verdict::Holds,
                    Some(false) => Verdict::DoesNotHold,
                    None => Verdict::Undecided,
                };
                let told = format!(
                    "{} ({} to {})",
                    atom.shown(found.value()),
                    atom.shown(low),
                    atom.shown(high)
                );
                Answer {
                    found: Some(told),
                    verdict,
                    p: Some(decision.p_adjusted),
                    n: Some(n),
                    ..blank(atom)
                }
            }
        },
    });
    let judged = asked.iter().map(|atoms| {
        let atoms = atoms.as_ref()?;
        Some(Judged::of(answers.by_ref().take(atoms.len()).collect()))
    });
    judged.collect()
}

/// The questions of a claim; `None` where it cannot be tested.
pub(crate) fn atoms_of(study: &Study, claim: &Claim) -> Option<Vec<Atom>> {
    match &claim.test {
        Test::Untestable(_) => None,
        Test::Statements(all) => Some(all.iter().flat_map(|one| atom::atoms(study, one)).collect()),
    }
}

fn blank(atom: &Atom) -> Answer {
    Answer {
        asked: atom.asked(),
        wanted: atom.wanted(),
        found: None,
        verdict: Verdict::Undecided,
        reason: None,
        p: None,
        n: None,
    }
}

/// The number a question asks for, with the seeds it rests on.
fn estimate(figures: &Figures<'_>, atom: &Atom) -> Result<(Estimated, usize), String> {
    let mut series: Vec<Vec<Observation>> = Vec::new();
    for cell in atom.question.cells() {
        let found = figures.of_cell(cell)?;
        if found.len() < SEEDS_MIN {
            return Err(format!(
                "{} of the {SEEDS_MIN} seeds a verdict needs ({} in {})",
                found.len(),
                cell.column,
                cell.row
            ));
        }
        let scale = figures.scale_of(&cell.row).unwrap_or(1.0);
        if scale != 1.0 && atom.question.is_absolute() && atom.unit.is_time() {
            return Err(format!("an amount of time says nothing at scale {}", digits(scale)));
        }
        series.push(found);
    }
    let n = series.iter().map(Vec::len).min().unwrap_or(0);
    let estimated = match (&atom.question, &series[..]) {
        (Question::Ratio(..), [a, b]) => compared(a, b).map(Estimated::from),
        (Question::Difference(..), [a, b]) => Estimated::difference(a, b),
        (Question::Spread(..), [a, b]) => Estimated::spread(&values(a), &values(b)),
        (_, [a, ..]) => Estimated::log_mean(&values(a)),
        (_, []) => return Err("nothing was asked".to_owned()),
    };
    estimated.map(|found| (found, n)).map_err(|missing| missing.to_string())
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
