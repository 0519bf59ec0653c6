//! `fstrial self calibrate`.

use clap::{Args, Subcommand};

use super::{StoreArgument, times};

/// The machine profile of `calibrate`: the compared phase has to be disk-bound on it.
const CALIBRATED_PROFILE: &str = "today";

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    #[command(subcommand)]
    pub(crate) action: CalibrateAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CalibrateAction {
    /// Compare a filesystem with itself: differences must be no more frequent than chance allows
    Same {
        /// Number of independent comparisons; each takes twice --seeds trials
        #[arg(long, value_name = "N", value_parser = times, default_value_t = 200)]
        comparisons: u32,
        #[command(flatten)]
        task: CalibrateTask,
    },
    /// Compare a disk with one that is slower by a known share: the difference must be detected
    Slower {
        /// How much longer everything takes on the slower disk
        #[arg(long, value_name = "SHARE", default_value = "5%")]
        share: String,
        /// Number of independent batches; each takes --seeds trials on each disk
        #[arg(long, value_name = "N", value_parser = times, default_value_t = 50)]
        batches: u32,
        #[command(flatten)]
        task: CalibrateTask,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateTask {
    /// The contender, as `run` takes it
    #[arg(long, value_name = "FS", default_value = "ext2")]
    pub(crate) fs: String,

    /// The workload, as `run` takes it; unless it is disk-bound, a slower disk makes no difference
    #[arg(
        long,
        value_name = "WORKLOAD",
        default_value = "randomio:size=8M:threads=1:write_share=0:fsync_share=0:ops=150:draws=seed"
    )]
    pub(crate) workload: String,

    /// The phase whose wall time is compared
    #[arg(long, value_name = "PHASE", default_value = "random")]
    pub(crate) phase: String,

    /// Seeds per side
    #[arg(long, value_name = "N", value_parser = times, default_value_t = 8)]
    pub(crate) seeds: u32,

    /// The seed from which all others are derived
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = CALIBRATED_PROFILE)]
    pub(crate) profile: String,

    /// Judge these stored runs and run nothing
    #[arg(long, value_name = "RUN", value_delimiter = ',')]
    pub(crate) from: Vec<String>,

    /// No progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}
