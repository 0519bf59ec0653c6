//! `fstrial disk`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
