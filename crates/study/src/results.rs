//! What a study comes to: published beside measured, and a verdict on every claim.

use serde::Serialize;

use crate::verdict::{Judged, Verdict};
use crate::{Claim, Row, Study};

/// A study with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// The study.
    pub study: Study,
    /// The study as it was named: shipped, or a path.
    pub named: String,
    /// Testbed.
    pub testbed: String,
    /// Whether its machine was simulated.
    #[serde(skip)]
    pub(crate) simulated: bool,
    /// When the first run began.
    pub created: String,
    /// The version of fstrial that ran it.
    pub version: String,
    /// Error rate of all questions of a claim together.
    pub alpha: f64,
    /// Every run of the store it rests on.
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
    /// The assumption, if another than the study's own.
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
    /// The kernels' releases that served its trials; none where nothing was made.
    pub kernels: Vec<String>,
    /// Where it took place.
    pub environment: store::Environment,
}

impl RunFacts {
    /// The kernel in words: the releases, else what the environment names.
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
    /// The published figures that are best or worst of the row, as far as they go.
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
    /// What every size makes of it on the study's own machine, the smallest first.
    pub sizes: Vec<AtSize>,
    /// What each assumption makes of it at that size.
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
    /// What it says of: `processor`, `array`.
    pub about: String,
    /// The verdict; missing where it was not run.
    pub verdict: Option<Verdict>,
    /// What turned it.
    pub reason: Option<String>,
    /// Seeds it rests on, where they are fewer than show a spread: it has that of the study's
    /// own machine.
    pub few_seeds: Option<usize>,
}
