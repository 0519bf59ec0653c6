//! Spreading trials over a cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The kinds of cluster that can run trials.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// A job array with one task per trial
    Slurm,
}

/// Whether and how trials run on a cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a cluster")]
pub(crate) struct ClusterArguments {
    /// Run the trials on the nodes of a cluster, as one job array; with --testbed lab
    #[arg(long, value_enum, value_name = "CLUSTER")]
    pub(crate) on: Option<Cluster>,

    /// The partition, passed to sbatch
    #[arg(long, value_name = "NAME", requires = "on", hide_short_help = true)]
    pub(crate) partition: Option<String>,

    /// The nodes to use, passed to sbatch
    #[arg(long, value_name = "NODES", requires = "on", hide_short_help = true)]
    pub(crate) nodelist: Option<String>,

    /// Time limit of one trial, in the format of sbatch's --time: 90, 8:00:00
    #[arg(long, value_name = "TIME", requires = "on", hide_short_help = true)]
    pub(crate) time_limit: Option<String>,

    /// The most trials that run at the same time
    #[arg(long, value_name = "N", requires = "on", hide_short_help = true)]
    pub(crate) at_once: Option<u32>,

    /// A further option for sbatch: --sbatch=--account=NAME; may be repeated
    #[arg(
        long,
        value_name = "OPTION",
        requires = "on",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) sbatch: Vec<String>,

    /// A directory shared by all nodes [default: beside the results database]
    #[arg(long, value_name = "DIR", requires = "on", hide_short_help = true)]
    pub(crate) spool: Option<PathBuf>,
}

impl ClusterArguments {
    /// The same as Slurm's options.
    pub(crate) fn options(&self) -> slurm::Options {
        slurm::Options {
            partition: self.partition.clone(),
            nodelist: self.nodelist.clone(),
            time_limit: self.time_limit.clone(),
            at_once: self.at_once,
            further: self.sbatch.clone(),
        }
    }
}

/// The arguments with which a task's script starts fstrial.
#[derive(Debug, Args)]
pub(crate) struct SlurmTask {
    /// The run's spool
    pub(crate) spool: PathBuf,

    /// The position, within the run, of the array's first trial
    pub(crate) first: u32,
}
