//! How long a run will take, estimated from earlier trials on the same testbed and profile.

use std::collections::BTreeMap;
use std::time::Duration;

use store::{Store, StoreError};
use trial::TrialSpec;

/// How many earlier trials are looked at.
const LOOKED_AT: u32 = 2000;

/// The host's time by kind of trial: workloads with parameters, and filesystem.
#[derive(Debug, Clone, Default)]
pub struct Durations(BTreeMap<String, Times>);

#[derive(Debug, Clone, Copy, Default)]
struct Times {
    sum: Duration,
    count: u32,
}

impl Times {
    fn mean(self) -> Option<Duration> {
        self.sum.checked_div(self.count)
    }
}

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
    /// The times of earlier trials on this testbed and, in the lab, this machine profile.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn earlier(
        store: &Store,
        testbed: &str,
        profile: Option<&str>,
    ) -> Result<Durations, StoreError> {
        let mut durations = Durations::default();
        for (spec, took) in store.durations(testbed, profile, LOOKED_AT)? {
            durations.add(&spec, took);
        }
        Ok(durations)
    }

    /// Adds a finished trial.
    pub fn add(&mut self, spec: &TrialSpec, took: Duration) {
        for kind in kinds(spec) {
            let times = self.0.entry(kind).or_default();
            times.sum += took;
            times.count += 1;
        }
    }

    /// Mean of like trials: same workloads and filesystem, else same workloads.
    fn one(&self, kinds: &[String; 2]) -> Option<Duration> {
        kinds.iter().find_map(|kind| self.0.get(kind)?.mean())
    }

    /// The time these trials will take; `None` where fewer than half are like one that was run.
    pub fn estimate(&self, specs: &[TrialSpec]) -> Option<Estimate> {
        Remaining::of(specs).estimate(self)
    }
}

/// The trials that remain, counted by kind, so that an estimate for ten thousand costs no more than
/// one for ten.
#[derive(Debug, Clone, Default)]
pub struct Remaining(BTreeMap<[String; 2], usize>);

impl Remaining {
    /// These trials.
    pub fn of(specs: &[TrialSpec]) -> Remaining {
        let mut remaining = Remaining::default();
        for spec in specs {
            *remaining.0.entry(kinds(spec)).or_default() += 1;
        }
        remaining
    }

    /// One of them has ended.
    pub fn ended(&mut self, spec: &TrialSpec) {
        if let Some(count) = self.0.get_mut(&kinds(spec)) {
            *count = count.saturating_sub(1);
        }
    }

    /// The time they will take; `None` where fewer than half are like one that was run, which is
    /// too little for an estimate.
    pub fn estimate(&self, durations: &Durations) -> Option<Estimate> {
        let trials = self.0.values().sum::<usize>();
        let (mut known, mut sum) = (0, Duration::ZERO);
        for (kinds, count) in &self.0 {
            if let Some(one) = durations.one(kinds) {
                known += count;
                sum += one * u32::try_from(*count).unwrap_or(u32::MAX);
            }
        }
        if known == 0 || 2 * known < trials {
            return None;
        }
        let total = sum.mul_f64(trials as f64 / known as f64);
        Some(Estimate { total, known, trials })
    }
}

/// From the most to the least alike.
fn kinds(spec: &TrialSpec) -> [String; 2] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use stack::Contender;
    use trial::WorkloadChoice;
    use units::Nanos;
    use workload::{Parameters, Seed};

    fn spec(filesystem: &str, ops: u64) -> TrialSpec {
        let null = workload::find("null").unwrap().describe();
        let given = BTreeMap::from([("ops".to_owned(), ops.to_string())]);
        let parameters = Parameters::resolve(null, &given, 1.0).unwrap();
        TrialSpec {
            contender: Contender::plain(filesystem),
            workloads: vec![WorkloadChoice { name: "null".to_owned(), parameters }],
            seed: Seed(1),
            block: 0,
            size: None,
            verify: false,
            timeout: Nanos::from_secs(1),
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn like_trials_are_what_is_gone_by() {
        let mut durations = Durations::default();
        durations.add(&spec("ext4", 1), 2 * SECOND);
        durations.add(&spec("ext4", 1), 4 * SECOND);
        durations.add(&spec("xfs", 1), 12 * SECOND);
        let specs = [spec("ext4", 1), spec("ext4", 1), spec("xfs", 1), spec("btrfs", 1)];
        let mut remaining = Remaining::of(&specs);
        let all = remaining.estimate(&durations).unwrap();
        // 3 + 3 + 12, and for btrfs the mean of all with this workload.
        assert_eq!((all.total, all.known, all.trials), (24 * SECOND, 4, 4));
        remaining.ended(&specs[2]);
        assert_eq!(remaining.estimate(&durations).unwrap().total, 12 * SECOND);
        remaining.ended(&specs[2]);
        assert_eq!(remaining.estimate(&durations).unwrap().trials, 3, "it was the only one");
    }

    #[test]
    fn nothing_is_said_without_a_basis() {
        let mut durations = Durations::default();
        let specs = [spec("ext4", 1), spec("ext4", 2), spec("ext4", 3)];
        assert_eq!(durations.estimate(&specs), None);
        durations.add(&spec("ext4", 1), SECOND);
        assert_eq!(durations.estimate(&specs), None, "one of three kinds");
        durations.add(&spec("xfs", 2), SECOND);
        let estimate = durations.estimate(&specs).unwrap();
        assert_eq!((estimate.total, estimate.known), (3 * SECOND, 2));
        assert_eq!(durations.estimate(&[]), None);
    }
}
