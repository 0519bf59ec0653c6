//! How long a run will take, estimated from earlier trials on the same testbed and profile.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Sum;
use std::time::Duration;

use store::{Environment, Store, StoreError};
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
    /// The times of earlier trials on this testbed with the same mails and sources and, in the lab,
    /// the same machine profile.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn earlier(
        store: &Store,
        testbed: &str,
        environment: &Environment,
    ) -> Result<Durations, StoreError> {
        let mut durations = Durations::default();
        // They come the newest first.
        let fact = |key| (key, environment.0.get(key).map(String::as_str));
        let facts = ["lab_profile", "mail_source", "source_tree"].map(fact);
        for (spec, took) in store.durations(testbed, &facts, LOOKED_AT)?.iter().rev() {
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
mod tests;
