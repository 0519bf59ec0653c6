//! The screens in docs/screens.md, made anew by running what stands above each: they are what a
//! run shows today, or they are nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

const PAGE: &str = "docs/screens.md";
/// What a fenced block begins with that names its command.
const PROMPT: &str = "$ ";
/// What stands above a screen, after its width.
const COLUMNS: &str = " columns:";

/// Runs every command of the page, with a store of its own, and writes what it shows at each
/// width. Needs a release build and the lab that `fstrial` makes; takes some minutes.
pub(crate) fn write() -> Result<()> {
    let page = std::fs::read_to_string(PAGE).with_context(|| format!("read {PAGE}"))?;
    let home = Path::new("target/screens").to_owned();
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    std::fs::create_dir_all(&home)?;
    let home = home.canonicalize()?;
    let anew = with_screens(
        &page,
        &mut |command| {
            eprintln!("{command}");
            let done = fstrial(command, "100", &home)?;
            // A program that fails makes a run that is complete, with exit code 1.
            ensure!(matches!(done.status.code(), Some(0 | 1)), "{command}: {}", done.status);
            Ok(())
        },
        &mut |columns| {
            let done = fstrial("fstrial report", columns, &home)?;
            ensure!(done.status.success(), "fstrial report: {}", done.status);
            Ok(String::from_utf8(done.stdout)?)
        },
    )?;
    std::fs::write(PAGE, anew).with_context(|| format!("write {PAGE}"))
}

/// The release build's `fstrial` in a shell, told how wide its terminal is.
fn fstrial(command: &str, columns: &str, home: &Path) -> Result<std::process::Output> {
    let programs = Path::new("target/x86_64-unknown-linux-gnu/release").canonicalize()?;
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", command])
        .current_dir(home)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("XDG_DATA_HOME", home)
        .env("COLUMNS", columns)
        .env("NO_COLOR", "1")
        .stderr(Stdio::inherit())
        .output()
        .context("sh")
}

/// The page with every screen replaced: `run` is given each command, `show` each width.
fn with_screens(
    page: &str,
    run: &mut dyn FnMut(&str) -> Result<()>,
    show: &mut dyn FnMut(&str) -> Result<String>,
) -> Result<String> {
    let mut anew = String::new();
    let mut columns = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        anew += &format!("{line}\n");
        if let Some(width) = line.strip_suffix(COLUMNS) {
            columns = Some(width);
        }
        if line != "```" {
            continue;
        }
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        match (columns.take(), block.first().and_then(|first| first.strip_prefix(PROMPT))) {
            (_, Some(command)) => {
                run(command)?;
                anew += &format!("{}\n", block.join("\n"));
            }
            (Some(width), None) => anew += &show(width)?,
            (None, None) => anew += &format!("{}\n", block.join("\n")),
        }
        anew += "```\n";
    }
    Ok(anew)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_are_replaced_and_nothing_else_is() {
        let page = "# Screens\n\n```\n$ fstrial run a\n```\n\n100 columns:\n\n```\nold\n```\n\n80 columns:\n\n\
                    ```\nolder\nstill\n```\n\nElse:\n\n```\nkept\n```\n";
        let mut commands = Vec::new();
        let anew = with_screens(
            page,
            &mut |command| {
                commands.push(command.to_owned());
                Ok(())
            },
            &mut |columns| Ok(format!("at {columns}\n")),
        )
        .unwrap();
        assert_eq!(commands, ["fstrial run a"]);
        assert_eq!(
            anew,
            page.replace("old\n```\n\n80", "at 100\n```\n\n80")
                .replace("older\nstill\n", "at 80\n")
        );
    }
}
