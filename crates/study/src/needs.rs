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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict_tests::{run, study};

    fn series(seeds: &[u64]) -> Vec<(u64, f64)> {
        seeds.iter().map(|seed| (*seed, 1.0 + 0.3 * (*seed as f64).sin())).collect()
    }

    fn seeds_of(needs: &[Need]) -> Vec<(&str, usize)> {
        needs.iter().map(|need| (need.contender.as_str(), need.seeds)).collect()
    }

    /// Three seeds, far apart, ask for many more; what they have at most doubles.
    #[test]
    fn seeds_at_most_double_and_each_cell_is_named_once() {
        let found = |claim: &str, seeds: &[u64]| {
            let study = study("lower", "1, 1, 1", claim);
            let b: Vec<u64> = seeds.iter().map(|seed| seed + 7).collect();
            let b: Vec<(u64, f64)> =
                seeds.iter().zip(series(&b)).map(|(seed, (_, value))| (*seed, value)).collect();
            let runs = [run(&[("a", series(seeds)), ("b", b), ("c", series(seeds))])];
            let needs = needs(&study, &runs, None, None, 0.001);
            seeds_of(&needs).into_iter().map(|(name, n)| (name.to_owned(), n)).collect::<Vec<_>>()
        };
        let both = |n: usize| vec![("a".to_owned(), n), ("b".to_owned(), n)];
        assert_eq!(found("a better than b", &[0, 1, 2]), both(6));
        assert_eq!(found("a better than b", &[0, 1, 2, 3, 4]), both(10));
        // a is in both questions.
        let names: Vec<String> =
            found("a best", &[0, 1, 2]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.iter().filter(|name| *name == "a").count(), 1, "{names:?}");
    }

    #[test]
    fn lost_trials_are_replaced_by_at_most_as_many_as_were_planned() {
        let study = study("lower", "1, 1, 1", "a better than b");
        let of = |a: &[u64]| {
            let runs = [run(&[("a", series(a)), ("b", series(&[0, 1, 2]))])];
            let needs = lost(&study, &runs, None, None, 3);
            needs.iter().map(|need| (need.contender.clone(), need.seeds)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0, 1, 2]), [], "nothing was lost");
        assert_eq!(of(&[0, 2]), [("a".to_owned(), 4)], "one of the three tried");
        assert_eq!(of(&[0, 4]), [("a".to_owned(), 6)], "of five tried three were lost");
        assert_eq!(of(&[0, 5]), [], "six were tried for three");
        assert_eq!(of(&[]), [], "a contender that never runs is not tried again and again");
    }
}
