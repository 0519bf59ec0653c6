//! What a study still lacks before every interval a claim rests on is narrow enough.

use stats::{FixedWidth, Next};

use crate::atom::{Atom, Question};
use crate::figures::{Figures, PartRun, Which};
use crate::measured::atoms_of;
use crate::{Measured, Study};

/// A cell and how many seeds it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The part.
    pub part: String,
    /// The contender.
    pub contender: String,
    /// The workload's name within the part.
    pub workload: String,
    /// Seeds in all, those it has among them.
    pub seeds: usize,
}

/// The cells that need more seeds until every interval reaches at most `half_width` (0.02:
/// 2 %) to either side. At most as many more as a cell has, since what is known of its
/// spread rests on those.
pub fn needs(
    study: &Study,
    runs: &[PartRun],
    assumption: Option<&str>,
    size: Option<f64>,
    half_width: f64,
) -> Vec<Need> {
    let figures = Figures::of(study, runs, Which { assumption, size, look: u32::MAX });
    let rule = FixedWidth::new(half_width);
    let mut needs: Vec<Need> = Vec::new();
    for atom in study.claims.iter().filter_map(|claim| atoms_of(study, claim)).flatten() {
        let Some((have, further)) = further(&figures, &rule, &atom) else { continue };
        let seeds = have + further.min(have.max(rule.repeats_min));
        for cell in atom.question.cells() {
            let Some((table, row)) = study.row(&cell.row) else { continue };
            let Measured::Metric { workload, .. } = &row.measured else { continue };
            let known = needs.iter_mut().find(|need| {
                need.part == table.part
                    && need.contender == cell.column
                    && need.workload == *workload
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
    }
    needs
}

/// How many seeds a question rests on and how many more it takes; nothing where it has
/// enough, or no figure at all.
fn further(figures: &Figures<'_>, rule: &FixedWidth, atom: &Atom) -> Option<(usize, usize)> {
    let series: Vec<_> = atom
        .question
        .cells()
        .into_iter()
        .map(|cell| figures.of_cell(cell).ok())
        .collect::<Option<_>>()?;
    let values: Vec<f64> = match (&atom.question, &series[..]) {
        (Question::Ratio(..) | Question::Difference(..), [a, b]) => a
            .iter()
            .filter_map(|x| Some(x.value / b.iter().find(|y| y.block == x.block)?.value))
            .collect(),
        (_, series) => series.first()?.iter().map(|one| one.value).collect(),
    };
    match rule.next(&values) {
        Ok(Next::GoOn { further }) => Some((values.len(), further)),
        _ => None,
    }
}
