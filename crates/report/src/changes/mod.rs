//! Compares two runs of the same work: what became slower, what faster, and what needed more or
//! less disk I/O.
//!
//! Each contender of both runs is compared with itself, phase by phase, by the analysis of a
//! run in which "before" and "after" compete. Trials of equal seeds are pairs. The questions
//! about time are one family, and those about counts another (Holm, α = 5 %).

mod difference;
mod found;
mod gate;
mod moments;
mod text;

use std::collections::{BTreeMap, BTreeSet};

pub use difference::{Difference, Effect, What};
pub use found::{Place, places};
use found::{of_contender, of_runs};
pub use gate::{AtLimit, Gate};
pub use moments::Moments;
use serde::Serialize;
use store::{StoredRun, StoredTrial};
use trial::WorkloadChoice;

use stats::Comparison;

use crate::analysis::{Cell, EQUIVALENCE_MARGIN, MetricTable, PhaseAnalysis, Unit, analyse};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 2;
/// Error rate of all questions about time together, and of all about counts.
const ALPHA: f64 = 0.05;
/// Counts that are compared: metric and name.
const COUNTS: [(&str, &str); 4] = [
    ("device_write_bytes", "written"),
    ("device_writes", "writes"),
    ("device_reads", "reads"),
    ("device_flushes", "flushes"),
];
/// The two contenders of a comparison.
const SIDES: [&str; 2] = ["before", "after"];

/// What changed from one run to another.
#[derive(Debug, Clone, Serialize)]
pub struct Changes {
    /// Version of this document's form.
    pub schema_version: u32,
    /// The run that is compared with.
    pub before: String,
    /// The run that is judged.
    pub after: String,
    /// What is not the same in both beside the figures, the gravest first.
    pub differences: Vec<Difference>,
    /// The phases that both runs have, by workload and contender.
    pub phases: Vec<PhaseChange>,
    /// What only one of them has.
    pub alone: Vec<String>,
    /// The names of phases that were asked for; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

/// A phase of one contender.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseChange {
    /// The workload, with what sets it apart.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The contender.
    pub contender: String,
    /// Its wall time in seconds.
    pub time: Change,
    /// What the disk was asked for, where it was counted.
    pub counts: Vec<CountChange>,
    /// Why a figure is missing.
    pub remarks: Vec<String>,
    /// Why its times are those of two moments of a real machine, which differ by more than their
    /// repeats do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_moments: Option<Moments>,
}

/// A count of what the disk was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct CountChange {
    /// Which count: `written` (bytes), `writes`, `reads`, `flushes`.
    pub name: &'static str,
    /// How it changed.
    #[serde(flatten)]
    pub change: Change,
}

/// A figure before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Mean before; `None` where there is no figure.
    pub before: Option<f64>,
    /// Mean after.
    pub after: Option<f64>,
    /// After divided by before.
    pub ratio: Option<f64>,
    /// Lower end of its interval, at the confidence at which all questions of the comparison
    /// together are wrong in 5 % of cases: the verdict is read from it. `None` for less than two
    /// repeats.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Its p value, before Holm's correction over all questions.
    pub p: Option<f64>,
    /// And after it.
    pub p_adjusted: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// After against before, in each way in which it may be true.
    #[serde(skip)]
    ways: Vec<Comparison>,
}

/// What a comparison with before says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every repeat has the same figure as before.
    Same,
    /// It differs by less than 5 %, which is shown.
    Equal,
    /// More than before: slower, where it is a time.
    More,
    /// Less than before: faster.
    Less,
    /// Neither a difference nor its absence is shown.
    Undecided,
    /// One of the runs has no figure.
    Missing,
}

impl Changes {
    /// Why the runs must not be compared: what differs between them is no part of any contender.
    pub fn refusals(&self) -> Vec<&Difference> {
        self.differences.iter().filter(|it| it.refuses()).collect()
    }

    /// Only the phases of these names. The questions are then only theirs, so that a smaller
    /// change can be shown.
    ///
    /// # Errors
    /// If no phase of both runs has one of the names: what there is, for the user.
    pub fn only(mut self, names: &[String]) -> Result<Self, String> {
        let known: BTreeSet<&str> = self.phases.iter().map(|it| it.phase.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) {
            let meant = ::text::meant(name, known.iter().copied()).unwrap_or_default();
            return Err(format!("no phase `{name}` is in both runs; {meant}"));
        }
        self.phases.retain(|phase| names.contains(&phase.phase));
        self.only = names.to_vec();
        self.decide();
        Ok(self)
    }

    /// Decides which changes are shown to be real. Fewer questions decide no fewer of them, so
    /// this may follow again after some were taken out.
    fn decide(&mut self) {
        let times = self.phases.iter_mut().map(|phase| &mut phase.time);
        decide(times.collect());
        let counts = self.phases.iter_mut().flat_map(|phase| &mut phase.counts);
        decide(counts.map(|count| &mut count.change).collect());
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        // Names and finite numbers: this cannot fail; if it did, an error document is one too.
        let mut json = serde_json::to_string_pretty(self)
            .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
        json.push('\n');
        ::text::json(&json)
    }

    /// For a terminal, at most 100 columns wide; `full` shows what did not change too.
    pub fn to_text(&self, full: bool) -> String {
        text::of(self, full)
    }
}

impl PhaseChange {
    /// Whether time or counts are shown to have changed, or a figure is missing.
    pub(crate) fn has_changed(&self) -> bool {
        let changed = |change: &Change| {
            matches!(change.verdict, Verdict::More | Verdict::Less | Verdict::Missing)
        };
        changed(&self.time) || self.counts.iter().any(|count| changed(&count.change))
    }
}

/// Compares a run with an earlier one.
pub fn changes(before: &StoredRun, after: &StoredRun) -> Changes {
    let names = |run: &StoredRun| -> Vec<String> {
        analyse(&StoredRun { header: run.header.clone(), trials: bare(run) })
            .contenders
            .into_iter()
            .map(|contender| contender.name)
            .collect()
    };
    let (old, new) = (names(before), names(after));
    let mut found = Changes {
        schema_version: SCHEMA_VERSION,
        before: before.header.id.clone(),
        after: after.header.id.clone(),
        differences: of_runs(before, after),
        phases: Vec::new(),
        alone: Vec::new(),
        only: Vec::new(),
    };
    for (names, others, id) in [(&old, &new, &found.before), (&new, &old, &found.after)] {
        let only = names.iter().filter(|name| !others.contains(name));
        found.alone.extend(only.map(|name| format!("{name} is in {id} alone")));
    }
    for name in new.iter().filter(|name| old.contains(name)) {
        let analysis = analyse(&merged(before, after, name));
        found.differences.extend(of_contender([before, after], &analysis, name));
        let works = [before, after].map(|run| works(run, name));
        for workload in &analysis.workloads {
            let work = (workload.name.clone(), workload.parameters.clone());
            if works.iter().all(|done| done.contains(&work)) {
                let phases = workload.phases.iter().filter(|phase| !phase.is_left_out());
                let of = |phase| PhaseChange {
                    of_moments: Moments::of([before, after], phase),
                    ..of_phase(&workload.title, phase, name)
                };
                found.phases.extend(phases.map(of));
            } else {
                let settings = "is not in both runs with the same settings";
                found.alone.push(format!("{} on {name} {settings}", workload.title));
            }
        }
    }
    found.alone.sort();
    found.alone.dedup();
    found.differences.sort_by_key(|it| it.effect);
    found.decide();
    found
}

/// A workload with its parameters.
type Work = (String, Vec<(String, String)>);

/// What a contender was made to do in a run.
fn works(run: &StoredRun, contender: &str) -> BTreeSet<Work> {
    let trials = run.trials.iter().filter(|trial| trial.spec.contender.name == contender);
    let parameters = |choice: &WorkloadChoice| {
        let all = choice.parameters.iter();
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    trials
        .flat_map(|trial| &trial.spec.workloads)
        .map(|choice| (choice.name.clone(), parameters(choice)))
        .collect()
}

/// A run's trials without what was measured.
fn bare(run: &StoredRun) -> Vec<StoredTrial> {
    let mut trials = run.trials.clone();
    trials.iter_mut().for_each(|trial| trial.record.phases.clear());
    trials
}

/// One contender of both runs as two contenders of one.
fn merged(before: &StoredRun, after: &StoredRun, name: &str) -> StoredRun {
    let of = |run: &StoredRun| -> Vec<StoredTrial> {
        run.trials.iter().filter(|trial| trial.spec.contender.name == name).cloned().collect()
    };
    let (mut old, mut new) = (of(before), of(after));
    let seeds: BTreeMap<u32, _> = old.iter().map(|it| (it.spec.block, it.spec.seed)).collect();
    let ordinals = old.iter().map(|trial| trial.ordinal + 1).max().unwrap_or(0);
    let blocks = seeds.keys().max().map_or(0, |block| block + 1);
    let paired = new.iter().all(|it| seeds.get(&it.spec.block).is_none_or(|s| *s == it.spec.seed));
    for trial in &mut old {
        SIDES[0].clone_into(&mut trial.spec.contender.name);
    }
    for trial in &mut new {
        SIDES[1].clone_into(&mut trial.spec.contender.name);
        trial.ordinal += ordinals;
        if !paired {
            trial.spec.block += blocks;
        }
    }
    let mut header = after.header.clone();
    header.contenders = SIDES.map(str::to_owned).to_vec();
    old.append(&mut new);
    StoredRun { header, trials: old }
}

fn of_phase(workload: &str, phase: &PhaseAnalysis, contender: &str) -> PhaseChange {
    let none = Change::new(None, None, Vec::new(), false);
    let counts = COUNTS.iter().filter_map(|(id, name)| {
        let change = of_table(phase.table(id)?);
        let asked = change.before.unwrap_or(0.0) > 0.0 || change.after.unwrap_or(0.0) > 0.0;
        asked.then_some(CountChange { name, change })
    });
    let time = phase.table("wall").map_or(none, of_table);
    let is_missing = time.verdict == Verdict::Missing;
    let missing = phase.footnotes.iter().filter(|_| is_missing);
    PhaseChange {
        workload: workload.to_owned(),
        phase: phase.name.clone(),
        contender: contender.to_owned(),
        time,
        counts: counts.collect(),
        remarks: missing.map(|note| note.text.clone()).collect(),
        of_moments: None,
    }
}

fn of_table(table: &MetricTable) -> Change {
    let [before, after] = [0, 1].map(|side| &table.cells[side]);
    let figures = |cell: &Cell| -> BTreeMap<u32, u64> {
        cell.figures.iter().map(|figure| (figure.block, figure.value.to_bits())).collect()
    };
    let same = !before.figures.is_empty() && figures(before) == figures(after);
    // The analysis compares before with after.
    let ways = table.ways.first().into_iter().flatten().map(Comparison::inverse).collect();
    Change::new(before.mean, after.mean, ways, same)
}

impl Change {
    fn new(before: Option<f64>, after: Option<f64>, ways: Vec<Comparison>, same: bool) -> Change {
        let means = before.zip(after);
        let of_means = means.filter(|(before, _)| *before > 0.0).map(|(old, new)| new / old);
        Change {
            before,
            after,
            ratio: ways.first().map(Comparison::ratio).or(of_means),
            low: None,
            high: None,
            p: None,
            p_adjusted: None,
            verdict: match (means, same) {
                (None, _) => Verdict::Missing,
                (Some(_), true) => Verdict::Same,
                (Some(_), false) => Verdict::Undecided,
            },
            ways,
        }
    }
}

/// Decides what is shown of the changes of one family: interval, p and verdict at once.
fn decide(mut changes: Vec<&mut Change>) {
    changes.retain(|change| !change.ways.is_empty());
    let (same, asked): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.verdict == Verdict::Same);
    for changes in [same, asked] {
        let questions: Vec<Vec<Comparison>> =
            changes.iter().map(|change| change.ways.clone()).collect();
        let shown = stats::judge(&questions, ALPHA, EQUIVALENCE_MARGIN);
        for (change, shown) in changes.into_iter().zip(shown) {
            let finite = |value: f64| value.is_finite().then_some(value);
            (change.low, change.high) = (finite(shown.interval.low), finite(shown.interval.high));
            change.p = finite(shown.p);
            change.p_adjusted = finite(shown.p_adjusted);
            change.verdict = match (shown.separated, shown.equivalent) {
                _ if change.verdict == Verdict::Same => Verdict::Same,
                (true, _) if shown.interval.low > 1.0 => Verdict::More,
                (true, _) => Verdict::Less,
                (false, true) => Verdict::Equal,
                (false, false) => Verdict::Undecided,
            };
        }
    }
}

/// Whether a figure is bytes, for words.
fn unit_of(count: &str) -> Unit {
    if count == "written" { Unit::Bytes } else { Unit::Count }
}
