//! The command line. Help, man pages and completions are generated from these types.

mod calibrate;
mod cluster;
mod compare;
mod crosscheck;
mod disk;
mod lab;
mod outputs;
mod run;
mod study;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use units::Bytes;

pub(crate) use self::calibrate::{Calibrate, CalibrateAction, CalibrateTask};
pub(crate) use self::cluster::{ClusterArguments, SlurmTask};
pub(crate) use self::compare::Compare;
pub(crate) use self::crosscheck::Crosscheck;
pub(crate) use self::disk::{DiskAction, DiskArguments, DiskCheck};
pub(crate) use self::lab::{
    LabAction, LabAgreement, LabArguments, LabBench, LabBuild, LabCapabilities, LabFit, LabVerify,
};
pub(crate) use self::outputs::{Outputs, StudyOutputs};
pub(crate) use self::run::{Place, Run};
pub(crate) use self::study::{StudyAction, StudyArguments, StudyReport, StudyRun};
use crate::exit::EXIT_CODES;

/// Which filesystem should I use? Compares filesystems by workloads that people really
/// run, repeated and interleaved, and says which differences are real.
#[derive(Debug, Parser)]
#[command(name = "fstrial", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare filesystems: make, mount, work, unmount, check, repeat.
    Run(Box<Run>),
    /// Old pages run again: published beside measured, and a verdict on every claim
    Study(StudyArguments),
    /// Show a run of the store again, or write it to files.
    Report(Report),
    /// Hold a run against an earlier one: what became slower, what asks more of the disk
    Compare(Compare),
    /// Show what exists.
    List(List),
    /// Say what works on this machine and what to install.
    Doctor,
    /// Fetch or build corpora of mails, and source trees.
    Corpus(Corpus),
    /// Measure what fstrial itself costs, against bare system calls.
    Bench,
    /// Comparisons with a known answer: a filesystem against itself, a slower disk
    Calibrate(Calibrate),
    /// Hold a workload against the original program, run alternately on fresh filesystems
    Crosscheck(Box<Crosscheck>),
    /// Build the lab: kernel, tools and, where the host has none, an emulator
    Lab(LabArguments),
    /// Simulated disks: measure a model as one measures a drive
    Disk(DiskArguments),
    /// Remove what interrupted runs left behind, and nothing else.
    Clean,
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write the man pages into a directory.
    Man(Man),
    /// One trial of a run on a node of a cluster: begun by Slurm
    #[command(hide = true)]
    SlurmTask(SlurmTask),
}

/// The largest device: what ext4 takes without a wider block number, and more than any lab holds.
const SIZE_MAX: Bytes = Bytes(16 << 40);

/// Reads the size of a device.
fn size(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(size) if size > SIZE_MAX => Err(format!("a device has {SIZE_MAX} at most")),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads `0.01` or `1%`.
fn scale(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number / unit),
        _ => Err("not a positive number such as 0.1 or 10%".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct StoreArgument {
    /// The results database [default: in the user's data directory]
    #[arg(long = "store", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
}

impl StoreArgument {
    /// What a command that is told to the user ends with, so that it finds the same database.
    pub(crate) fn told(&self) -> String {
        let told = |path: &PathBuf| format!(" --store {}", report::quoted(&path.to_string_lossy()));
        self.path.as_ref().map_or(String::new(), told)
    }
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run's id, or latest
    #[arg(default_value = "latest", value_name = "RUN")]
    pub(crate) run: String,

    #[command(flatten)]
    pub(crate) store: StoreArgument,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: Listed,

    /// With workloads: this one alone, with its parameters, phases and presets
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Listed {
    /// What can be done, a line each; with a name all of one
    #[value(alias = "workload")]
    Workloads,
    /// What can be compared, with options
    Filesystems,
    /// What each filesystem can do, as it was tried
    Capabilities,
    /// How disks become a device
    Layouts,
    /// Simulated disks
    Disks,
    /// Simulated machines
    Profiles,
    /// Studies that ship with fstrial
    Studies,
    /// Runs in the store
    Runs,
}

#[derive(Debug, Args)]
pub(crate) struct Corpus {
    #[command(subcommand)]
    pub(crate) action: CorpusAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusAction {
    /// Make a corpus ready: spamassassin (fetched, checksum pinned), synthetic, own:PATH;
    /// or a source tree: linux-source (Debian's Linux 6.1)
    Fetch {
        /// The corpus, as --mail takes it, or linux-source
        #[arg(value_name = "CORPUS")]
        corpus: String,
    },
    /// Describe a corpus: mails, sizes, where it lies
    Show {
        /// The corpus, as --mail takes it
        #[arg(value_name = "CORPUS")]
        corpus: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Where to write the pages
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
