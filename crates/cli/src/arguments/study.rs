//! The arguments of `fstrial study`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use units::Nanos;

use super::{ClusterArguments, StoreArgument, StudyOutputs, times};
use crate::testbeds::StudyOptions;

#[derive(Debug, Args)]
pub(crate) struct StudyArguments {
    #[command(subcommand)]
    pub(crate) action: StudyAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudyAction {
    /// Show the studies that ship with fstrial
    List,
    /// Show a study: question, machine, matrix, published tables, claims
    Show(NamedStudy),
    /// Check a study's files and report every error in them
    Check(NamedStudy),
    /// Run a study: its tables again, filled with figures measured now
    Run(Box<StudyRun>),
    /// Show the report of a study that was run, or write it to files
    Report(StudyReport),
    /// Copy a study's results into a file to give away, without what names this machine
    Export(StudyExport),
}

#[derive(Debug, Args)]
pub(crate) struct NamedStudy {
    /// A name from `study list`, or the path of a folder with study.toml, published.toml and
    /// claims.toml
    #[arg(value_name = "STUDY")]
    pub(crate) study: String,
}

#[derive(Debug, Args)]
pub(crate) struct StudyRun {
    /// A name from `study list`, or the path of a folder with the files of a study
    #[arg(required_unless_present = "resume", value_name = "STUDY")]
    pub(crate) study: Option<String>,

    /// Shares of the published size, 1 being all of it: one run for each [default: a trial run at
    /// the study's own scale]; with --resume they are added
    #[arg(long, value_name = "X,X", value_delimiter = ',', value_parser = share)]
    pub(crate) scale: Vec<f64>,

    /// Run only these parts, contenders, workloads, assumptions
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Seeds per cell [default: the study's; a verdict needs 3]; with --resume, missing seeds are
    /// added
    #[arg(long, value_name = "N", value_parser = times)]
    pub(crate) seeds: Option<u32>,

    /// Seeds per cell under each assumption [default: as --seeds]; 1 is enough where the difference
    /// is large: seeds are then taken to vary twice as much as on the study's own machine
    #[arg(long, value_name = "N", value_parser = times)]
    pub(crate) assumption_seeds: Option<u32>,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) testbed: StudyOptions,

    /// Do not test the assumptions about the hardware: every verdict is then undecided at best
    #[arg(long)]
    pub(crate) no_assumptions: bool,

    /// Add seeds until every question is decided, or its interval extends no farther than this to
    /// either side: 2%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) until: Option<f64>,

    /// Start nothing new once this much time has passed
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Nanos>,

    /// Give up a trial after this wall time
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub(crate) timeout: Nanos,

    /// Resume an interrupted study: any of its runs, or latest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with = "study")]
    pub(crate) resume: Option<String>,

    /// Print the trials, the space they need and the time they will take; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgument,

    #[command(flatten)]
    pub(crate) outputs: StudyOutputs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct StudyReport {
    /// Any run of the study, or latest
    #[arg(default_value = "latest", value_name = "RUN")]
    pub(crate) run: String,

    #[command(flatten)]
    pub(crate) store: StoreArgument,

    #[command(flatten)]
    pub(crate) outputs: StudyOutputs,
}

#[derive(Debug, Args)]
pub(crate) struct StudyExport {
    /// The file to write, a results database of its own; there must be none
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Any run of the study, or latest
    #[arg(default_value = "latest", value_name = "RUN")]
    pub(crate) run: String,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

/// A number above 0.
fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if share.is_finite() && share > 0.0 => Ok(share),
        _ => Err("not a share of the published size, such as 0.1".to_owned()),
    }
}

/// `2%` as 0.02.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>();
    match number {
        Ok(number) if number.is_finite() && number > 0.0 && number < 100.0 => Ok(number / 100.0),
        _ => Err("not a percentage between 0 and 100, such as 2%".to_owned()),
    }
}
