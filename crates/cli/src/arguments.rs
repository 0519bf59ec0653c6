//! The command line. Help, man pages and completions are generated from these types.

mod calibrate;
mod cluster;
mod compare;
mod crash;
mod crosscheck;
mod disk;
mod guide;
mod itself;
mod lab;
mod outputs;
mod run;
mod study;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use units::{Bytes, Nanos};

pub(crate) use self::calibrate::{Calibrate, CalibrateAction, CalibrateTask};
pub(crate) use self::cluster::{ClusterArguments, SlurmTask};
pub(crate) use self::compare::Compare;
pub(crate) use self::crash::{Crash, CrashAction, CrashRun, DiskCache};
pub(crate) use self::crosscheck::Crosscheck;
pub(crate) use self::disk::{DiskAction, DiskArguments, DiskCheck};
pub(crate) use self::guide::GuideArguments;
pub(crate) use self::itself::{SelfArguments, SelfCheck};
pub(crate) use self::lab::{
    LabAction, LabAgreement, LabArguments, LabBench, LabBuild, LabCapabilities, LabFit, LabVerify,
};
pub(crate) use self::outputs::{Outputs, StudyOutputs};
pub(crate) use self::run::{Place, Run};
pub(crate) use self::study::{StudyAction, StudyArguments, StudyExport, StudyReport, StudyRun};
use crate::exit::EXIT_CODES;

/// Which filesystem should I use? Compares filesystems with workloads that people really
/// run, repeated and interleaved, and reports which differences are real.
#[derive(Debug, Parser)]
#[command(name = "fstrial", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Which filesystem for which use: answers at once, from figures measured beforehand
    Guide(GuideArguments),
    /// Compare filesystems: make, mount, work, unmount, check, repeat.
    Run(Box<Run>),
    /// Repeat published benchmarks: published beside measured figures, a verdict on every claim
    Study(StudyArguments),
    /// Show the report of a stored run again, or write it to files.
    Report(Report),
    /// Compare a run with an earlier one: what became slower, what asks more of the disk
    Compare(Compare),
    /// Cut the power in every state the disk may be left in: what is lost, what is damaged
    Crash(Box<Crash>),
    /// List what can be named: workloads, filesystems, profiles, disks, runs and more.
    List(List),
    /// Report what works on this machine and what to install.
    Doctor,
    /// Fetch or build mail corpora and source trees.
    Corpus(Corpus),
    /// Build the lab: kernel, tools and, where the host has none, an emulator
    Lab(LabArguments),
    /// Check fstrial itself: its overhead, statistics, workloads, simulated disks
    #[command(name = "self")]
    Itself(SelfArguments),
    /// Remove what interrupted runs left behind, and nothing else.
    Clean(Clean),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Write the man pages into a directory.
    Man(Man),
    /// Run one trial on a node of a cluster; started by Slurm
    #[command(hide = true)]
    SlurmTask(SlurmTask),
}

/// Commands that the help names below those which answer a question.
const ALSO: [&str; 6] = ["doctor", "corpus", "clean", "self", "completions", "man"];

/// The command line, as [`Arguments`] describe it.
pub(crate) fn command() -> clap::Command {
    let mut also = "Also:\n".to_owned();
    let command =
        Arguments::command().mut_subcommands(|sub| match ALSO.contains(&sub.get_name()) {
            true => {
                let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
                also += &format!("  {:<12} {about}\n", sub.get_name());
                sub.hide(true)
            }
            false => sub,
        });
    command.after_help(format!("{also}\n{EXIT_CODES}"))
}

/// The largest device: the limit of ext4 with 32-bit block numbers, and more than any lab holds.
const SIZE_MAX: Bytes = Bytes(16 << 40);

/// Reads the size of a device.
fn size(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(size) if size > SIZE_MAX => Err(format!("a device has {SIZE_MAX} at most")),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a time in which something may be done: `90s`, `2h`.
fn limit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => {
            Err("nothing is done in no time; leave it out for the default".to_owned())
        }
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a number of times.
fn times(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(0) => Err("0 measures nothing; 1 or more".to_owned()),
        Ok(times) => Ok(times),
        _ => Err("not a whole number, 1 or more".to_owned()),
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
    /// The option to append to a command shown to the user, so that it opens the same database.
    pub(crate) fn suffix(&self) -> String {
        let suffix =
            |path: &PathBuf| format!(" --store {}", report::quoted(&path.to_string_lossy()));
        self.path.as_ref().map_or(String::new(), suffix)
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
pub(crate) struct Clean {
    /// Give up what cannot be removed at this path or below it: leave it there, and do not look
    /// for it again
    #[arg(long, value_name = "PATH")]
    pub(crate) forget: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum)]
    pub(crate) what: Listed,

    /// Show only this one; of a workload also its parameters, phases and presets
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Listed {
    /// Workloads, one line each; with a name, everything about that one
    #[value(alias = "workload")]
    Workloads,
    /// Filesystems that can be compared, with their options
    #[value(aliases = ["filesystem", "fs"])]
    Filesystems,
    /// What each filesystem can do, as tested; with a filesystem's name, what that one can do
    #[value(alias = "capability")]
    Capabilities,
    /// How disks become a device
    #[value(alias = "layout")]
    Layouts,
    /// Simulated disks
    #[value(alias = "disk")]
    Disks,
    /// Simulated machines
    #[value(alias = "profile")]
    Profiles,
    /// Studies that ship with fstrial
    #[value(alias = "study")]
    Studies,
    /// Labs that are built, with their kernels
    #[value(alias = "lab")]
    Labs,
    /// Runs in the store
    #[value(alias = "run")]
    Runs,
}

#[derive(Debug, Args)]
pub(crate) struct Corpus {
    #[command(subcommand)]
    pub(crate) action: CorpusAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusAction {
    /// Prepare a corpus: spamassassin (fetched, checksum pinned), synthetic, own:PATH;
    /// or a source tree: linux-source (Debian's Linux 6.1)
    Fetch {
        /// The corpus, as --mail takes it, or linux-source
        #[arg(value_name = "CORPUS")]
        corpus: String,
    },
    /// Describe a corpus: mails, sizes, location
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
