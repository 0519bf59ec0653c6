//! `fstrial crash`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::labs::{DEFAULT_PROFILE, key_value};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Crash {
    #[command(subcommand)]
    pub(crate) action: Option<CrashAction>,

    #[command(flatten)]
    pub(crate) run: CrashRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CrashAction {
    /// List the programs that save files
    Programs,
    /// Show a finding, and try its state again
    Show {
        /// Its id: c1-2
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CrashRun {
    /// Programs that save files, names from `crash programs`
    #[arg(value_name = "PROGRAM", required_unless_present = "own", conflicts_with = "own")]
    pub(crate) programs: Vec<String>,

    /// A program of your own and its arguments; {target} stands for its directory on the
    /// filesystem: -- ./program --data {target}/db
    #[arg(last = true, value_name = "COMMAND", requires = "check")]
    pub(crate) own: Vec<String>,

    /// What ends with 0 where your own program's promises are kept; it reads them from its standard
    /// input: './check {target}/db'
    #[arg(long, value_name = "COMMAND", requires = "own")]
    pub(crate) check: Option<String>,

    /// Filesystems, as `run` takes them: ext4,xfs,ext4:barrier=off
    #[arg(long, value_name = "LIST", required = true)]
    pub(crate) fs: Option<String>,

    /// What the disk's write cache does when the power fails [default: volatile if the profile's
    /// disk has a cache, none otherwise]
    #[arg(long, value_enum)]
    pub(crate) cache: Option<DiskCache>,

    /// Bytes that the disk writes at once: of a write that the power cuts, each such piece is whole
    /// or not there [default: the disk's physical sector]
    #[arg(long, value_name = "BYTES", value_parser = ["512", "4096"])]
    pub(crate) tear: Option<String>,

    /// States to try at most, of each filesystem and program
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) states: usize,

    /// Mount and check each state, also those that are the same as others wherever these were read
    #[arg(long)]
    pub(crate) each: bool,

    /// How often each program does its work
    #[arg(long, value_name = "N", default_value_t = 6,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) rounds: u64,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// End with exit code 12 also where only something was lost that no manual page promises
    #[arg(long)]
    pub(crate) relied: bool,

    /// Which lab, a name from `lab list` [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) lab: Option<String>,

    /// The machine, a name from `list profiles` or a TOML file
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROFILE)]
    pub(crate) profile: String,

    /// The disk, a name from `list disks` or a TOML file [default: the profile's]
    #[arg(long, value_name = "NAME")]
    pub(crate) disk: Option<String>,

    /// Change a value of the profile's file, as `run --set` does
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) changes: Vec<(String, String)>,

    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What the cache of a disk does when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiskCache {
    /// It is lost, but for what was flushed
    Volatile,
    /// There is none: what was completed is there
    None,
    /// It survives, though the kernel sends flushes
    Protected,
    /// It is lost, and the disk lied about flushes
    Lying,
}
