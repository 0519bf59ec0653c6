//! How long a run will take, from trials that have been run before.

use std::collections::BTreeMap;
use std::time::Duration;

use store::{StoredRun, StoredTrial};
use trial::TrialSpec;

/// Wall time by kind of trial: workloads with parameters, and filesystem.
#[derive(Debug, Clone, Default)]
pub struct Durations(BTreeMap<String, Vec<Duration>>);

/// An estimate, and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Time for all trials.
    pub total: Duration,
    /// How many of the trials have an earlier one like them.
    pub known: usize,
    /// How many trials there are.
    pub trials: usize,
}

impl Durations {
    /// Adds a finished trial.
    pub fn add(&mut self, spec: &TrialSpec, took: Duration) {
        for key in keys(spec) {
            self.0.entry(key).or_default().push(took);
        }
    }

    /// Adds the finished trials of an earlier run: the time inside their phases.
    pub fn add_run(&mut self, run: &StoredRun) {
        let finished = |trial: &&StoredTrial| trial.outcome.as_ref().is_some_and(|o| o.is_done());
        for trial in run.trials.iter().filter(finished) {
            let took = trial.phases.iter().map(|phase| Duration::from(phase.wall)).sum();
            self.add(&trial.spec, took);
        }
    }

    /// The time these trials will take; `None` where nothing like them was ever run.
    pub fn estimate(&self, specs: &[TrialSpec]) -> Option<Estimate> {
        let known: Vec<Duration> = specs.iter().filter_map(|spec| self.one(spec)).collect();
        if known.is_empty() {
            return None;
        }
        let mean = known.iter().sum::<Duration>() / known.len() as u32;
        let total = mean * u32::try_from(specs.len()).unwrap_or(u32::MAX);
        Some(Estimate { total, known: known.len(), trials: specs.len() })
    }

    /// Mean of like trials: same workloads and filesystem, else same workloads.
    fn one(&self, spec: &TrialSpec) -> Option<Duration> {
        keys(spec).iter().find_map(|key| {
            let times = self.0.get(key)?;
            Some(times.iter().sum::<Duration>() / u32::try_from(times.len()).ok()?)
        })
    }
}

/// From the most to the least alike.
fn keys(spec: &TrialSpec) -> [String; 2] {
    let workloads: Vec<String> = spec
        .workloads
        .iter()
        .map(|choice| {
            let parameters: Vec<_> =
                choice.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{}:{}", choice.name, parameters.join(":"))
        })
        .collect();
    let workloads = workloads.join("+");
    [format!("{workloads} on {}", spec.contender.filesystem), workloads]
}
