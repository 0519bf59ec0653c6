//! What was measured for the cells of a study's tables, under one set of assumptions.

use std::collections::BTreeMap;

use report::{Analysis, Cell, Footnote, PhaseAnalysis, Reason, WorkloadAnalysis, analyse};
use runner::StudyTag;
use stats::Observation;
use store::StoredRun;
use trial::Outcome;

use crate::atom::CellName;
use crate::{Measured, Part, Published, Row, Study};

/// A run of the store that belongs to a study.
#[derive(Debug, Clone)]
pub struct PartRun {
    /// The part, size and assumption it belongs to.
    pub tag: StudyTag,
    /// The run.
    pub run: StoredRun,
}

/// Which runs of a study belong together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Which<'a> {
    /// The assumption; `None` for the study's own machine.
    pub(crate) assumption: Option<&'a str>,
    /// The size asked for; `None` for the study's own.
    pub(crate) size: Option<f64>,
    /// Trials planned at a later look than this are left out.
    pub(crate) look: u32,
}

impl Which<'_> {
    /// Whether a run belongs to them.
    pub(crate) fn takes(&self, tag: &StudyTag) -> bool {
        tag.assumption.as_deref() == self.assumption
            && tag.size == self.size
            && tag.look <= self.look
    }
}

/// All runs of one assumption, part by part.
pub(crate) struct Figures<'s> {
    study: &'s Study,
    parts: BTreeMap<String, PartFigures>,
}

/// One part's runs, taken together.
pub(crate) struct PartFigures {
    pub(crate) run: StoredRun,
    pub(crate) analysis: Analysis,
}

impl<'s> Figures<'s> {
    /// Takes those of `runs` that belong together.
    pub(crate) fn of(study: &'s Study, runs: &[PartRun], which: Which<'_>) -> Figures<'s> {
        let mut parts: BTreeMap<String, PartFigures> = BTreeMap::new();
        for part in &study.parts {
            let own: Vec<&StoredRun> = runs
                .iter()
                .filter(|it| it.tag.part == part.id && which.takes(&it.tag))
                .map(|it| &it.run)
                .collect();
            let Some(first) = own.first() else { continue };
            let mut run = StoredRun { header: first.header.clone(), trials: Vec::new() };
            for trial in own.iter().flat_map(|run| &run.trials) {
                let mut trial = trial.clone();
                trial.ordinal = u32::try_from(run.trials.len()).unwrap_or(u32::MAX);
                run.trials.push(trial);
            }
            let figures = PartFigures { analysis: analyse(&run), run };
            parts.insert(part.id.clone(), figures);
        }
        Figures { study, parts }
    }

    /// What was known at each look at these results; the last look has everything. Empty if
    /// nothing was run.
    pub(crate) fn looks(
        study: &'s Study,
        runs: &[PartRun],
        assumption: Option<&str>,
        size: Option<f64>,
    ) -> Vec<Figures<'s>> {
        let all = Which { assumption, size, look: u32::MAX };
        let of_these = runs.iter().filter(|it| all.takes(&it.tag));
        let mut known: Vec<u32> = of_these.map(|it| it.tag.look).collect();
        known.sort_unstable();
        known.dedup();
        let of = |look| Figures::of(study, runs, Which { look, ..all });
        known.into_iter().map(of).collect()
    }

    /// The runs of a part.
    pub(crate) fn part(&self, id: &str) -> Option<&PartFigures> {
        self.parts.get(id)
    }

    /// How many seeds of a contender were tried in a part.
    pub(crate) fn tried(&self, part: &str, contender: &str) -> usize {
        let trials = self.parts.get(part).map_or(&[][..], |figures| &figures.run.trials);
        let own = trials.iter().filter(|trial| trial.spec.contender.name == contender);
        own.map(|trial| trial.spec.block as usize + 1).max().unwrap_or(0)
    }

    /// Whether any trial of a part ended well.
    pub(crate) fn has_figures(&self, part: &str) -> bool {
        let trials = self.parts.get(part).map_or(&[][..], |figures| &figures.run.trials);
        trials.iter().any(|trial| trial.outcome.as_ref().is_some_and(Outcome::is_done))
    }

    /// A row's name in a sentence.
    pub(crate) fn called<'a>(&'a self, row: &'a str) -> &'a str {
        self.study.called(row)
    }

    /// The size at which a row's part was run, as a share of the published one.
    pub(crate) fn share_of(&self, row: &str) -> Option<f64> {
        self.share_of_part(&self.study.row(row)?.0.part)
    }

    /// The size at which a part was run, as a share of the published one.
    pub(crate) fn share_of_part(&self, part: &str) -> Option<f64> {
        let full = self.study.part(part)?.published_scale;
        Some(self.part(part)?.run.header.scale / full)
    }

    /// The figures of single trials for a cell, in the row's unit. Trials that share a seed
    /// share a block, also those of different parts.
    ///
    /// # Errors
    /// With the reason why there is none.
    pub(crate) fn of_cell(&self, cell: &CellName) -> Result<Vec<Observation>, String> {
        let (table, row) =
            self.study.row(&cell.row).ok_or_else(|| format!("there is no row {}", cell.row))?;
        let part = self.study.part(&table.part).ok_or("the study has no part for this table")?;
        self.of_row(table, row, part, &cell.column)
    }

    fn of_row(
        &self,
        table: &Published,
        row: &Row,
        part: &Part,
        column: &str,
    ) -> Result<Vec<Observation>, String> {
        let Measured::Metric { workload, phases, metric } = &row.measured else {
            let Measured::Nothing(why) = &row.measured else { return Err(String::new()) };
            return Err(format!("not measured: {why}"));
        };
        if let Some(absent) = part.absent.iter().find(|absent| absent.contender == column) {
            return Err(format!("{column}: {}", absent.reason));
        }
        let figures = self
            .part(&table.part)
            .ok_or_else(|| format!("the part \"{}\" was not run", part.title))?;
        let analysed = figures
            .workload(part, workload)
            .ok_or_else(|| format!("the workload {workload} of \"{}\" was not run", part.title))?;
        let at = figures
            .analysis
            .contenders
            .iter()
            .position(|contender| contender.name == column)
            .ok_or_else(|| format!("{column} was not run"))?;
        let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
        let mut reason = None;
        for phase in phases {
            let analysed = analysed.phases.iter().find(|known| known.name == *phase);
            let Some(analysed) = analysed else {
                return Err(format!("phase {phase} was not run with these parameters"));
            };
            let found = analysed.table(metric);
            let Some(found) = found else {
                let why = analysed.footnotes.iter().find(|note| note.contenders.contains(&at));
                let why = why.map_or("no trial has this metric".to_owned(), in_short);
                return Err(format!("{column}: {why}"));
            };
            let factor = row
                .unit
                .of(found.metric.unit)
                .ok_or_else(|| format!("metric {metric} cannot be shown in `{}`", row.unit))?;
            let Some(cell) = found.cells.get(at) else { continue };
            reason = reason.or_else(|| why_missing(cell, analysed));
            // Figures that contain too much of the lab's own overhead must not decide a claim.
            for figure in cell.figures.iter().filter(|figure| figure.overhead.is_none()) {
                let sum = sums.entry(figure.trial).or_default();
                *sum = (sum.0 + 1, sum.1 + figure.value * factor);
            }
        }
        let whole: Vec<Observation> = sums
            .into_iter()
            .filter(|(_, (found, _))| *found == phases.len())
            .filter_map(|(trial, (_, value))| {
                Some(Observation { block: figures.seed(trial)?, value })
            })
            .collect();
        match (whole.is_empty(), reason) {
            (false, _) => Ok(whole),
            (true, Some(reason)) => Err(format!("{column}: {reason}")),
            (true, None) => Err(format!("{column} has no figure")),
        }
    }
}

/// Why a cell has no figure that may decide a claim.
fn why_missing(cell: &Cell, phase: &PhaseAnalysis) -> Option<String> {
    if let Some(share) = cell.overhead() {
        let share = share * 100.0;
        return Some(format!("the simulation's own transport took {share:.1} % of the time"));
    }
    let note = cell.footnotes.first()?;
    Some(in_short(phase.footnotes.get(note - 1)?))
}

/// A refusal is reported once, in the notes, not beside each of a contender's cells and questions.
fn in_short(note: &Footnote) -> String {
    match &note.reason {
        Reason::Trial { end: Outcome::Refused { .. } } if note.all_trials => {
            "trial refused, as the notes say".to_owned()
        }
        _ => note.text.clone(),
    }
}

impl PartFigures {
    /// The analysis of a part's workload: by its parameters, and where a sequence has the
    /// same one several times, by its place among them.
    pub(crate) fn workload(&self, part: &Part, id: &str) -> Option<&WorkloadAnalysis> {
        let scale = self.run.header.scale;
        let key = |at: usize| {
            let asked = &part.workloads[at];
            let resolved = asked.at_scale(scale)?;
            let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            Some((asked.request.name.clone(), resolved.iter().map(own).collect::<Vec<_>>()))
        };
        let at = part.workloads.iter().position(|known| known.id == id)?;
        let (name, parameters) = key(at)?;
        let before = match part.sequence {
            true => (0..at).filter(|earlier| key(*earlier) == key(at)).count(),
            false => 0,
        };
        self.analysis
            .workloads
            .iter()
            .filter(|known| {
                // A parameter that only one of two versions of fstrial knows is ignored.
                let other = |(name, value): &(String, String)| {
                    parameters.iter().any(|(known, now)| known == name && now != value)
                };
                known.name == name && !known.parameters.iter().any(other)
            })
            .nth(before)
    }

    /// A trial's seed as 32 bits: seeds are evenly distributed and a study has few, so these
    /// tell them apart.
    fn seed(&self, trial: u32) -> Option<u32> {
        let seed = self.run.trials.get(usize::try_from(trial).ok()?)?.spec.seed.0;
        Some((seed ^ (seed >> 32)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_notes_alone() {
        let said = |end: Outcome, all_trials: bool| {
            let text = "1 of 4 trials: trial failed at mount: no such device".to_owned();
            in_short(&Footnote {
                contenders: vec![0],
                text,
                reason: Reason::Trial { end },
                all_trials,
            })
        };
        let refused = Outcome::Refused { reason: "this lab's kernel has no reiser4".to_owned() };
        assert_eq!(said(refused.clone(), true), "trial refused, as the notes say");
        let some = "1 of 4 trials: trial failed at mount: no such device";
        assert_eq!(said(Outcome::Done, true), some);
        assert_eq!(said(refused, false), some);
    }
}
