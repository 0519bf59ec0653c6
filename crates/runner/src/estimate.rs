//! How long a run will take, estimated from earlier trials on the same testbed and profile.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Sum;
use std::time::Duration;

use store::{Store, StoreError};
use trial::TrialSpec;

/// How many earlier trials are looked at.
const LOOKED_AT: u32 = 2000;

/// How many trials of a kind count, the newest: the machine was busier or quieter before.
const NEWEST: usize = 6;

/// By which factor a trial may leave the range of the times of those of its kind.
const SAME_KIND: f64 = 1.2;

/// The same for the times of its workloads on other filesystems.
const OTHER_FILESYSTEM: f64 = 1.6;

/// The host's time by kind of trial: workloads with parameters, and filesystem.
#[derive(Debug, Clone, Default)]
pub struct Durations(BTreeMap<String, Times>);

/// Times of one kind, the newest last.
#[derive(Debug, Clone, Default)]
struct Times(VecDeque<Duration>);

impl Times {
    fn add(&mut self, took: Duration) {
        if self.0.len() == NEWEST {
            self.0.pop_front();
        }
        self.0.push_back(took);
    }

    /// Their mean, and the range of times beyond which a further one is not expected.
    fn expected(&self, margin: f64) -> Option<[Duration; 3]> {
        let mean =
            self.0.iter().sum::<Duration>().checked_div(u32::try_from(self.0.len()).ok()?)?;
        let (least, most) = (self.0.iter().min()?, self.0.iter().max()?);
        Some([mean, least.div_f64(margin), most.mul_f64(margin)])
    }
}

/// An estimate, and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Time for all trials, one after the other.
    pub total: Duration,
    /// The time that they hardly fall below.
    pub least: Duration,
    /// The time that they hardly exceed.
    pub most: Duration,
    /// How many of the trials have an earlier one like them.
    pub known: usize,
    /// How many trials there are.
    pub trials: usize,
}

impl Estimate {
    /// What is left where so much of it is gone already, on so many lanes.
    #[must_use]
    pub fn after(self, gone: Duration, lanes: usize) -> Estimate {
        let lanes = u32::try_from(lanes.min(self.trials).max(1)).unwrap_or(u32::MAX);
        let left = |time: Duration| time.saturating_sub(gone) / lanes;
        let [total, least, most] = [self.total, self.least, self.most].map(left);
        Estimate { total, least, most, ..self }
    }

    /// Whether it is sure enough to be one figure: neither end is more than a factor of about 1.5
    /// from it.
    pub fn is_sure(&self) -> bool {
        self.most.as_secs_f64() <= 2.0 * self.least.as_secs_f64()
    }
}

impl Sum for Estimate {
    /// One after the other.
    fn sum<I: Iterator<Item = Estimate>>(all: I) -> Estimate {
        let none = Estimate {
            total: Duration::ZERO,
            least: Duration::ZERO,
            most: Duration::ZERO,
            known: 0,
            trials: 0,
        };
        all.fold(none, |sum, one| Estimate {
            total: sum.total + one.total,
            least: sum.least + one.least,
            most: sum.most + one.most,
            known: sum.known + one.known,
            trials: sum.trials + one.trials,
        })
    }
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
        // They come the newest first.
        for (spec, took) in store.durations(testbed, profile, LOOKED_AT)?.iter().rev() {
            durations.add(spec, *took);
        }
        Ok(durations)
    }

    /// Adds a finished trial.
    pub fn add(&mut self, spec: &TrialSpec, took: Duration) {
        for kind in kinds(spec) {
            self.0.entry(kind).or_default().add(took);
        }
    }

    /// What a trial is expected to take: from those with its workloads and filesystem, else from
    /// those with its workloads.
    fn expected(&self, [same, other]: &[String; 2]) -> Option<[Duration; 3]> {
        let like = |kind: &String, margin| self.0.get(kind)?.expected(margin);
        like(same, SAME_KIND).or_else(|| like(other, OTHER_FILESYSTEM))
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
    /// too little for an estimate. Those unlike any are taken for as long as the others; at the
    /// least they take no time, at the most twice as long.
    pub fn estimate(&self, durations: &Durations) -> Option<Estimate> {
        let trials = self.0.values().sum::<usize>();
        let (mut known, mut sums) = (0, [Duration::ZERO; 3]);
        for (kinds, count) in &self.0 {
            let Some(expected) = durations.expected(kinds) else { continue };
            known += count;
            for (sum, one) in sums.iter_mut().zip(expected) {
                *sum += one * u32::try_from(*count).unwrap_or(u32::MAX);
            }
        }
        if known == 0 || 2 * known < trials {
            return None;
        }
        let unknown = (trials - known) as f64 / known as f64;
        let [total, least, most] = sums;
        let (total, most) = (total.mul_f64(1.0 + unknown), most.mul_f64(1.0 + 2.0 * unknown));
        Some(Estimate { total, least, most, known, trials })
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

    /// Every end of the range is worked out by hand.
    #[test]
    fn an_estimate_says_how_sure_it_is() {
        let mut durations = Durations::default();
        durations.add(&spec("ext4", 1), 10 * SECOND);
        let ends = |durations: &Durations, filesystem: &str| {
            let estimate = durations.estimate(&[spec(filesystem, 1), spec(filesystem, 1)]).unwrap();
            let ends = [estimate.least, estimate.total, estimate.most];
            (ends.map(|end| end.as_secs_f64().round() as u64), estimate.is_sure())
        };
        assert_eq!(ends(&durations, "ext4"), ([17, 20, 24], true));
        assert_eq!(ends(&durations, "xfs"), ([13, 20, 32], false), "another filesystem");
        durations.add(&spec("ext4", 1), 20 * SECOND);
        assert_eq!(ends(&durations, "ext4"), ([17, 30, 48], false), "its like vary");
        // Six newer ones: the first two no longer count.
        for _ in 0..NEWEST {
            durations.add(&spec("ext4", 1), 30 * SECOND);
        }
        assert_eq!(ends(&durations, "ext4"), ([50, 60, 72], true));
        // One of three is like none: no time at the least, twice as long at the most.
        let three = [spec("ext4", 1), spec("ext4", 1), spec("ext4", 2)];
        let estimate = durations.estimate(&three).unwrap();
        assert_eq!((estimate.least, estimate.total), (50 * SECOND, 90 * SECOND));
        assert_eq!(estimate.most, 144 * SECOND);
    }

    #[test]
    fn what_is_gone_and_lanes_shorten_it() {
        let mut durations = Durations::default();
        durations.add(&spec("ext4", 1), 12 * SECOND);
        let estimate = durations.estimate(&[spec("ext4", 1), spec("ext4", 1)]).unwrap();
        let left = estimate.after(4 * SECOND, 2);
        assert_eq!((left.least, left.total), (8 * SECOND, 10 * SECOND));
        assert_eq!(left.most, Duration::from_millis(12_400));
        assert_eq!(estimate.after(4 * SECOND, 8).total, 10 * SECOND, "two trials fill two lanes");
        assert_eq!(estimate.after(100 * SECOND, 0).total, Duration::ZERO);
    }
}
