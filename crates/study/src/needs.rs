//! Which cells need more seeds until every interval that decides a claim is narrow enough.

use stats::{FixedWidth, Next, Observation};

use crate::atom::{Atom, CellName, Question};
use crate::figures::{Figures, PartRun};
use crate::measured::{SEEDS_MIN, atoms_of, judge, no_seed_decides, quotients};
use crate::{Measured, Study};

/// A cell and how many seeds it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The part.
    pub(crate) part: String,
    /// The contender.
    pub(crate) contender: String,
    /// The workload's name within the part.
    pub(crate) workload: String,
    /// Seeds in total, including those it already has.
    pub(crate) seeds: usize,
}

/// The cells that need more seeds: those of every question that is not decided and whose interval
/// still reaches more than `half_width` (0.02: 2 %) to either side. A cell's seeds at most double
/// (or reach the minimum), since its spread is known only from the seeds it has.
pub(crate) fn needs(
    study: &Study,
    runs: &[PartRun],
    assumption: Option<&str>,
    size: Option<f64>,
    half_width: f64,
) -> Vec<Need> {
    let looks = Figures::looks(study, runs, assumption, size);
    let Some(figures) = looks.last() else { return Vec::new() };
    let own = assumption.and_then(|_| Figures::looks(study, runs, None, size).pop());
    let rule = FixedWidth { repeats_min: SEEDS_MIN, ..FixedWidth::new(half_width) };
    let mut needs: Vec<Need> = Vec::new();
    for (claim, judged) in study.claims.iter().zip(judge(study, &looks, own.as_ref())) {
        let (Some(atoms), Some(judged)) = (atoms_of(study, claim), judged) else { continue };
        for (atom, answer) in atoms.iter().zip(&judged.answers) {
            if answer.verdict.is_decided() || no_seed_decides(figures, atom) {
                continue;
            }
            let Some((have, further)) = further(figures, &rule, atom) else { continue };
            let seeds = have + further.min(have.max(rule.repeats_min));
            need(study, atom, seeds, &mut needs);
        }
    }
    needs
}

/// The cells that lost trials: claims need them, and some but not all of their planned trials
/// gave a figure. Further seeds replace the lost ones, at most as many as were planned.
pub(crate) fn lost(
    study: &Study,
    runs: &[PartRun],
    assumption: Option<&str>,
    size: Option<f64>,
    planned: usize,
) -> Vec<Need> {
    let looks = Figures::looks(study, runs, assumption, size);
    let Some(figures) = looks.last() else { return Vec::new() };
    let mut needs = Vec::new();
    for atom in study.claims.iter().filter_map(|claim| atoms_of(study, claim)).flatten() {
        for cell in atom.question.cells() {
            let Some((table, _)) = study.row(&cell.row) else { continue };
            let have = figures.of_cell(cell).map_or(0, |found| found.len());
            let tried = figures.tried(&table.part, &cell.column);
            if have > 0 && have < planned && tried < 2 * planned {
                let seeds = (tried + planned - have).min(2 * planned);
                need_of_cell(study, cell, seeds, &mut needs);
            }
        }
    }
    needs
}

fn need(study: &Study, atom: &Atom, seeds: usize, needs: &mut Vec<Need>) {
    for cell in atom.question.cells() {
        need_of_cell(study, cell, seeds, needs);
    }
}

fn need_of_cell(study: &Study, cell: &CellName, seeds: usize, needs: &mut Vec<Need>) {
    let Some((table, row)) = study.row(&cell.row) else { return };
    let Measured::Metric { workload, .. } = &row.measured else { return };
    let known = needs.iter_mut().find(|need| {
        need.part == table.part && need.contender == cell.column && need.workload == *workload
    });
    match known {
        Some(need) => need.seeds = need.seeds.max(seeds),
        None => needs.push(Need {
            part: table.part.clone(),
            contender: cell.column.clone(),
            workload: workload.clone(),
            seeds,
        }),
    }
}

/// How many seeds a question has and how many more it needs; `None` if it has enough, or no
/// figure at all.
fn further(figures: &Figures<'_>, rule: &FixedWidth, atom: &Atom) -> Option<(usize, usize)> {
    let series: Vec<_> = atom
        .question
        .cells()
        .into_iter()
        .map(|cell| figures.of_cell(cell).ok())
        .collect::<Option<_>>()?;
    let values = |series: Vec<Observation>| series.iter().map(|one| one.value).collect();
    let values: Vec<f64> = match (&atom.question, &series[..]) {
        (Question::Ratio(..) | Question::Difference(..), [a, b]) => values(quotients(a, b)),
        (Question::Beside(_), [a, b, c, d]) => {
            values(quotients(&quotients(a, b), &quotients(c, d)))
        }
        (_, series) => series.first()?.iter().map(|one| one.value).collect(),
    };
    match rule.next(&values) {
        Ok(Next::GoOn { further }) => Some((values.len(), further)),
        _ => None,
    }
}
