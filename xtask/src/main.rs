//! Checks that keep the written word true: arrows between crates against ARCHITECTURE.md,
//! manifests and sizes and circles in the sources, rules of style, links and code in documents,
//! generated pages against the tables they come from.

mod allowed;
mod around;
mod arrows;
mod circles;
mod dead;
mod dist;
mod features;
mod guide;
mod howtos;
mod links;
mod manifests;
mod pages;
mod programs;
mod screens;
mod size;
mod sources;
mod style;

mod words;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask WORD
  check      all that follow, but writes nothing
  arrows     the crates' dependencies against the table in ARCHITECTURE.md
  around     changes of files that go around crates/files
  features   third-party features that differ between one crate and the whole workspace
  howtos     code in how-tos: Rust that is none, changes beside lines that are gone
  links      links between documents, and from the README to every how-to
  manifests  dependencies that are not used
  size       files that are too long
  dead       public declarations that no other file names
  circles    modules of a crate that use each other
  style      names, headings, holes
  words      decisions by searching a text for words
  pages      writes docs/reference, and docs/guide.md from guide/
  guide      --program FSTRIAL [USE…] [--on MACHINE]…: runs what guide/ asks for and has no
             result yet, hours for all of it, and writes the pages; --reread reads the stores of
             those that have one again
  screens    runs what docs/screens.md shows, some minutes, and writes what is shown then
  test       builds and runs the tests, two programs at a time; a second word chooses those that
             need nothing (pure), root, or the lab
  dist       an archive and a Debian package below target/dist; a second word names a binary
             that is built already";

fn main() -> Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in the workspace")?
        .to_owned();
    std::env::set_current_dir(&root)?;
    let word = std::env::args().nth(1).unwrap_or_default();
    let problems = carry_out(&word)?;
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("xtask {word}: nothing to mend");
        return Ok(());
    }
    bail!("{} to mend", problems.len())
}

fn carry_out(word: &str) -> Result<Vec<String>> {
    let nothing = Vec::new();
    match word {
        "around" => around::check(&sources::workspace()?),
        "arrows" => arrows::check(),
        "features" => features::check(&sources::workspace()?),
        "howtos" => howtos::check(),
        "links" => links::check(),
        "manifests" => manifests::check(&sources::workspace()?),
        "size" => Ok(size::check(&sources::workspace()?)),
        "dead" => dead::check(&sources::workspace()?),
        "circles" => Ok(circles::check(&sources::workspace()?)),
        "style" => style::check(&sources::workspace()?),
        "words" => words::check(&sources::workspace()?),
        "guide" => {
            guide::make(std::env::args().skip(2))?;
            pages::write().map(|()| nothing)
        }
        "pages" => pages::write().map(|()| nothing),
        "screens" => screens::write().map(|()| nothing),
        "test" => programs::run(std::env::args().nth(2).as_deref()),
        "dist" => dist::make(std::env::args_os().nth(2).map(PathBuf::from)).map(|()| nothing),
        "check" => {
            let crates = sources::workspace()?;
            let checks = [
                arrows::check()?,
                around::check(&crates)?,
                features::check(&crates)?,
                howtos::check()?,
                links::check()?,
                manifests::check(&crates)?,
                size::check(&crates),
                dead::check(&crates)?,
                circles::check(&crates),
                style::check(&crates)?,
                words::check(&crates)?,
                pages::check()?,
            ];
            Ok(checks.concat())
        }
        _ => bail!("{USAGE}"),
    }
}
