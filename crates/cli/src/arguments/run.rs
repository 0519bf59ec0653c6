//! `fstrial run`.

use std::path::PathBuf;

use clap::Args;
use units::{Bytes, Nanos};

use super::{ClusterArguments, Outputs, StoreArgument, limit, scale, size, times};
use crate::testbeds::RunOptions;

/// The default wall time after which a trial is given up.
const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(2 * 3600);

// Headings of its help, in the order in which they are shown.
const WHAT: &str = "What is compared";
const WORK: &str = "The work";
const OFTEN: &str = "Repeats and resuming";

/// Shown below its help.
const EXAMPLES: &str = "\
Examples:
  fstrial run maildir-write@dovecot --fs ext4,xfs,btrfs
  fstrial run randomio@database fsync-append --fs ext4,xfs --profile laptop-nvme
  fstrial run varmail --fs ext4,xfs --testbed device --loop-dir /srv
  fstrial run sqlite --dir /mnt/one --dir /mnt/other
  fstrial run --fs ext4,btrfs -- ./program --data {target}/db

What can be named: fstrial list workloads, filesystems, profiles, disks";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Workloads, each with parameters: maildir-write:relist=once:fsync=file
    #[arg(required_unless_present_any = ["resume", "like", "program"], value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,

    /// A program of your own and its arguments, as the workload; {target} stands for its
    /// directory on the filesystem: -- ./program --data {target}/db
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = ["resume", "like"])]
    pub(crate) program: Vec<String>,

    /// Answered with how to get a lab with another kernel
    #[arg(long, value_name = "VERSION", hide = true)]
    pub(crate) kernel: Option<String>,

    #[command(flatten)]
    pub(crate) place: Place,

    /// How often everything is repeated, in random blocks; a run has 100,000 trials at most
    /// [default: 5; in the lab 3 to 12, until it is decided who is first or two minutes of work are
    /// done]
    #[arg(long, value_name = "N", value_parser = times, help_heading = OFTEN)]
    pub(crate) repeats: Option<u32>,

    /// Seed of all random choices [default: 1]
    #[arg(long, value_name = "N", help_heading = OFTEN)]
    pub(crate) seed: Option<u64>,

    /// Multiplies the workloads' numbers of files and ops: 0.1 or 10% is a tenth [default: 1;
    /// in the lab 0.1, unless a workload's own numbers are given]
    #[arg(long, value_name = "X", value_parser = scale, help_heading = WORK)]
    pub(crate) scale: Option<f64>,

    /// Mails: spamassassin, synthetic, synthetic:count=N (10,000,000 at most; 2 GiB of mails in
    /// the lab), own:PATH [default: synthetic]
    #[arg(long, value_name = "CORPUS", help_heading = WORK)]
    pub(crate) mail: Option<String>,

    /// Source tree for the workload `tree`: synthetic, linux-6.1, linux-6.1:share=X,
    /// own:PATH of a tar, also compressed; --scale takes a share of it [default: synthetic]
    #[arg(long, value_name = "TREE", help_heading = WORK, hide_short_help = true)]
    pub(crate) source_tree: Option<String>,

    /// Read everything back after each workload; this is not timed
    #[arg(long, help_heading = WORK, hide_short_help = true)]
    pub(crate) verify: bool,

    /// Run all workloads one after the other on one filesystem
    #[arg(long, help_heading = WORK)]
    pub(crate) sequence: bool,

    /// Resume an interrupted run: its id, or latest
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with_all = ["workloads", "repeats", "seed", "scale", "verify", "sequence", "mail",
          "source_tree", "fs", "size", "contenders", "timeout", "testbed", "dir", "device", "loop_dir",
          "lab", "profile", "disk", "changes", "processors"],
          help_heading = OFTEN)]
    pub(crate) resume: Option<String>,

    /// Ask what this stored run asked; options given here replace its place, contenders, sizes and
    /// repeats
    #[arg(long, value_name = "RUN", conflicts_with_all = ["workloads", "resume"], help_heading = OFTEN)]
    pub(crate) like: Option<String>,

    /// Print the plan, the space it needs and the time it will take; run nothing
    #[arg(long, conflicts_with = "resume", help_heading = OFTEN)]
    pub(crate) dry_run: bool,

    /// No progress on standard error
    #[arg(long, short, help_heading = OFTEN)]
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
    /// Filesystems: ext4,xfs,btrfs or with options: ext3:dir_index=off:journal_size=256M
    #[arg(long, value_name = "LIST", help_heading = WHAT)]
    pub(crate) fs: Option<String>,

    /// Size of each data device, 16 TiB at most [default: from the workloads]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = WHAT)]
    pub(crate) size: Option<Bytes>,

    /// Further contenders from a TOML file, one [[contender]] table each
    #[arg(long, value_name = "FILE", help_heading = WHAT, hide_short_help = true)]
    pub(crate) contenders: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) testbed: RunOptions,

    /// Give up a trial after this wall time [default: 2h]
    #[arg(long, value_name = "TIME", value_parser = limit, help_heading = OFTEN, hide_short_help = true)]
    pub(crate) timeout: Option<Nanos>,
}

impl Place {
    /// The wall time after which a trial is given up.
    pub(crate) fn timeout(&self) -> Nanos {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }
}
