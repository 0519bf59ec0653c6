//! Runs the workspace's test programs, two at a time: many wait for a guest, a lock or another
//! process, and one after the other they leave a core idle for half of the time.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// More would make guests and programs with two threads of their own wait for each other.
const AT_A_TIME: usize = 2;

/// What a test program needs, the longest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Lab,
    Root,
    Pure,
}

impl Tier {
    fn named(word: &str) -> Option<Tier> {
        match word {
            "lab" => Some(Tier::Lab),
            "root" => Some(Tier::Root),
            "pure" => Some(Tier::Pure),
            _ => None,
        }
    }
}

struct Program {
    /// `cli/fstrial`: the package and the program's own name.
    name: String,
    tier: Tier,
    /// Where cargo, too, starts it.
    folder: PathBuf,
    executable: PathBuf,
}

/// What one program's tests came to.
struct Ended {
    name: String,
    took: Duration,
    failed: Vec<String>,
    skipped: Vec<String>,
}

/// Builds all test programs and runs those of the tier that `word` names, or all. What failed,
/// in words.
pub(crate) fn run(word: Option<&str>) -> Result<Vec<String>> {
    let tier = match word {
        None => None,
        Some(word) => Some(
            Tier::named(word).with_context(|| format!("`{word}` is none of pure, root, lab"))?,
        ),
    };
    let mut programs = build()?;
    programs.retain(|program| tier.is_none_or(|tier| program.tier == tier));
    programs.sort_by(|a, b| (a.tier, &a.name).cmp(&(b.tier, &b.name)));
    ensure!(!programs.is_empty(), "cargo has built no test program");
    let mut ended = run_all(programs)?;
    ended.sort_by_key(|one| std::cmp::Reverse(one.took));
    println!("the longest:");
    for one in ended.iter().take(8) {
        println!("  {:>4} s  {}", one.took.as_secs(), one.name);
    }
    let skipped: Vec<&String> = ended.iter().flat_map(|one| &one.skipped).collect();
    if !skipped.is_empty() {
        println!("skipped here:");
    }
    for test in skipped {
        println!("  {test}");
    }
    Ok(ended.into_iter().flat_map(|one| one.failed).collect())
}

fn build() -> Result<Vec<Program>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        // No crate has examples in its documentation, and rustdoc would look for them for over a
        // minute.
        .args(["test", "--workspace", "--locked", "--no-run", "--lib", "--bins", "--tests"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    ensure!(built.status.success(), "the test programs cannot be built");
    let mut programs = Vec::new();
    for line in built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        programs.extend(program(&serde_json::from_slice(line).context("cargo's messages")?)?);
    }
    Ok(programs)
}

/// The test program that a message of cargo announces, if it announces one.
fn program(message: &Value) -> Result<Option<Program>> {
    let Some(executable) = message["executable"].as_str() else { return Ok(None) };
    if message["profile"]["test"] != true {
        return Ok(None);
    }
    let manifest = Path::new(message["manifest_path"].as_str().context("no manifest")?);
    let folder = manifest.parent().context("a manifest without a folder")?;
    let package = folder.file_name().context("a package without a name")?.to_string_lossy();
    let target = message["target"]["name"].as_str().context("a program without a name")?;
    let is_test =
        message["target"]["kind"].as_array().is_some_and(|kinds| kinds.contains(&"test".into()));
    let name = if is_test {
        format!("{package}/{target}")
    } else {
        format!("{package} (unit tests of {target})")
    };
    let skips = is_test && has_own_harness(&std::fs::read_to_string(manifest)?.parse()?, target);
    let tier = match (skips, &*package) {
        (true, "cli" | "lab") => Tier::Lab,
        (true, _) => Tier::Root,
        (false, _) => Tier::Pure,
    };
    Ok(Some(Program { name, tier, folder: folder.to_owned(), executable: executable.into() }))
}

/// Whether its tests say that they are skipped where they cannot run: see crate `skippable`.
fn has_own_harness(manifest: &toml::Table, target: &str) -> bool {
    let tests = manifest.get("test").and_then(toml::Value::as_array);
    tests.into_iter().flatten().any(|test| {
        test.get("name").and_then(toml::Value::as_str) == Some(target)
            && test.get("harness").and_then(toml::Value::as_bool) == Some(false)
    })
}

fn run_all(programs: Vec<Program>) -> Result<Vec<Ended>> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_A_TIME)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    loop {
                        let next = waiting.lock().expect("no lane panics").pop_front();
                        let Some(program) = next else { return Ok(()) };
                        let one = run_one(&program)?;
                        ended.lock().expect("no lane panics").push(one);
                    }
                })
            })
            .collect();
        lanes.into_iter().try_for_each(|lane| match lane.join() {
            Ok(result) => result,
            Err(_) => bail!("a lane of tests panicked"),
        })
    })?;
    Ok(ended.into_inner().expect("no lane panics"))
}

fn run_one(program: &Program) -> Result<Ended> {
    println!("     Running {}", program.name);
    let begun = Instant::now();
    let output = Command::new(&program.executable)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be started", program.executable.display()))?;
    let took = begun.elapsed();
    show(program, &output, took)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut failed = tests_that(&text, "FAILED", &program.name);
    // A program that died names no test.
    if !output.status.success() && failed.is_empty() {
        failed.push(format!("{}: {}", program.name, output.status));
    }
    let skipped = tests_that(&text, "ignored", &program.name);
    Ok(Ended { name: program.name.clone(), took, failed, skipped })
}

/// In one piece: another program runs beside it.
fn show(program: &Program, output: &Output, took: Duration) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "     Ended {} after {} s", program.name, took.as_secs())?;
    stdout.write_all(&output.stdout)?;
    stdout.write_all(&output.stderr)?;
    Ok(stdout.flush()?)
}

/// The lines of tests that ended so, without their first word.
fn tests_that(output: &str, ended: &str, program: &str) -> Vec<String> {
    let ending = format!("... {ended}");
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test "))
        .filter(|test| test.contains(&ending))
        .map(|test| format!("{program}: {test}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_and_what_was_skipped_is_read() {
        let output = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\
                      test d    ... ignored, needs root\ntest result: FAILED. 1 passed\n";
        assert_eq!(tests_that(output, "FAILED", "p/q"), ["p/q: a::c ... FAILED"]);
        assert_eq!(tests_that(output, "ignored", "p/q"), ["p/q: d    ... ignored, needs root"]);
    }

    #[test]
    fn a_program_that_can_skip_is_told_from_one_that_cannot() {
        let manifest: toml::Table =
            "[[test]]\nname = \"real\"\nharness = false\n[[test]]\nname = \"plain\""
                .parse()
                .unwrap();
        assert!(has_own_harness(&manifest, "real"));
        assert!(!has_own_harness(&manifest, "plain"));
        assert!(!has_own_harness(&manifest, "other"));
    }
}
