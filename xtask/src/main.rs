//! Checks that keep the written word true: arrows between crates against ARCHITECTURE.md,
//! rules of style against the sources, generated pages against the tables they come from.

mod arrows;
mod pages;
mod style;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in the workspace")?
        .to_owned();
    std::env::set_current_dir(&root)?;
    let word = std::env::args().nth(1).unwrap_or_default();
    let problems = match word.as_str() {
        "arrows" => arrows::check()?,
        "style" => style::check()?,
        "pages" => {
            pages::write()?;
            Vec::new()
        }
        "check" => [arrows::check()?, style::check()?, pages::check()?].concat(),
        _ => bail!("usage: cargo xtask check|arrows|style|pages"),
    };
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("xtask {word}: nothing to mend");
        return Ok(());
    }
    bail!("{} to mend", problems.len())
}
