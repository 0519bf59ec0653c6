//! `fstrial self disk`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    pub(crate) action: DiskAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DiskAction {
    /// Measure a model and print the results beside the published figures
    Check(DiskCheck),
    /// Print a disk's parameter file, a template for your own
    Show {
        /// A name from `list disks`
        #[arg(value_name = "MODEL")]
        model: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DiskCheck {
    /// A name from `list disks`, or a TOML file
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// Seed of the platter's initial position and of the requests that are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Compare it with a validation trace of the real drive (DiskSim's format)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// The volatile write cache [default: as the drive has it]
    #[arg(long, value_name = "on|off", value_parser = clap::builder::PossibleValuesParser::new(["on", "off"]))]
    pub(crate) write_cache: Option<String>,
}
