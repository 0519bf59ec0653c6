//! Bonnie++'s own lines, one for each trial of `bonnie`: for bon_csv2html and other people's
//! scripts. The machine's name is the contender's.

use std::collections::BTreeMap;

use store::{StoredRun, StoredTrial};
use workload::{BonnieCsv, PhaseResult, bonnie_csv};

use super::{Format, Options};
use crate::Analysis;

pub(super) struct Bonnie;

const WORKLOAD: &str = "bonnie";

impl Format for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie-csv"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write bonnie++'s own CSV line per trial of bonnie, for bon_csv2html")
    }

    fn lacks(&self, run: &StoredRun) -> Option<&'static str> {
        let has_line = |trial: &StoredTrial| trial.phases.iter().any(|it| it.workload == WORKLOAD);
        (!run.trials.iter().any(has_line)).then_some("the run has no figures of bonnie")
    }

    fn write(&self, _: &Analysis, run: &StoredRun, _: &Options) -> String {
        let lines: Vec<String> = run.trials.iter().flat_map(lines).collect();
        lines.join("\n") + "\n"
    }
}

/// A line each time that the trial did `bonnie`, with at least one phase.
fn lines(trial: &StoredTrial) -> Vec<String> {
    let choices = trial.spec.workloads.iter().filter(|choice| choice.name == WORKLOAD);
    let written = choices.enumerate().filter_map(|(nth, choice)| {
        let phases = phases(trial, nth);
        let format = match choice.parameters.iter().find(|(name, _)| *name == "manner") {
            Some((_, "1.03a")) => BonnieCsv::V103,
            _ => BonnieCsv::V198,
        };
        let name = name(&trial.spec.contender.name);
        let seed = trial.spec.seed.0;
        (!phases.is_empty()).then(|| bonnie_csv(format, &name, seed, &choice.parameters, &phases))
    });
    written.collect()
}

/// The phases of the trial's `bonnie` with this number, from 0: each has a name only once.
fn phases(trial: &StoredTrial, nth: usize) -> Vec<PhaseResult> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let own = trial.phases.iter().filter(|phase| phase.workload == WORKLOAD);
    own.filter(|phase| {
        let times = seen.entry(&phase.phase).or_default();
        *times += 1;
        *times == nth + 1
    })
    .cloned()
    .collect()
}

/// Its readers know no quotes, so that a name has no comma.
fn name(contender: &str) -> String {
    ::text::csv(contender).replace('"', "").replace(',', ";")
}
