//! `fstrial lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{StoreArgument, scale, times};
use crate::labs::{DEFAULT_PROFILE, key_value};

/// The filesystems whose repeats `lab verify` compares.
const VERIFIED_FILESYSTEMS: &str = "ext2,ext3,ext4,xfs,btrfs,reiserfs,f2fs,nilfs2,jfs";

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) action: LabAction,

    /// Which lab, a name from `lab list` [default: default]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) lab: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAction {
    /// Fetch kernel and tools into the cache and compile the emulator; no root needed
    Build(LabBuild),
    /// Show what the lab is made of
    Show,
    /// List the labs by name, with their kernels
    List,
    /// Remove a lab, and the downloads that only it uses
    Remove {
        /// Its name
        #[arg(value_name = "LAB")]
        name: String,
    },
    /// Repeat one trial of each filesystem, alone, side by side and on a busy machine, and
    /// compare every nanosecond and every disk request
    Verify(LabVerify),
    /// Measure this machine's processor and disk and write the profile `this-machine`
    Fit(LabFit),
    /// Test what each filesystem can do: shrink, take snapshots, notice damage, and more
    Capabilities(LabCapabilities),
    /// Export the lab to a file, since distributions drop old kernels
    Export {
        /// The file to write
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Import a lab that was exported and use it from now on
    Import {
        /// The file to read
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LabAgreement {
    /// One run: its id, or latest
    #[arg(value_name = "RUN", required_unless_present = "here")]
    pub(crate) one: Option<String>,

    /// The other: the same workloads and contenders on another testbed
    #[arg(value_name = "RUN", required_unless_present = "here")]
    pub(crate) other: Option<String>,

    /// Make both runs first, alternating one repeat of each: on loop files of this machine
    /// (root), and in the lab with the profile that `lab fit` wrote
    #[arg(long, conflicts_with_all = ["one", "other", "varied"])]
    pub(crate) here: bool,

    /// With --here: where to make loop files, as for `run`; use the directory that was measured
    #[arg(long, value_name = "PATH", requires = "here", conflicts_with = "one")]
    pub(crate) loop_dir: Option<PathBuf>,

    /// With --here: the lab's machine profile
    #[arg(long, value_name = "NAME", requires = "here", conflicts_with = "one", default_value = lab::THIS_MACHINE)]
    pub(crate) profile: String,

    /// With --here: workloads, as `run` takes them
    #[arg(
        long,
        value_name = "LIST",
        requires = "here",
        conflicts_with = "one",
        value_delimiter = ',',
        default_value = "maildir-write,fsync-append,tree,randomio,varmail,postmark"
    )]
    pub(crate) workloads: Vec<String>,

    /// With --here: filesystems, as `run` takes them; those that one side cannot run are left out
    #[arg(
        long,
        value_name = "LIST",
        requires = "here",
        conflicts_with = "one",
        default_value = "ext4,xfs,btrfs,f2fs"
    )]
    pub(crate) fs: String,

    /// With --here: repeats on each side
    #[arg(long, value_name = "N", value_parser = times, requires = "here", conflicts_with = "one", default_value_t = 5)]
    pub(crate) repeats: u32,

    /// With --here: multiplies the workloads' numbers of files and ops
    #[arg(long, value_name = "X", requires = "here", conflicts_with = "one", value_parser = scale, default_value = "0.1")]
    pub(crate) scale: f64,

    /// Runs that differ from the other one in a single parameter each (`run --set`): which of them
    /// makes a discordant pair agree?
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) varied: Vec<String>,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Args)]
pub(crate) struct LabCapabilities {
    /// Filesystems, as `run` takes them [default: all that this lab has]
    #[arg(long, value_name = "LIST")]
    pub(crate) fs: Option<String>,

    /// Print the data file from which `list capabilities` and its page are generated
    #[arg(long)]
    pub(crate) toml: bool,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = "ideal")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabBench {
    /// Number of starts; the median is reported
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) starts: usize,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = "scsi-2004")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabFit {
    /// Measure with a file of 512 MiB that is made in this directory; no root needed
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Measure this block device instead, by reads only: writes keep the nearest model's figures
    #[arg(long, value_name = "DEV", conflicts_with = "dir")]
    pub(crate) device: Option<PathBuf>,

    /// Measure a loop file in this directory instead (root): what `--testbed device` runs on,
    /// including the loop driver and the filesystem beneath it
    #[arg(long, value_name = "PATH", conflicts_with_all = ["dir", "device"])]
    pub(crate) loop_dir: Option<PathBuf>,

    /// Where to write the profile and, beside it, its disk [default: in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Test the fit instead of measuring this machine: hide variants of this model, each parameter
    /// up to 30 % off, and see whether the fit finds them
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dir", "device", "loop_dir", "output"])]
    pub(crate) against_model: Option<String>,

    /// Number of variants to hide
    #[arg(long, value_name = "N", default_value_t = 1, requires = "against_model")]
    pub(crate) variants: u64,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Args)]
pub(crate) struct LabVerify {
    /// Instead, read every file of the lab and compare it with what was built or imported
    #[arg(long)]
    pub(crate) files: bool,

    /// Filesystems, as `run` takes them
    #[arg(long, value_name = "LIST", default_value = VERIFIED_FILESYSTEMS)]
    pub(crate) fs: String,

    /// Trials of each filesystem: half alone, half side by side, every other one while busy
    /// loops run
    #[arg(long, value_name = "N", value_parser = times, default_value_t = 10)]
    pub(crate) times: u32,

    /// The workload, as `run` takes it
    #[arg(long, value_name = "WORKLOAD", default_value = "maildir-write:fsync=file")]
    pub(crate) workload: String,

    /// Multiplies the workload's numbers of files and ops
    #[arg(long, value_name = "X", default_value_t = 0.002, value_parser = scale)]
    pub(crate) scale: f64,

    /// The seed of all trials but one, which has another seed and must give another result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROFILE)]
    pub(crate) profile: String,

    /// Change a value of the profile's file, as `run --set` does
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) changes: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct LabBuild {
    /// The lab's name, for `--lab NAME` later on; other labs stay as they are [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "lab")]
    pub(crate) name: Option<String>,

    /// A kernel of your own: a bzImage, which needs --modules, or a Debian kernel package; of one in
    /// several packages, the others lie beside it or are given too. It is booted once before the
    /// lab takes it
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) kernel: Vec<PathBuf>,

    /// Its modules, lib/modules/RELEASE
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,

    /// Compile the kernel, from Debian's source of a version (6.12) or from a Linux source tree.
    /// Takes six to eleven minutes of processor time and, until it ends, 4 GB
    #[arg(long, value_name = "VERSION|DIR", conflicts_with_all = ["kernel", "modules"])]
    pub(crate) kernel_source: Option<String>,

    /// With --kernel-source: a unified diff, or a directory of them, to apply; may be repeated
    #[arg(long, value_name = "FILE|DIR", requires = "kernel_source")]
    pub(crate) patch: Vec<PathBuf>,

    /// With --kernel-source: a file of settings, CONFIG_EXT4_FS=m, on top of those the lab needs;
    /// may be repeated
    #[arg(long, value_name = "FILE", requires = "kernel_source")]
    pub(crate) config: Vec<PathBuf>,

    /// A directory tree with tools of your own
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,

    /// The emulator that another lab was built with, its directory `emulator`, instead of compiling
    /// one
    #[arg(long, value_name = "DIR")]
    pub(crate) emulator: Option<PathBuf>,

    /// Rebuild a lab that exists already; it keeps its optional parts
    #[arg(long)]
    pub(crate) refresh: bool,

    /// Optional parts to add to the lab; `lab show` lists them all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) with: Vec<String>,
}
