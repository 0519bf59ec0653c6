//! The command line. Help, man pages and completions are generated from these types.

mod cluster;
mod crosscheck;
mod study;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use units::{Bytes, Nanos};

pub(crate) use self::cluster::{ClusterArguments, SlurmTask};
pub(crate) use self::crosscheck::Crosscheck;
pub(crate) use self::study::{StudyAction, StudyArguments, StudyOutputs, StudyReport, StudyRun};
use crate::exit::EXIT_CODES;

/// The filesystems whose repeats `lab verify` compares.
const VERIFIED_FILESYSTEMS: &str = "ext2,ext3,ext4,xfs,btrfs,reiserfs,f2fs,nilfs2,jfs";

/// The machine that is simulated when none is named.
pub(crate) const DEFAULT_PROFILE: &str = "server-ssd";

/// The machine of `calibrate`: its phase has to be bound by the disk.
const CALIBRATED_PROFILE: &str = "today";

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

/// Reads `KEY=VALUE`.
fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is not of the form KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
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
pub(crate) struct Run {
    /// Workloads, each with parameters: maildir-write:relist=once:fsync=file
    #[arg(required_unless_present_any = ["resume", "like", "program"], value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,

    /// A program of your own and its arguments, as the workload; {target} stands for its
    /// directory on the filesystem: -- ./program --data {target}/db
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = ["resume", "like"])]
    pub(crate) program: Vec<String>,

    #[command(flatten)]
    pub(crate) place: Place,

    /// How often everything is repeated, in random blocks
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) repeats: u32,

    /// Determines everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Multiplies the workloads' numbers of files and ops: 0.1 or 10% is a tenth [default: 1;
    /// in the lab 0.1, unless a workload's own numbers are given]
    #[arg(long, value_name = "X", value_parser = scale)]
    pub(crate) scale: Option<f64>,

    /// Mails: spamassassin, synthetic, synthetic:count=N, own:PATH
    #[arg(long, value_name = "CORPUS", default_value = "synthetic")]
    pub(crate) mail: String,

    /// Source tree of the workload tree: synthetic, linux-6.1, linux-6.1:share=X,
    /// own:PATH.tar[.gz|.xz]; --scale takes a share of it
    #[arg(long, value_name = "TREE", default_value = "synthetic")]
    pub(crate) source_tree: String,

    /// Read everything back after each workload, outside the clocks
    #[arg(long)]
    pub(crate) verify: bool,

    /// All workloads one after the other on one filesystem
    #[arg(long)]
    pub(crate) sequence: bool,

    /// Go on with an interrupted run: its id, or latest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with = "workloads")]
    pub(crate) resume: Option<String>,

    /// Ask the same as this run did, with what else is said here of place, contenders and scale
    #[arg(long, value_name = "RUN", conflicts_with_all = ["workloads", "resume"])]
    pub(crate) like: Option<String>,

    /// Print the plan, the room it needs and the time it will take; do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    #[command(flatten)]
    pub(crate) store: StoreArgument,

    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Where trials run, and on what.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Where trials run [default: lab; dir with --dir, device with --device]
    #[arg(long, value_enum)]
    pub(crate) testbed: Option<TestbedName>,

    /// A directory to test as it is; several are compared with each other
    #[arg(long, value_name = "PATH")]
    pub(crate) dir: Vec<PathBuf>,

    /// A block device to test on; without it loop files are made
    #[arg(long, value_name = "DEV")]
    pub(crate) device: Vec<PathBuf>,

    /// Allow the contents of this very device to be destroyed
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,

    /// With lab: which one, a name of `lab list` [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) lab: Option<String>,

    /// With lab: the machine, a name of `list profiles` or a TOML file
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROFILE)]
    pub(crate) profile: String,

    /// With lab: the guest's clock; real needs a KVM that truly works
    #[arg(long, value_enum, default_value_t = Clock::Virtual)]
    pub(crate) clock: Clock,

    /// With lab: the disk, a name of `list disks` or a TOML file [default: the profile's]
    #[arg(long, value_name = "NAME")]
    pub(crate) disk: Option<String>,

    /// With lab: change a value of the profile's file: instruction_ns=2, disk.options.slower=5%
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) changes: Vec<(String, String)>,

    /// With lab: write every request of every simulated disk into this directory, a CSV file
    /// for each disk of each trial
    #[arg(long, value_name = "DIR")]
    pub(crate) request_log: Option<PathBuf>,

    /// Where loop files are made [default: the cache directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) loop_dir: Option<PathBuf>,

    /// Filesystems: ext4,xfs,btrfs or with options: ext3:dir_index=off:journal_size=256M
    #[arg(long, value_name = "LIST")]
    pub(crate) fs: Option<String>,

    /// Further contenders from a TOML file, a [[contender]] table each
    #[arg(long, value_name = "FILE")]
    pub(crate) contenders: Option<PathBuf>,

    /// Size of each data device [default: from the workloads]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,

    /// Give a trial up after this wall time
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub(crate) timeout: Nanos,

    /// With dir: drop the whole machine's caches before cold phases (root)
    #[arg(long)]
    pub(crate) drop_caches: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum TestbedName {
    /// A directory as it is: no root, no mkfs
    Dir,
    /// Block devices or loop files: mkfs, mount, work, unmount, check (root)
    Device,
    /// A guest with virtual time and simulated disks
    Lab,
}

#[derive(Debug, Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Counts instructions and jumps over idle time; the same on every machine
    Virtual,
    /// The host's own, under KVM
    Real,
}

#[derive(Debug, Args)]
pub(crate) struct StoreArgument {
    /// The results database [default: in the user's data directory]
    #[arg(long = "store", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
}

/// Files to write; `-` is standard output, which then carries that document alone.
#[derive(Debug, Args)]
pub(crate) struct Outputs {
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// With --json: compare every pair of contenders, not each with the best alone
    #[arg(long, requires = "json")]
    pub(crate) all_pairs: bool,

    /// Write a Markdown report
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write one row per measured figure as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Leave out names, paths and serials
    #[arg(long)]
    pub(crate) redact: bool,

    /// Show every figure, not the answer on one screen alone
    #[arg(long)]
    pub(crate) full: bool,
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
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Repeat one trial of each filesystem, alone, side by side and on a busy machine, and
    /// compare every nanosecond and every disk request
    Verify(LabVerify),
    /// Measure how long a trial takes to start and how much virtual time a core gives
    Bench(LabBench),
    /// Measure a disk of this machine and write a profile `this-machine` with a model of it
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
    #[arg(value_name = "RUN")]
    pub(crate) one: String,

    /// The other: the same workloads and contenders on another testbed
    #[arg(value_name = "RUN")]
    pub(crate) other: String,

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
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROFILE)]
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

    /// Where to write the profile and, beside it, its disk; without it the user's data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Measure nothing here: hide variants of this model, each parameter up to 30 % off, and see
    /// whether they are found
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dir", "device", "output"])]
    pub(crate) against_model: Option<String>,

    /// Variants to hide
    #[arg(long, value_name = "N", default_value_t = 1, requires = "against_model")]
    pub(crate) variants: u64,
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
    /// some six minutes of processor time and 4 GB for as long as it lasts
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

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    #[command(subcommand)]
    pub(crate) action: CalibrateAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CalibrateAction {
    /// A filesystem against itself: differences must be as rare as chance allows
    Same {
        /// Independent comparisons; each takes twice --seeds trials
        #[arg(long, value_name = "N", default_value_t = 200)]
        comparisons: u32,
        #[command(flatten)]
        task: CalibrateTask,
    },
    /// A disk that is slower by a known share: it has to be found out
    Slower {
        /// How much longer everything takes on the slower disk
        #[arg(long, value_name = "SHARE", default_value = "5%")]
        share: String,
        /// Independent batches; each takes --seeds trials on either disk
        #[arg(long, value_name = "N", default_value_t = 50)]
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

    /// The workload, as `run` takes it; bound by the disk, or a slower disk makes no difference
    #[arg(
        long,
        value_name = "WORKLOAD",
        default_value = "randomio:size=8M:threads=1:write_share=0:fsync_share=0:ops=150:draws=seed"
    )]
    pub(crate) workload: String,

    /// The phase whose wall time is compared
    #[arg(long, value_name = "PHASE", default_value = "random")]
    pub(crate) phase: String,

    /// Seeds a side
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) seeds: u32,

    /// The seed that all others derive from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The machine, as `run` takes it
    #[arg(long, value_name = "NAME", default_value = CALIBRATED_PROFILE)]
    pub(crate) profile: String,

    /// Judge these runs of the store and run nothing
    #[arg(long, value_name = "RUN", value_delimiter = ',')]
    pub(crate) from: Vec<String>,

    /// No progress on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

#[derive(Debug, Args)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    pub(crate) action: DiskAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DiskAction {
    /// Measure a model and print it beside what was published
    Check(DiskCheck),
    /// Print a disk's parameter file: a template for one's own
    Show {
        /// A name of `list disks`
        #[arg(value_name = "MODEL")]
        model: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DiskCheck {
    /// A name of `list disks`, or a TOML file
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// Where the platter stands, and which requests are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Hold it against a validation trace of the real drive (DiskSim's format)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// The volatile write cache, as the drive has it where not given
    #[arg(long, value_name = "on|off", value_parser = clap::builder::PossibleValuesParser::new(["on", "off"]))]
    pub(crate) write_cache: Option<String>,
}
