//! What an analysis consists of. Serialised as it stands into the JSON report, so every
//! number is finite and what is missing is `None`.

use serde::Serialize;

use stats::Comparison;

use super::{Conditions, DrawnCourse, Metric, Reason, Stalls, Standing, Unit};
use crate::numbers::counted;

/// A run, analysed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Error rate of all comparisons of one table together.
    pub alpha: f64,
    /// Confidence of a contender's own interval.
    pub confidence: f64,
    /// Up to this difference (0.05: 5 %) two contenders count as equal, if shown.
    pub equivalence_margin: f64,
    /// How the trials ended.
    pub trials: TrialCounts,
    /// The contenders in the order asked for; every list of cells is in this order.
    pub contenders: Vec<Conditions>,
    /// The workloads in the order they were run.
    pub workloads: Vec<WorkloadAnalysis>,
    /// What limits the use of these figures.
    pub warnings: Vec<String>,
}

impl Analysis {
    /// The error rate of a table, as a number of percent.
    pub(crate) fn alpha_in_percent(&self) -> String {
        let digits = units::significant(self.alpha * 100.0, 3);
        let whole = digits.trim_end_matches('0').trim_end_matches('.');
        if digits.contains('.') { whole.to_owned() } else { digits }
    }
}

/// How many trials ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[expect(missing_docs, reason = "each is the number of trials with that outcome")]
pub struct TrialCounts {
    pub planned: usize,
    pub done: usize,
    pub refused: usize,
    pub failed: usize,
    pub timed_out: usize,
    pub died: usize,
    pub outstanding: usize,
}

impl TrialCounts {
    /// How many are done of how many, and how the others ended, in words.
    pub(crate) fn said(&self) -> String {
        let others = [
            (self.refused, "refused"),
            (self.failed, "failed"),
            (self.timed_out, "timed out"),
            (self.died, "died"),
            (self.outstanding, "not run yet"),
        ];
        let mut said = format!("{} of {} done", self.done, counted(self.planned, "trial"));
        for (count, word) in others.into_iter().filter(|(count, _)| *count > 0) {
            said += &format!(", {count} {word}");
        }
        said
    }
}

/// A workload with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadAnalysis {
    /// Its name in the catalogue.
    pub name: String,
    /// Its name in this report: with what sets it apart, where it occurs several times.
    pub title: String,
    /// What it does; empty where this version does not know it.
    pub summary: String,
    /// Its parameters, scale applied.
    pub parameters: Vec<(String, String)>,
    /// Parameters that this run's source tree makes meaningless.
    #[serde(skip)]
    pub idle: &'static [&'static str],
    /// The tables of the figures of its own that it is about; the first that has any counts.
    #[serde(skip)]
    pub own: Vec<String>,
    /// A sentence for each phase.
    pub verdict: Vec<String>,
    /// Its phases in order.
    pub phases: Vec<PhaseAnalysis>,
}

impl WorkloadAnalysis {
    /// Its parameters with values as one would type them.
    pub(crate) fn shown_parameters(&self) -> Vec<(String, String)> {
        let shown = |(name, value): &(String, String)| {
            (name.clone(), workload::shown(&self.name, name, value))
        };
        let acts = |(name, _): &&(String, String)| !self.idle.contains(&name.as_str());
        self.parameters.iter().filter(acts).map(shown).collect()
    }

    /// Whether it works on a tree of the user's, which no scale makes larger.
    pub(crate) fn has_own_tree(&self) -> bool {
        !self.idle.is_empty()
    }
}

/// A phase over all contenders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseAnalysis {
    /// Its name in the workload's description.
    pub name: String,
    /// What is done.
    pub summary: String,
    /// What is inside its clock.
    pub clock: String,
    /// Its kinds of op and what their latencies span.
    pub ops: Vec<OpKind>,
    /// State of the cache when it began: one entry unless trials differed.
    pub cache: Vec<CacheUse>,
    /// What the figures say about wall time, in one sentence.
    pub verdict: String,
    /// A table for each metric.
    pub tables: Vec<MetricTable>,
    /// Reasons for what is missing and remarks, numbered from 1 as the cells refer to them.
    pub footnotes: Vec<Footnote>,
    /// How much was measured; `None` where no time counts.
    pub measured: Option<Measured>,
    /// The smallest difference these repeats would show at the spread seen (0.1: 10 %).
    pub smallest_difference: Option<f64>,
    /// Of each contender the course in its first trial that has one.
    #[serde(skip)]
    pub courses: Vec<Option<DrawnCourse>>,
    /// Of each contender how often nothing ended for long; missing where no course was taken down.
    pub stalls: Vec<Option<Stalls>>,
}

impl PhaseAnalysis {
    /// Whether no trial did it, since none was asked to or something was missing for all.
    pub fn is_left_out(&self) -> bool {
        !self.has_figures()
            && !self.footnotes.is_empty()
            && self.footnotes.iter().all(|note| note.reason.is_skipped())
    }

    /// Whether any contender has a time that counts.
    pub fn has_figures(&self) -> bool {
        self.table("wall").is_some_and(|wall| wall.cells.iter().any(|cell| cell.mean.is_some()))
    }

    /// The table of this metric.
    pub fn table(&self, id: &str) -> Option<&MetricTable> {
        self.tables.iter().find(|table| table.metric.id == id)
    }
}

/// A kind of op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpKind {
    /// Name.
    pub name: String,
    /// Which system calls its latency spans.
    pub span: String,
}

/// A state of the cache and who had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheUse {
    /// `cold (remount)`, `warm (follows another phase)`.
    pub words: String,
    /// Whether nothing was cached, by whatever means that was achieved.
    pub cold: bool,
    /// Indices of the contenders.
    pub contenders: Vec<usize>,
}

/// A remark on a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footnote {
    /// The contenders it concerns.
    pub contenders: Vec<usize>,
    /// The remark, in words.
    pub text: String,
    /// What it says; of several trials alike, the first one's.
    pub reason: Reason,
    /// Whether it holds for all trials of its contenders.
    pub all_trials: bool,
}

/// How much was measured in a phase, over all trials whose times count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measured {
    /// Trials.
    pub trials: usize,
    /// Fewest ops of a trial; 0 where the phase counts none.
    pub ops_least: u64,
    /// Most ops of a trial.
    pub ops_most: u64,
    /// Shortest time of a trial, in seconds of its clock.
    pub seconds_least: f64,
    /// Longest.
    pub seconds_most: f64,
}

/// One metric of one phase over all contenders.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricTable {
    /// What is shown.
    pub metric: Metric,
    /// A cell for each contender.
    pub cells: Vec<Cell>,
    /// Every pair compared; empty for a workload's own figures.
    pub pairs: Vec<PairResult>,
    /// The comparisons behind each pair: as measured, and in the other ways in which it may be true.
    #[serde(skip)]
    pub ways: Vec<Vec<Comparison>>,
    /// Who is first and what is shown of the others, where figures are better at one end.
    #[serde(skip)]
    pub standing: Option<Standing>,
}

impl MetricTable {
    /// Indices of the contenders that have a figure: the leader and those that can be compared
    /// with it first, best mean first (smallest first where neither is better).
    pub fn order(&self) -> Vec<usize> {
        if let Some(standing) = &self.standing {
            return standing.order();
        }
        let mut with: Vec<(usize, f64)> = self
            .cells
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| cell.mean.map(|mean| (index, mean)))
            .collect();
        with.sort_by(|a, b| a.1.total_cmp(&b.1));
        if self.metric.higher_is_better == Some(true) {
            with.reverse();
        }
        with.into_iter().map(|(index, _)| index).collect()
    }

    /// The comparison of these two, in either order.
    pub fn pair(&self, one: usize, other: usize) -> Option<&PairResult> {
        self.pairs
            .iter()
            .find(|pair| (pair.a, pair.b) == (one, other) || (pair.b, pair.a) == (one, other))
    }

    /// Its unit.
    pub fn unit(&self) -> Unit {
        self.metric.unit
    }
}

/// One contender's figure in a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Cell {
    /// The figures of single trials it rests on.
    pub figures: Vec<TrialFigure>,
    /// Geometric mean (arithmetic where a figure is 0), in the metric's unit.
    pub mean: Option<f64>,
    /// Lower end of the mean's interval; missing below two figures.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Spread of single figures relative to the mean.
    pub spread: Option<f64>,
    /// The ranks it may hold.
    pub rank: Option<Rank>,
    /// Whether it is the leader, by its figure.
    pub leads: bool,
    /// How many times worse than the leader, where the two can be compared.
    pub against_best: Option<AgainstBest>,
    /// Best or worst, by significance.
    pub mark: Option<Mark>,
    /// Numbers (from 1) of the footnotes that concern it.
    pub footnotes: Vec<usize>,
}

impl Cell {
    /// Whether there are figures, and too few to compare them with others'.
    pub fn has_too_few(&self) -> bool {
        self.mean.is_some() && !self.leads && self.figures.len() < stats::COMPARED_FROM
    }

    /// The largest share of a trial's time that the lab's own transport took, where that is beyond
    /// the limit (0.1: 10 %).
    pub fn overhead(&self) -> Option<f64> {
        self.figures.iter().filter_map(|figure| figure.overhead).reduce(f64::max)
    }
}

/// A trial's figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TrialFigure {
    /// The trial's place in the order of execution.
    pub trial: u32,
    /// Its block.
    pub block: u32,
    /// The figure in the metric's unit, as measured.
    pub value: f64,
    /// The share of the time that the lab's own transport took (0.1: 10 %), where it is beyond
    /// the limit: the truth lies between the figure and the figure without it.
    pub overhead: Option<f64>,
}

/// Possible ranks, both included; 1 is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "said above")]
pub struct Rank {
    pub best: usize,
    pub worst: usize,
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        stats::RankInterval { best: self.best, worst: self.worst }.fmt(f)
    }
}

/// How many times worse than the best: as long, or as slow. Above 1 is worse, for every
/// metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AgainstBest {
    /// The factor.
    pub ratio: f64,
    /// Lower end of its interval; `None` where it is not bounded or not known.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether the difference is significant in the table.
    pub separated: bool,
    /// Whether both are shown to be equal within the margin.
    pub equivalent: bool,
}

/// By significance only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Nobody is shown to be better, and it is shown to be better than somebody.
    Best,
    /// Nobody is shown to be worse, and somebody is shown to be better.
    Worst,
}

impl PairResult {
    /// The one that `index` is compared with, if it is one of the two.
    pub(crate) fn other(&self, index: usize) -> Option<usize> {
        match index {
            at if at == self.a => Some(self.b),
            at if at == self.b => Some(self.a),
            _ => None,
        }
    }
}

/// Two contenders compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairResult {
    /// Index of one.
    pub a: usize,
    /// Index of the other.
    pub b: usize,
    /// a's figure divided by b's.
    pub ratio: f64,
    /// Lower end of the ratio's interval, at the confidence of this pair's step.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// p value, uncorrected.
    pub p: f64,
    /// p value after Holm's correction over the table.
    pub p_adjusted: f64,
    /// Hedges' g; `None` where nothing varies.
    pub effect: Option<f64>,
    /// Whether they were compared within blocks.
    pub paired: bool,
    /// Blocks compared.
    pub n: usize,
    /// Whether they differ.
    pub separated: bool,
    /// Whether they are equal within the margin.
    pub equivalent: bool,
}
