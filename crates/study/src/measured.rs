//! Judges claims by what was measured.

use stats::{
    Comparison, Decision, Estimated, Observation, Resolution, decide, paired, share_of_look, welch,
};

use crate::atom::{Atom, Question, digits};
use crate::figures::Figures;
use crate::verdict::{Answer, Judged, Verdict};
use crate::{Claim, Study, Test, atom};

/// Error rate of all questions of a claim together.
pub(crate) const ALPHA: f64 = 0.05;

/// Seeds a cell needs before it may decide a claim.
pub const SEEDS_MIN: usize = 3;

/// A report names the number of seeds that would decide a question only up to this many.
const SEEDS_OFFERED: f64 = 100.0;

/// The verdict on every claim under one set of assumptions, in the order of the study;
/// `None` for what cannot be tested. The questions of a claim are one family (Holm): a reader
/// takes each claim's verdict by itself, and more claims in a study should not make each harder
/// to decide.
///
/// `looks` holds what was known each time results were looked at to decide whether to add seeds;
/// the last one holds everything. Each look has its own share of the error rate, so that looking
/// repeatedly finds no more by chance than looking once; what one look has decided stays decided,
/// except by a borrowed spread ([`stands`]).
///
/// `own` is what was measured on the study's own machine, if `looks` are of another: with fewer
/// seeds than a verdict needs, its spread is used.
pub(crate) fn judge(
    study: &Study,
    looks: &[Figures<'_>],
    own: Option<&Figures<'_>>,
) -> Vec<Option<Judged>> {
    let asked: Vec<Option<Vec<Atom>>> = study.claims.iter().map(|c| atoms_of(study, c)).collect();
    let all: Vec<&Atom> = asked.iter().flatten().flatten().collect();
    let questions: Vec<usize> = asked.iter().flatten().flat_map(|it| atom::questions(it)).collect();
    let families: Vec<usize> = asked.iter().flatten().map(Vec::len).collect();
    let mut answers: Vec<Answer> = Vec::new();
    for (look, figures) in looks.iter().enumerate() {
        let beside = Beside { figures, own };
        let now = look_at(&beside, &all, &questions, &families, share_of_look(ALPHA, look));
        let before = std::mem::take(&mut answers);
        let mut before = before.iter();
        answers = now
            .into_iter()
            .map(|answer| match before.next() {
                Some(before) if stands(before, &answer) => still(before, answer),
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

/// Whether what an earlier look decided stands where a later one leaves it open. It does not where it
/// was decided by the spread of the study's own machine, and this machine's own is known now.
fn stands(before: &Answer, now: &Answer) -> bool {
    let open = !now.verdict.is_decided() && now.found.is_some();
    before.verdict.is_decided() && open && (now.borrowed || !before.borrowed)
}

/// What an earlier look decided, with the figures that decided it and those of all seeds.
fn still(before: &Answer, now: Answer) -> Answer {
    let seeds = |answer: &Answer| answer.n.map_or(String::new(), |n| report::counted(n, "seed"));
    let reason = now
        .found
        .as_ref()
        .map(|found| format!("decided by {}; {} give {found}", seeds(before), seeds(&now)));
    Answer { reason, ..before.clone() }
}

/// Figures of one machine, and those of the study's own machine if that is a different one.
struct Beside<'a, 's> {
    figures: &'a Figures<'s>,
    own: Option<&'a Figures<'s>>,
}

/// What one look finds for all questions; `families` holds the number of questions of each claim,
/// in order.
fn look_at(
    beside: &Beside<'_, '_>,
    all: &[&Atom],
    questions: &[usize],
    families: &[usize],
    alpha: f64,
) -> Vec<Answer> {
    let estimated: Vec<Result<Found, Lack>> =
        all.iter().map(|atom| estimate(beside, atom)).collect();
    let mut asked = all.iter().zip(&estimated);
    let mut decisions: Vec<Decision> = Vec::new();
    for size in families {
        let family: Vec<_> = asked
            .by_ref()
            .take(*size)
            .filter_map(|(atom, found)| Some((found.as_ref().ok()?.estimated, atom.region)))
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
                Ok(found) => match decisions.next() {
                    None => blank,
                    Some(decision) => {
                        // Each look spends its share: as if it had all of it.
                        let p = (decision.p_adjusted * ALPHA / alpha).min(1.0);
                        Answer { p: Some(p), ..answered(atom, blank, &found, &decision) }
                    }
                },
            }
        })
        .collect()
}

/// If two contenders are nearer to each other than this, as a logarithm, neither is ahead: a
/// thousandth. In the lab three seeds of identical contenders can agree on a smaller difference
/// (seen on 2026-11-26: twins were 0.04 % apart with p = 0.002, in one lab of many), and no page
/// could have measured it.
const NOBODY_AHEAD: f64 = 0.001;

fn answered(atom: &Atom, blank: Answer, of: &Found, decision: &Decision) -> Answer {
    let Found { estimated: found, n, borrowed } = of;
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
        takes: (verdict == Verdict::Undecided).then(|| takes(atom, of, decision)),
        n: Some(*n),
        borrowed: *borrowed,
        ..blank
    }
}

/// What would decide a question, given the spread seen so far; if that is out of reach, how far
/// apart the two can be at most.
fn takes(atom: &Atom, found: &Found, decision: &Decision) -> String {
    let (low, high) = (decision.interval.low, decision.interval.high);
    let (half, distance) = ((high - low) / 2.0, atom.region.distance(found.estimated.value()));
    // The width falls with the square root of the number of seeds.
    let n = found.n as f64;
    let seeds = (n * (half / distance).powi(2)).ceil().max(n + 1.0);
    let apart = low.abs().max(high.abs()).exp_m1() * 100.0;
    let alike = matches!(atom.question, Question::Ratio(..)) && apart < 10.0;
    match (seeds <= SEEDS_OFFERED, alike) {
        (true, false) => format!("about {seeds} seeds would decide it"),
        // The two are so near that it does not matter who is ahead, and no number of seeds decides
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

/// Why there is no answer to a question.
struct Lack {
    /// Whether anything was run for it.
    run: bool,
    reason: String,
    takes: Option<String>,
}

/// The number a question asks for.
struct Found {
    estimated: Estimated,
    /// Seeds it rests on.
    n: usize,
    /// Whether its spread is that of the study's own machine.
    borrowed: bool,
}

fn estimate(beside: &Beside<'_, '_>, atom: &Atom) -> Result<Found, Lack> {
    let figures = beside.figures;
    let series = series(figures, atom)?;
    if no_seed_decides(figures, atom) {
        let share = atom.rows().first().and_then(|row| figures.share_of(row)).unwrap_or(1.0);
        return Err(Lack {
            run: true,
            reason: format!(
                "a time measured at {} cannot be compared with the page's",
                atom::percent(share)
            ),
            takes: Some("a run at the published size would decide it".to_owned()),
        });
    }
    let fewest = series.iter().zip(atom.question.cells()).min_by_key(|(series, _)| series.len());
    let Some((fewest, cell)) = fewest.map(|(series, cell)| (series.len(), cell)) else {
        return Err(Lack { run: false, reason: "nothing was asked".to_owned(), takes: None });
    };
    if fewest >= SEEDS_MIN {
        let lack =
            |missing: stats::Missing| Lack { run: true, reason: missing.to_string(), takes: None };
        let estimated = of_series(&atom.question, &series).map_err(lack)?;
        return Ok(Found { estimated, n: fewest, borrowed: false });
    }
    beside.own.and_then(|own| few_seeds(own, atom, &series)).ok_or_else(|| Lack {
        run: true,
        reason: format!(
            "{fewest} of the {SEEDS_MIN} seeds a verdict needs ({} in {})",
            cell.column,
            figures.called(&cell.row)
        ),
        takes: None,
    })
}

/// The figures of every cell that a question is about, by seed.
fn series(figures: &Figures<'_>, atom: &Atom) -> Result<Vec<Vec<Observation>>, Lack> {
    let missing = |reason: String| Lack { run: false, reason, takes: None };
    let cells = atom.question.cells().into_iter();
    cells.map(|cell| figures.of_cell(cell).map_err(missing)).collect()
}

fn of_series(
    question: &Question,
    series: &[Vec<Observation>],
) -> Result<Estimated, stats::Missing> {
    match (question, series) {
        (Question::Ratio(..), [a, b]) => compared(a, b).map(Estimated::from),
        (Question::Beside(_), [a, b, c, d]) => {
            compared(&quotients(a, b), &quotients(c, d)).map(Estimated::from)
        }
        (Question::Difference(..), [a, b]) => Estimated::difference(a, b),
        (Question::Spread(..), [a, b]) => Estimated::spread(&values(a), &values(b)),
        (_, series) => Estimated::log_mean(&series.first().map(|a| values(a)).unwrap_or_default()),
    }
}

/// With fewer seeds on another machine than a verdict needs, their spread is assumed to be this
/// many times that of the study's own machine: their own is not known and may be larger.
pub(crate) const BORROWED_SPREAD: f64 = 2.0;

/// The answer from fewer seeds than a verdict needs, on another machine than the study's own:
/// their mean, seed by seed, with the spread that the study's own machine showed, widened by
/// [`BORROWED_SPREAD`]. `None` for a ratio of spreads, which needs its own spread.
fn few_seeds(own: &Figures<'_>, atom: &Atom, few: &[Vec<Observation>]) -> Option<Found> {
    let each: Vec<f64> = match (&atom.question, few) {
        (Question::Ratio(..), [a, b]) => logs(&quotients(a, b)),
        (Question::Beside(_), [a, b, c, d]) => logs(&quotients(&quotients(a, b), &quotients(c, d))),
        (Question::Difference(..), [a, b]) => {
            let pairs = a.iter().filter_map(|x| Some((x, b.iter().find(|y| y.block == x.block)?)));
            pairs.map(|(x, y)| x.value - y.value).collect()
        }
        (Question::Value(_), [a]) => logs(a),
        _ => return None,
    };
    if each.is_empty() || each.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let series = series(own, atom).ok()?;
    let of = series.iter().map(Vec::len).min().filter(|seeds| *seeds >= SEEDS_MIN)?;
    let own = of_series(&atom.question, &series).ok()?;
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let estimated = Estimated::with_spread_of(mean, each.len(), &own, of, BORROWED_SPREAD)?;
    Some(Found { estimated, n: each.len(), borrowed: true })
}

fn logs(series: &[Observation]) -> Vec<f64> {
    series.iter().map(|observation| observation.value.ln()).collect()
}

/// Whether it asks for an amount of time but was run at another size than the page's, so that no
/// number of seeds decides it.
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

/// Pairs by seed where both have the same ones; otherwise compares independent samples.
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
