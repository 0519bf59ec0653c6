//! Compares the crates' dependencies with the table in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Differences between the manifests and the table, in words.
pub(crate) fn check() -> Result<Vec<String>> {
    let manifests = from_manifests()?;
    let table = from_table(&std::fs::read_to_string("ARCHITECTURE.md")?);
    let mut problems = Vec::new();
    for (name, uses) in &manifests {
        match table.get(name) {
            None => problems.push(format!("ARCHITECTURE.md: crate {name} is not in the table")),
            Some(allowed) if allowed != uses => {
                let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
                    a.difference(b).cloned().collect::<Vec<_>>().join(" ")
                };
                problems.push(format!(
                    "ARCHITECTURE.md: {name}: manifest has also [{}], table has also [{}]",
                    only(uses, allowed),
                    only(allowed, uses)
                ));
            }
            Some(_) => {}
        }
    }
    for name in table.keys().filter(|name| !manifests.contains_key(*name)) {
        problems.push(format!("ARCHITECTURE.md: there is no crate {name}"));
    }
    Ok(problems)
}

fn from_manifests() -> Result<Arrows> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has packages")?;
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).filter(|name| is_room(name)).collect();
    Ok(packages
        .iter()
        .filter(|package| is_room(&name(package)))
        .map(|package| {
            let uses = package["dependencies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|dependency| dependency["kind"].is_null())
                .map(name)
                .filter(|used| ours.contains(used))
                .collect();
            (name(package), uses)
        })
        .collect())
}

/// The rows of the table with the heading `| crate | duty | uses |`.
fn from_table(text: &str) -> Arrows {
    text.lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [name, _duty, uses] = cells[..] else { return None };
            let uses = uses.split_whitespace().filter(|word| *word != "–");
            Some((name.to_owned(), uses.map(str::to_owned).collect()))
        })
        .collect()
}

/// Whether a crate of the workspace is part of fstrial: neither this one, nor the one that only
/// carries features.
fn is_room(name: &str) -> bool {
    !["xtask", "workspace-hack"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_by_its_heading() {
        let text = "words\n\n| crate | duty | uses |\n|---|---|---|\n| a | does x | – |\n\
                    | b | does y | a c |\n\n| to add | write |\n|---|---|\n| d | e |\n";
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let expected = [("a".to_owned(), set(&[])), ("b".to_owned(), set(&["a", "c"]))];
        assert_eq!(from_table(text), Arrows::from(expected));
    }
}
