//! The arguments of `fstrial self crosscheck`.

use std::path::PathBuf;

use clap::Args;

use super::{Place, StoreArgument, times};

#[derive(Debug, Args)]
pub(crate) struct Crosscheck {
    /// The workload to check, as `run` takes it: postmark:number=2000
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workload: String,

    #[command(flatten)]
    pub(crate) place: Place,

    /// Number of pairs of trials: the original and ours in random order, each on a fresh filesystem
    #[arg(long, value_name = "N", value_parser = times, default_value_t = 20)]
    pub(crate) pairs: u32,

    /// Times that differ by no more than this count as equal
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub(crate) margin: String,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Judge this stored run and run nothing
    #[arg(long, value_name = "RUN")]
    pub(crate) from: Option<String>,

    /// Write the comparison as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}
