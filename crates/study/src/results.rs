//! The results of a study: published figures beside measured ones, and a verdict on every claim.

use serde::Serialize;

use crate::verdict::{Judged, Verdict};
use crate::{Claim, Row, Study};

/// A study with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// The study.
    pub study: Study,
    /// The study as named on the command line: a shipped study's name, or a path.
    pub named: String,
    /// Testbed.
    pub testbed: String,
    /// Whether its machine was simulated.
    #[serde(skip)]
    pub(crate) simulated: bool,
    /// Options that chose its machine, besides the testbed; empty for the default one.
    #[serde(skip)]
    pub(crate) machine: String,
    /// When the first run began.
    pub created: String,
    /// The version of fstrial that ran it.
    pub version: String,
    /// Error rate of all questions of a claim together.
    pub alpha: f64,
    /// Every run of the store that was used.
    pub runs: Vec<RunFacts>,
    /// The published tables with what was measured.
    pub tables: Vec<TableResults>,
    /// The claims with their verdicts.
    pub claims: Vec<ClaimResults>,
    /// What limits these results.
    pub notes: Vec<String>,
    /// Each part's own run with its analysis, for charts.
    #[serde(skip)]
    pub(crate) details: Vec<Detail>,
}

/// A part's run with its analysis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Detail {
    pub(crate) part: String,
    pub(crate) title: String,
    /// The names of its workloads within the part and in the catalogue.
    pub(crate) workloads: Vec<(String, String)>,
    pub(crate) run: store::StoredRun,
    pub(crate) analysis: report::Analysis,
}

/// A run of the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// The part.
    pub part: String,
    /// The assumption it was run under; `None` for the study's own machine.
    pub assumption: Option<String>,
    /// The size that was asked for; missing for the study's own.
    pub size: Option<f64>,
    /// The scale.
    pub scale: f64,
    /// The run's seed.
    pub seed: u64,
    /// Trials planned.
    pub trials: usize,
    /// Trials that were done.
    pub done: usize,
    /// Trials without an outcome yet.
    pub outstanding: usize,
    /// The releases of the kernels on which its trials ran; empty if no filesystem was made.
    pub kernels: Vec<String>,
    /// Whether every filesystem of it was mounted noatime.
    pub noatime: bool,
    /// Where it took place.
    pub environment: store::Environment,
}

impl RunFacts {
    /// The kernel in words: the releases, or else the kernel that the environment names.
    pub(crate) fn kernel(&self) -> String {
        let of = |key: &str| self.environment.0.get(key).cloned();
        match self.kernels.is_empty() {
            true => of("lab_kernel").or(of("kernel")).unwrap_or("an unknown kernel".to_owned()),
            false => self.kernels.join(" or "),
        }
    }
}

/// A published table beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableResults {
    /// As in the study.
    pub id: String,
    /// The part.
    pub part: String,
    /// For people.
    pub title: String,
    /// Contenders.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<RowResults>,
}

/// A row, published and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowResults {
    /// As published.
    #[serde(flatten)]
    pub row: Row,
    /// Marks for the best and worst published figures of the row.
    pub published_marks: Vec<Option<report::Mark>>,
    /// Measured, one for each column.
    pub measured: Vec<MeasuredCell>,
}

/// A measured cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MeasuredCell {
    /// Mean, in the row's unit.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Seeds.
    pub n: usize,
    /// Best or worst, by significance.
    pub mark: Option<report::Mark>,
    /// Why there is no figure.
    pub missing: Option<String>,
    /// Figures of single trials.
    pub figures: Vec<f64>,
}

/// A claim with both verdicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimResults {
    /// As in the study.
    #[serde(flatten)]
    pub claim: Claim,
    /// On the page's own figures.
    pub published: Judged,
    /// On what was measured, at the largest size that was run.
    pub measured: Judged,
    /// That size as a share of the published one; missing where nothing was run.
    pub size: Option<f64>,
    /// The verdict at every size on the study's own machine, the smallest size first.
    pub sizes: Vec<AtSize>,
    /// The verdict under each assumption at that size.
    pub under: Vec<Under>,
}

/// A claim at one size, on the study's own machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtSize {
    /// As a share of the published size.
    pub size: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdicts on its questions.
    pub questions: Vec<Verdict>,
    /// For each comparison its value and the ends of its interval.
    pub values: Vec<Option<[f64; 3]>>,
}

/// A verdict under an assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Under {
    /// The assumption.
    pub assumption: String,
    /// The part of the machine it changes: `processor`, `array`.
    pub about: String,
    /// The verdict; missing where it was not run.
    pub verdict: Option<Verdict>,
    /// What led to the verdict.
    pub reason: Option<String>,
    /// Number of seeds, if they are too few to show a spread, so that the spread of the study's
    /// own machine was used.
    pub few_seeds: Option<usize>,
}
