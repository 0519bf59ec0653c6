//! The arguments of `fstrial self`.

use clap::{Args, Subcommand};

use super::{Calibrate, Crosscheck, DiskArguments, LabAgreement, LabBench};

#[derive(Debug, Args)]
pub(crate) struct SelfArguments {
    #[command(subcommand)]
    pub(crate) what: SelfCheck,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SelfCheck {
    /// Measure fstrial's own overhead, against bare system calls.
    Bench,
    /// Check the statistics by comparisons with a known answer: equal filesystems, a slower disk
    Calibrate(Calibrate),
    /// Compare a workload with the original program, run alternately on fresh filesystems
    Crosscheck(Box<Crosscheck>),
    /// Compare two stored runs, one of the lab and one of a real device: do they agree on
    /// who is faster?
    Agreement(OfLab<LabAgreement>),
    /// Measure how long a trial takes to start and how fast virtual time passes per core
    LabBench(OfLab<LabBench>),
    /// Simulated disks: measure a model as one would measure a drive
    Disk(DiskArguments),
}

/// A check of a lab.
#[derive(Debug, Args)]
pub(crate) struct OfLab<T: Args> {
    #[command(flatten)]
    pub(crate) check: T,

    /// Which lab, a name from `lab list` [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) lab: Option<String>,
}
