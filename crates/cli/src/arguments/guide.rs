//! `fstrial guide`.

use clap::Args;

/// Shown below its help.
const EXAMPLES: &str = "\
Examples:
  fstrial guide
  fstrial guide mail --on ssd
  fstrial guide postgres --on server-nvme --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GuideArguments {
    /// What the filesystem is for, in a word: mail, postgres, git, plex, nas, docker, backup
    #[arg(value_name = "USE")]
    pub(crate) used: Option<String>,

    /// On which machine: hdd, ssd, nvme, server-ssd, server-nvme, raid1, raid5
    #[arg(long, value_name = "MACHINE")]
    pub(crate) on: Option<String>,

    /// Print what is known as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
