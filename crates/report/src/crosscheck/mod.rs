//! Compares an original program with our workload: the ratio of each time with its interval, a
//! test that it lies within a margin, and the counts of both.
//!
//! The two ran alternately, each on a fresh filesystem, so a pair is a block of the run and
//! pairs are compared as such ([`stats::paired`]). Within the margin means that both one-sided
//! tests reject the opposite (TOST, α = 5 %).

mod pairs;
mod text;

use std::collections::BTreeMap;

use pairs::{Pair, PairedPhase, TIMES, Times};
use serde::Serialize;
use stats::{Comparison, Missing, Observation, Resolution, equivalence_p, paired};
use store::{StoredRun, StoredTrial};

/// Error rate of each test.
const ALPHA: f64 = 0.05;

/// An original program and our workload compared.
#[derive(Debug, Clone, Serialize)]
pub struct Crosscheck {
    /// Version of this document's form.
    pub schema_version: u32,
    /// The run it was read from.
    pub run: String,
    /// The original's name.
    pub original: String,
    /// Ours.
    pub ours: String,
    /// The ratio is to lie within 1/(1 + margin) and 1 + margin.
    pub margin: f64,
    /// One for each filesystem.
    pub contenders: Vec<ContenderCheck>,
}

/// The comparison on one contender.
#[derive(Debug, Clone, Serialize)]
pub struct ContenderCheck {
    /// The contender.
    pub name: String,
    /// Pairs of which both ended well.
    pub pairs: usize,
    /// Trials that did not, with their reasons.
    pub failed: Vec<String>,
    /// The phases both have; the last, `all`, is their sum.
    pub phases: Vec<PhaseCheck>,
}

/// The comparison in one phase.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseCheck {
    /// Its name.
    pub name: String,
    /// Times: by our clock, of the processor, by our clock without the program's own code.
    pub times: Vec<TimeCheck>,
    /// What both count.
    pub counts: Vec<CountCheck>,
    /// What follows.
    pub verdict: Verdict,
    /// What was wrong with some of the pairs.
    pub remarks: Vec<String>,
}

/// One kind of time.
#[derive(Debug, Clone, Serialize)]
pub struct TimeCheck {
    /// Which: `wall`, `cpu`, `outside`.
    pub name: &'static str,
    /// Mean of ours, in seconds.
    pub ours_s: Option<f64>,
    /// Mean of the original's, in seconds.
    pub original_s: Option<f64>,
    /// Ours to the original's.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Highest error rate at which it can be said to lie within the margin.
    pub p: Option<f64>,
    /// Whether it lies within.
    pub answer: Answer,
    /// Why there is no answer.
    pub missing: Option<String>,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The ratio lies within the margin.
    Equivalent,
    /// It does not, and ours takes less.
    OursLess,
    /// It does not, and ours takes more.
    OursMore,
    /// The figures do not say.
    Undecided,
}

/// A count of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountCheck {
    /// What is counted.
    pub name: String,
    /// Ours, the same in every pair or the first that differs.
    pub ours: f64,
    /// The original's.
    pub original: f64,
    /// Pairs in which they agree.
    pub agree: usize,
    /// Pairs compared.
    pub pairs: usize,
}

/// What follows for a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Equivalent by our clock, and all counts agree.
    Equivalent,
    /// Ours takes less by our clock, and what both spend outside their own code is
    /// equivalent: the difference is the original's own code.
    OwnCode,
    /// A count differs, or the times differ for another reason than the original's own code.
    Departs,
    /// The figures do not say; more or longer pairs may.
    Undecided,
}

impl Crosscheck {
    /// Whether nothing departs and nothing is undecided.
    pub fn holds(&self) -> bool {
        let well =
            |phase: &PhaseCheck| matches!(phase.verdict, Verdict::Equivalent | Verdict::OwnCode);
        !self.contenders.is_empty()
            && self.contenders.iter().all(|held| {
                held.failed.is_empty() && held.pairs > 0 && held.phases.iter().all(well)
            })
    }

    /// As JSON, ending with a line feed.
    pub fn to_json(&self) -> String {
        // Every key is text and every number finite or null.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        ::text::json(&text)
    }

    /// As a table of at most 100 columns.
    pub fn to_text(&self) -> String {
        text::table(self)
    }
}

/// Compares the trials of `run` that did `ours` with those that did `original`.
pub fn crosscheck(run: &StoredRun, original: &str, ours: &str, margin: f64) -> Crosscheck {
    let mut names: Vec<&str> = Vec::new();
    for trial in &run.trials {
        if !names.contains(&trial.spec.contender.name.as_str()) {
            names.push(&trial.spec.contender.name);
        }
    }
    let contenders = names
        .into_iter()
        .map(|name| {
            let of = |workload: &str| -> BTreeMap<u32, &StoredTrial> {
                let mine = run.trials.iter().filter(|trial| {
                    trial.spec.contender.name == name
                        && trial.spec.workloads.iter().any(|choice| choice.name == workload)
                });
                mine.map(|trial| (trial.spec.block, trial)).collect()
            };
            held(name, &of(ours), &of(original), margin)
        })
        .collect();
    Crosscheck {
        schema_version: 1,
        run: run.header.id.clone(),
        original: original.to_owned(),
        ours: ours.to_owned(),
        margin,
        contenders,
    }
}

fn held(
    name: &str,
    ours: &BTreeMap<u32, &StoredTrial>,
    originals: &BTreeMap<u32, &StoredTrial>,
    margin: f64,
) -> ContenderCheck {
    let done = |trial: &StoredTrial| trial.outcome.as_ref().is_some_and(|o| o.is_done());
    let failed = ours
        .values()
        .chain(originals.values())
        .filter(|trial| !done(trial))
        .map(|trial| {
            let words = match &trial.outcome {
                Some(outcome) => outcome.to_string(),
                None => "not run".to_owned(),
            };
            let workload = trial.spec.workloads.first().map_or("", |choice| choice.name.as_str());
            format!("{workload}, pair {}: {words}", trial.spec.block + 1)
        })
        .collect();
    let pairs: Vec<Pair<'_>> = ours
        .iter()
        .filter_map(|(block, ours)| {
            let original = originals.get(block)?;
            (done(ours) && done(original)).then_some(Pair { block: *block, ours, original })
        })
        .collect();
    let mut phases: Vec<PhaseCheck> = Vec::new();
    let mut together: Vec<PairedPhase> = Vec::new();
    for phase in pairs.first().map_or(&[][..], |pair| &pair.original.phases) {
        let both: Vec<PairedPhase> =
            pairs.iter().filter_map(|pair| pair.phase(&phase.phase)).collect();
        if both.is_empty() {
            continue;
        }
        phases.push(check_phase(&phase.phase, &both, margin));
        for one in both {
            match together.iter_mut().find(|sum| sum.block == one.block) {
                Some(sum) => sum.add(&one),
                None => together.push(one.without_counts()),
            }
        }
    }
    if phases.len() > 1 {
        phases.push(check_phase("all", &together, margin));
    }
    ContenderCheck { name: name.to_owned(), pairs: pairs.len(), failed, phases }
}

fn check_phase(name: &str, both: &[PairedPhase], margin: f64) -> PhaseCheck {
    let times: Vec<TimeCheck> =
        (0..TIMES.len()).map(|kind| check_time(kind, both, margin)).collect();
    let mut counts: Vec<CountCheck> = Vec::new();
    for (what, ours, original) in both.iter().flat_map(|pair| &pair.counts) {
        let agrees = usize::from(ours == original);
        match counts.iter_mut().find(|count| count.name == *what) {
            None => counts.push(CountCheck {
                name: what.clone(),
                ours: *ours,
                original: *original,
                agree: agrees,
                pairs: 1,
            }),
            Some(count) => {
                if agrees == 0 && count.agree == count.pairs {
                    (count.ours, count.original) = (*ours, *original);
                }
                count.agree += agrees;
                count.pairs += 1;
            }
        }
    }
    let mut remarks: Vec<String> = both.iter().flat_map(|pair| pair.remarks.clone()).collect();
    remarks.sort();
    remarks.dedup();
    let counted_alike = counts.iter().all(|count| count.agree == count.pairs);
    let verdict = match (counted_alike, times[0].answer, times[2].answer) {
        (false, ..) => Verdict::Departs,
        (_, Answer::Equivalent, _) => Verdict::Equivalent,
        (_, Answer::OursLess, Answer::Equivalent) => Verdict::OwnCode,
        (_, Answer::OursLess | Answer::OursMore, _) => Verdict::Departs,
        (_, Answer::Undecided, _) => Verdict::Undecided,
    };
    PhaseCheck { name: name.to_owned(), times, counts, verdict, remarks }
}

fn check_time(kind: usize, both: &[PairedPhase], margin: f64) -> TimeCheck {
    let side = |of: fn(&PairedPhase) -> &Times| -> Vec<Observation> {
        both.iter().map(|pair| Observation { block: pair.block, value: of(pair)[kind] }).collect()
    };
    let (ours, original) = (side(|pair| &pair.ours), side(|pair| &pair.original));
    let mean = |side: &[Observation]| {
        let sum: f64 = side.iter().map(|one| one.value).sum();
        (!side.is_empty()).then(|| sum / side.len() as f64)
    };
    let compared = paired(&ours, &original, Resolution::Fine);
    let (answer, p) = match &compared {
        Ok(comparison) => {
            let p = equivalence_p(comparison, margin);
            (answer(comparison, p, margin), Some(p))
        }
        Err(_) => (Answer::Undecided, None),
    };
    let found = compared.as_ref().ok();
    TimeCheck {
        name: TIMES[kind],
        ours_s: mean(&ours),
        original_s: mean(&original),
        ratio: found.map(Comparison::ratio),
        interval: found.map(|comparison| {
            let interval = comparison.interval(1.0 - ALPHA);
            (interval.low, interval.high)
        }),
        p,
        answer,
        missing: compared.err().map(|why: Missing| why.to_string()),
    }
}

/// Within the margin, or by its whole interval on one side of equality and by its mean beyond
/// the margin; all else is undecided.
fn answer(comparison: &Comparison, p: f64, margin: f64) -> Answer {
    let bound = margin.ln_1p();
    if p <= ALPHA {
        Answer::Equivalent
    } else if comparison.log_ratio.abs() <= bound || comparison.p() > ALPHA {
        Answer::Undecided
    } else if comparison.log_ratio < 0.0 {
        Answer::OursLess
    } else {
        Answer::OursMore
    }
}
