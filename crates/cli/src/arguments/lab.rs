//! `fstrial lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{StoreArgument, scale};
use crate::labs::{DEFAULT_PROFILE, key_value};

/// The filesystems whose repeats `lab verify` compares.
const VERIFIED_FILESYSTEMS: &str = "ext2,ext3,ext4,xfs,btrfs,reiserfs,f2fs,nilfs2,jfs";

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) action: LabAction,

    /// Which lab, a name of `lab list` [default: default]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) lab: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAction {
    /// Fetch and unpack kernel, tools and emulator into the cache; no root needed
    Build(LabBuild),
    /// Say what the lab is made of
    Show,
    /// List the labs by name, with their kernels
    List,
    /// Remove a lab, and what was downloaded for it alone
    Remove {
        /// Its name
        #[arg(value_name = "LAB")]
        name: String,
    },
    /// Repeat one trial of each filesystem, alone, side by side and on a busy machine, and
    /// compare every nanosecond and every disk request
    Verify(LabVerify),
    /// Measure how long a trial takes to start and how much virtual time a core gives
    Bench(LabBench),
    /// Measure processor and disk of this machine and write a profile `this-machine`
    Fit(LabFit),
    /// Compare two stored runs, one of the lab and one of a real device: do they agree on
    /// who is faster?
    Agreement(LabAgreement),
    /// Try what each filesystem can do: shrink, take snapshots, notice damage, and more
    Capabilities(LabCapabilities),
    /// Write the lab into a file, since distributions drop old kernels
    Export {
        /// The file to write
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Read a lab that was exported and use it from now on
    Import {
        /// The file to read
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Boot a guest under KVM to find out whether it truly works here
    Kvm,
}

#[derive(Debug, Args)]
pub(crate) struct LabAgreement {
    /// One run: its id, or latest
    #[arg(value_name = "RUN", required_unless_present = "here")]
    pub(crate) one: Option<String>,

    /// The other: the same workloads and contenders on another testbed
    #[arg(value_name = "RUN", required_unless_present = "here")]
    pub(crate) other: Option<String>,

    /// Make both runs first, a repeat of the one and a repeat of the other in turn: loop files on
    /// this machine (root), and the lab with the profile that `lab fit` wrote
    #[arg(long, conflicts_with_all = ["one", "other", "varied"])]
    pub(crate) here: bool,

    /// With --here: where loop files are made, as `run` takes it; the directory that was measured
    #[arg(long, value_name = "PATH", requires = "here", conflicts_with = "one")]
    pub(crate) loop_dir: Option<PathBuf>,

    /// With --here: the machine in the lab
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

    /// With --here: filesystems, as `run` takes them; what one of the two kernels lacks is left out
    #[arg(
        long,
        value_name = "LIST",
        requires = "here",
        conflicts_with = "one",
        default_value = "ext4,xfs,btrfs,f2fs"
    )]
    pub(crate) fs: String,

    /// With --here: repeats on either
    #[arg(long, value_name = "N", requires = "here", conflicts_with = "one", default_value_t = 5)]
    pub(crate) repeats: u32,

    /// With --here: multiplies the workloads' numbers of files and ops
    #[arg(long, value_name = "X", requires = "here", conflicts_with = "one", value_parser = scale, default_value = "0.1")]
    pub(crate) scale: f64,

    /// Runs like the other but for one parameter each (`run --set`): which of them makes a
    /// discordant pair agree?
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) varied: Vec<String>,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Args)]
pub(crate) struct LabCapabilities {
    /// Filesystems, as `run` takes them; without it all that this lab has
    #[arg(long, value_name = "LIST")]
    pub(crate) fs: Option<String>,

    /// Print the data file from which `list capabilities` and its page are made
    #[arg(long)]
    pub(crate) toml: bool,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = "ideal")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabBench {
    /// Starts to take the median of
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) starts: usize,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = "scsi-2004")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabFit {
    /// Measure with a file of its own, 512 MiB, in this directory; no root needed
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Measure this block device instead, by reading alone: writes keep the nearest model's figures
    #[arg(long, value_name = "DEV", conflicts_with = "dir")]
    pub(crate) device: Option<PathBuf>,

    /// Measure a loop file in this directory instead (root): what `--testbed device` runs on, with
    /// the filesystem below and the loop driver between
    #[arg(long, value_name = "PATH", conflicts_with_all = ["dir", "device"])]
    pub(crate) loop_dir: Option<PathBuf>,

    /// Where to write the profile and, beside it, its disk; without it the user's data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Measure nothing here: hide variants of this model, each parameter up to 30 % off, and see
    /// whether they are found
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dir", "device", "loop_dir", "output"])]
    pub(crate) against_model: Option<String>,

    /// Variants to hide
    #[arg(long, value_name = "N", default_value_t = 1, requires = "against_model")]
    pub(crate) variants: u64,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Args)]
pub(crate) struct LabVerify {
    /// Read every file of the lab instead, and compare with what was built or imported
    #[arg(long)]
    pub(crate) files: bool,

    /// Filesystems, as `run` takes them
    #[arg(long, value_name = "LIST", default_value = VERIFIED_FILESYSTEMS)]
    pub(crate) fs: String,

    /// Trials of each filesystem: half alone, half side by side, every other one beside busy
    /// loops
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) times: u32,

    /// The workload, as `run` takes it
    #[arg(long, value_name = "WORKLOAD", default_value = "maildir-write:fsync=file")]
    pub(crate) workload: String,

    /// Multiplies the workload's numbers of files and ops
    #[arg(long, value_name = "X", default_value_t = 0.002, value_parser = scale)]
    pub(crate) scale: f64,

    /// The seed of all trials but one; another seed must differ
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROFILE)]
    pub(crate) profile: String,

    /// Change a value of the profile's file, as `run` takes it
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) changes: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct LabBuild {
    /// The lab's name, for `--lab NAME` later on; others stay as they are [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "lab")]
    pub(crate) name: Option<String>,

    /// A kernel of your own: a bzImage, which needs --modules, or a kernel's Debian package.
    /// It is booted once before it becomes the lab
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,

    /// Its modules, lib/modules/RELEASE
    #[arg(long, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,

    /// Compile the kernel: of Debian's source of a version (6.12), or of a tree of Linux. Takes
    /// six to eleven minutes of processor time and 4 GB for as long as it lasts
    #[arg(long, value_name = "VERSION|DIR", conflicts_with_all = ["kernel", "modules"])]
    pub(crate) kernel_source: Option<String>,

    /// With --kernel-source: a unified diff, or a directory of them, to apply; may be given again
    #[arg(long, value_name = "FILE|DIR", requires = "kernel_source")]
    pub(crate) patch: Vec<PathBuf>,

    /// With --kernel-source: a file of settings, CONFIG_EXT4_FS=m, on top of those the lab needs;
    /// may be given again
    #[arg(long, value_name = "FILE", requires = "kernel_source")]
    pub(crate) config: Vec<PathBuf>,

    /// A tree of tools of your own
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Option<PathBuf>,

    /// Unpack QEMU even where the host has one
    #[arg(long)]
    pub(crate) unpack_qemu: bool,

    /// Build anew though there is a lab; it keeps its optional parts
    #[arg(long)]
    pub(crate) refresh: bool,

    /// Optional parts to build into the lab beside those it has; `lab show` lists them all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) with: Vec<String>,
}
