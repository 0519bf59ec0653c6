//! The arguments of `fstrial compare`.

use std::path::PathBuf;

use clap::Args;

use super::StoreArgument;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fstrial compare r3 r4
  fstrial compare r3 --fail-over 5%    after a run of the patched filesystem, in a script")]
pub(crate) struct Compare {
    /// The run to compare with
    #[arg(value_name = "RUN")]
    pub(crate) before: String,

    /// The run to judge
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) after: String,

    /// End with exit code 9 if a phase is shown to take longer, or to ask more of the disk, by at
    /// least this share, or has no figure
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_over: Option<f64>,

    /// Compare only phases of this name; may be given again
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Vec<String>,

    /// Also show what did not change
    #[arg(long)]
    pub(crate) full: bool,

    /// Write the comparison as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArgument,
}

/// Reads `5%` or `0.05`; 0 allows no increase that is shown to be real.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>().map(|number| number / unit) {
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("a share from 0 to 1000 % is expected, such as 5%".to_owned()),
    }
}
