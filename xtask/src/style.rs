//! The rules of style that a machine can see.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// Lines a source file may have before it must be split. The aim is 400; this is the ratchet.
const LINES_MAX: usize = 600;

/// File names that say nothing.
const VAGUE: [&str; 7] = ["util", "utils", "common", "helpers", "helper", "manager", "misc"];

/// Words that mark holes, and pauses that hide races.
const HOLES: [&str; 5] = ["todo!(", "unimplemented!(", "FIXME", "#[ignore", "thread::sleep"];

/// What breaks a rule, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in sources(Path::new("crates"))?.into_iter().chain(sources(Path::new("xtask"))?) {
        let text = std::fs::read_to_string(&path)?;
        let shown = path.display();
        let lines = text.lines().count();
        if lines > LINES_MAX {
            problems.push(format!("{shown}: {lines} lines, {LINES_MAX} at most: split it"));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if VAGUE.contains(&stem.as_ref()) {
            problems.push(format!("{shown}: the name says nothing"));
        }
        let is_module = path.components().any(|part| part.as_os_str() == "src");
        if is_module && !text.starts_with("//!") {
            problems.push(format!("{shown}: does not say what it is for (//! comes first)"));
        }
        // This file names the words it looks for.
        if path.ends_with("xtask/src/style.rs") {
            continue;
        }
        for hole in HOLES.iter().filter(|hole| text.contains(**hole)) {
            problems.push(format!("{shown}: contains {hole}"));
        }
    }
    Ok(problems)
}

fn sources(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
