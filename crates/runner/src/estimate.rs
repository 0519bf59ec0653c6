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
}

/// The trials that remain, counted by kind, so that an estimate for ten thousand costs no more than
/// one for ten.
#[derive(Debug, Clone, Default)]
pub struct Remaining {
    trials: BTreeMap<[String; 2], usize>,
    /// How long the newest of those that began waited for their turn.
    turns: Times,
}

impl Remaining {
    /// These trials.
    pub fn of(specs: &[TrialSpec]) -> Remaining {
        let mut remaining = Remaining::default();
        for spec in specs {
            *remaining.trials.entry(kinds(spec)).or_default() += 1;
        }
        remaining
    }

    /// One of them has ended.
    pub fn ended(&mut self, spec: &TrialSpec) {
        if let Some(count) = self.trials.get_mut(&kinds(spec)) {
            *count = count.saturating_sub(1);
        }
    }

    /// One begins that waited so long for its turn.
    pub fn waited(&mut self, turn: Duration) {
        self.turns.add(turn);
    }

    /// The time they will take one after the other; `None` where fewer than half are like one that
    /// was run, which is too little for an estimate. Those unlike any are taken for as long as the
    /// others; at the least they take no time, at the most twice as long.
    fn estimate(&self, durations: &Durations) -> Option<Estimate> {
        let trials = self.trials.values().sum::<usize>();
        let (mut known, mut sums) = (0, [Duration::ZERO; 3]);
        for (kinds, count) in &self.trials {
            let Some(expected) = durations.expected(kinds) else { continue };
            known += count;
            for (sum, one) in sums.iter_mut().zip(expected) {
                *sum += one * times(*count);
            }
        }
        if known == 0 || 2 * known < trials {
            return None;
        }
        let unknown = times(trials - known);
        let [mean, least, most] = unlike(sums, known).map(|one| one * unknown);
        let [total, low, high] = sums;
        let (total, least, most) = (total + mean, low + least, high + most);
        Some(Estimate { total, least, most, known, trials })
    }

    /// The time until all have ended on so many lanes, where some of them run already, each for so
    /// long; `None` as above. Each that has not begun waits for its turn as those before did.
    pub fn left(
        &self,
        durations: &Durations,
        running: &[(&TrialSpec, Duration)],
        lanes: usize,
    ) -> Option<Estimate> {
        let whole = self.estimate(durations)?;
        let unlike = unlike([whole.total, whole.least, whole.most], whole.trials);
        let expected = |kinds: &[String; 2]| durations.expected(kinds).unwrap_or(unlike);
        let wait = self.turns.expected(1.0).unwrap_or_default();
        let mut waiting = self.clone();
        let mut lane = vec![[Duration::ZERO; 3]; lanes.max(1)];
        for (lane, (spec, gone)) in lane.iter_mut().zip(running) {
            waiting.ended(spec);
            *lane = expected(&kinds(spec)).map(|time| time.saturating_sub(*gone));
        }
        let last = |which: usize| {
            let mut busy: Vec<Duration> = lane.iter().map(|times| times[which]).collect();
            for (kinds, count) in &waiting.trials {
                let one = expected(kinds)[which] + wait[which];
                // Whole rounds over all lanes at once, the rest one by one to whoever is free first.
                let rounds = times(count.saturating_sub(ONE_BY_ONE) / busy.len());
                busy.iter_mut().for_each(|lane| *lane += one * rounds);
                for _ in 0..count - rounds as usize * busy.len() {
                    if let Some(first) = busy.iter_mut().min() {
                        *first += one;
                    }
                }
            }
            busy.into_iter().max().unwrap_or_default()
        };
        Some(Estimate { total: last(0), least: last(1), most: last(2), ..whole })
    }
}

/// So many trials of a kind are given to lanes one by one.
const ONE_BY_ONE: usize = 100;

fn times(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What a trial is taken for that is unlike all of these: their mean; nothing at the least, twice
/// as long at the most.
fn unlike([mean, _, most]: [Duration; 3], known: usize) -> [Duration; 3] {
    let each = times(known.max(1));
    [mean / each, Duration::ZERO, 2 * most / each]
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
    use trial::{Outcome, TrialRecord, WorkloadChoice};
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

    /// Of one testbed's trials, and of each kind the newest.
    #[test]
    fn earlier_trials_are_those_of_the_store() {
        let mut store = Store::in_memory().unwrap();
        let trials = vec![spec("ext4", 1); NEWEST + 1];
        let run = store::NewRun {
            fstrial_version: "0",
            testbed: "lab",
            lab_id: None,
            environment: &store::Environment(BTreeMap::new()),
            seed: 1,
            contenders: &["ext4".to_owned()],
            repeats: trials.len() as u32,
            scale: 1.0,
            request: "{}",
            trials: &trials,
        };
        let run = store.create_run(&run).unwrap();
        for ordinal in 0..trials.len() as u32 {
            let mut record = TrialRecord::ended(Outcome::Done);
            record.host = Some((ordinal + 1) * SECOND);
            store.finish_trial(&run, ordinal, &record).unwrap();
        }
        let one = Remaining::of(&trials[..1]);
        let on = |testbed| one.estimate(&Durations::earlier(&store, testbed, None).unwrap());
        // (2 + 3 + 4 + 5 + 6 + 7) / 6 s
        assert_eq!(on("lab").unwrap().total, Duration::from_millis(4500));
        assert_eq!(on("dir"), None);
    }

    #[test]
    fn estimates_one_after_the_other_are_added() {
        let estimate = |seconds: [u32; 3], known, trials| {
            let [total, least, most] = seconds.map(|seconds| seconds * SECOND);
            Estimate { total, least, most, known, trials }
        };
        let all = [estimate([5, 3, 7], 2, 4), estimate([50, 30, 90], 10, 11)];
        assert_eq!(all.into_iter().sum::<Estimate>(), estimate([55, 33, 97], 12, 15));
    }

    #[test]
    fn nothing_is_said_without_a_basis() {
        let mut durations = Durations::default();
        let specs = [spec("ext4", 1), spec("ext4", 2), spec("ext4", 3)];
        assert_eq!(Remaining::of(&specs).estimate(&durations), None);
        durations.add(&spec("ext4", 1), SECOND);
        assert_eq!(Remaining::of(&specs).estimate(&durations), None, "one of three kinds");
        durations.add(&spec("xfs", 2), SECOND);
        let estimate = Remaining::of(&specs).estimate(&durations).unwrap();
        assert_eq!((estimate.total, estimate.known), (3 * SECOND, 2));
        let half = Remaining::of(&[spec("ext4", 1), spec("ext4", 3)]);
        assert_eq!(half.estimate(&durations).map(|estimate| estimate.known), Some(1));
        assert_eq!(Remaining::of(&[]).estimate(&durations), None);
    }

    /// Every end of the range is worked out by hand.
    #[test]
    fn an_estimate_says_how_sure_it_is() {
        let mut durations = Durations::default();
        durations.add(&spec("ext4", 1), 10 * SECOND);
        let ends = |durations: &Durations, filesystem: &str| {
            let estimate = Remaining::of(&[spec(filesystem, 1), spec(filesystem, 1)])
                .estimate(durations)
                .unwrap();
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
        let estimate = Remaining::of(&three).estimate(&durations).unwrap();
        assert_eq!((estimate.least, estimate.total), (50 * SECOND, 90 * SECOND));
        assert_eq!(estimate.most, 144 * SECOND);
    }

    /// Two lanes, and a long trial that runs to the end alone.
    #[test]
    fn what_runs_beside_each_other_ends_with_the_last() {
        let (long, short) = (spec("ext4", 1), spec("ext4", 2));
        let mut durations = Durations::default();
        durations.add(&long, 100 * SECOND);
        durations.add(&short, 10 * SECOND);
        let left = |all: &[TrialSpec], running: &[(&TrialSpec, Duration)], lanes| {
            Remaining::of(all).left(&durations, running, lanes).unwrap().total
        };
        let two = [long.clone(), short.clone()];
        assert_eq!(left(&two, &[], 1), 110 * SECOND);
        assert_eq!(left(&two, &[], 2), 100 * SECOND);
        assert_eq!(left(&two, &[(&long, 30 * SECOND)], 2), 70 * SECOND);
        assert_eq!(left(&two, &[(&long, 30 * SECOND), (&short, 2 * SECOND)], 2), 70 * SECOND);
        assert_eq!(left(&two, &[(&long, 200 * SECOND)], 2), 10 * SECOND, "it is overdue");
        assert_eq!(left(&two, &[(&short, 4 * SECOND)], 0), 106 * SECOND, "there is one lane");
        // Each end of the range ends with the last of its own.
        let ends = Remaining::of(&two).left(&durations, &[], 2).unwrap();
        let ends = [ends.least, ends.most].map(|end| end.as_secs_f64().round());
        assert_eq!(ends, [83.0, 120.0]);
        // Thousands of trials fill all lanes.
        let many = vec![short.clone(); 5001];
        assert_eq!(left(&many, &[], 4), 1251 * 10 * SECOND);
        assert_eq!(left(&many, &[(&short, 4 * SECOND)], 4), 1250 * 10 * SECOND + 6 * SECOND);
    }

    /// Whoever shares the machine waits as long as the newest trials did; what runs has its turn.
    #[test]
    fn turns_of_others_are_in_the_time_left() {
        let one = spec("ext4", 1);
        let mut durations = Durations::default();
        durations.add(&one, 10 * SECOND);
        let mut three = Remaining::of(&[one.clone(), one.clone(), one.clone()]);
        three.waited(90 * SECOND);
        for _ in 0..NEWEST / 2 {
            three.waited(20 * SECOND);
            three.waited(40 * SECOND);
        }
        let left = three.left(&durations, &[(&one, 4 * SECOND)], 1).unwrap();
        assert_eq!(left.total, 6 * SECOND + 2 * (10 + 30) * SECOND);
        // (8.3 - 4) + 2 × (8.3 + 20) and (12 - 4) + 2 × (12 + 40).
        let ends = [left.least, left.most].map(|end| end.as_secs_f64().round());
        assert_eq!(ends, [61.0, 112.0]);
    }
}
