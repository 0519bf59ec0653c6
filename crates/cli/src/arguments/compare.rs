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
    /// least this share; with 11 if of some phase neither that nor the contrary is shown
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = share, conflicts_with = "anyway")]
    pub(crate) fail_over: Option<f64>,

    /// Show the figures of runs that are not alike in front end, machine, scale, size or input, or
    /// not complete, too
    #[arg(long)]
    pub(crate) anyway: bool,

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

/// Reads `5%` or `0.05`. With 0 only what is the same, or shown to be faster, passes. `5` is more
/// likely five percent than five times, so what is above 1 needs its `%`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>().map(|number| number / unit) {
        Ok(share) if unit == 1.0 && share > 1.0 && share <= 1000.0 => {
            Err(format!("write {share}% or {}", share / 100.0))
        }
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("a share from 0 to 1000 % is expected, such as 5%".to_owned()),
    }
}
