//! Spreading trials over a cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What runs trials elsewhere.
#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// A job array, a task a trial
    Slurm,
}

/// Where trials are handed to.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a cluster")]
pub(crate) struct ClusterArguments {
    /// Run the trials on the nodes of a cluster, as one job array; with --testbed lab
    #[arg(long, value_enum, value_name = "CLUSTER")]
    pub(crate) on: Option<Cluster>,

    /// As sbatch has it
    #[arg(long, value_name = "NAME", requires = "on", hide_short_help = true)]
    pub(crate) partition: Option<String>,

    /// As sbatch has it
    #[arg(long, value_name = "NODES", requires = "on", hide_short_help = true)]
    pub(crate) nodelist: Option<String>,

    /// The most that one trial may take, as sbatch's --time has it: 90, 8:00:00
    #[arg(long, value_name = "TIME", requires = "on", hide_short_help = true)]
    pub(crate) time_limit: Option<String>,

    /// How many trials run at the same time at most
    #[arg(long, value_name = "N", requires = "on", hide_short_help = true)]
    pub(crate) at_once: Option<u32>,

    /// A further option of sbatch: --sbatch=--account=NAME; as often as needed
    #[arg(
        long,
        value_name = "OPTION",
        requires = "on",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) sbatch: Vec<String>,

    /// A directory that all nodes see [default: beside the results database]
    #[arg(long, value_name = "DIR", requires = "on", hide_short_help = true)]
    pub(crate) spool: Option<PathBuf>,
}

impl ClusterArguments {
    /// As the cluster's own options.
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

/// What a task's script is begun with.
#[derive(Debug, Args)]
pub(crate) struct SlurmTask {
    /// The run's spool
    pub(crate) spool: PathBuf,

    /// The place in the run of the first trial of the array
    pub(crate) first: u32,
}
