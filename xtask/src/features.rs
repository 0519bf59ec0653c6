//! Third-party features that a crate built alone has not, and the whole workspace has: each
//! makes cargo compile that dependency, and all above it, a second time.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::sources::Crate;

/// The features of each package, as often as it is built with others.
type Features = BTreeMap<String, BTreeSet<String>>;

/// What `workspace-hack` lacks, in words.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    let whole = tree(&["--workspace", "--edges", "normal,build,dev"])?;
    let mut problems = BTreeSet::new();
    let guest = tree(&["--package", "guest", "--edges", "normal"])?;
    problems.extend(features_only_in(&guest).then(|| {
        "crates/guest: its program depends on workspace-hack, through one of our crates; \
         features that others need would change the lab's id"
            .to_owned()
    }));
    for one in crates {
        // As tests are built; and this program, as it is run.
        let as_tests = Some("normal,build,dev");
        let as_program = (one.name == "xtask").then_some("normal,build");
        for edges in as_tests.into_iter().chain(as_program) {
            let alone = tree(&["--package", &one.name, "--edges", edges])?;
            problems.extend(differences(&one.name, &alone, &whole));
        }
    }
    Ok(problems.into_iter().collect())
}

fn tree(arguments: &[&str]) -> Result<Features> {
    let output = Command::new("cargo")
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(arguments)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(tree: &str) -> Features {
    let mut features = Features::new();
    for line in tree.lines() {
        let Some((package, enabled)) = line.trim_end_matches(" (*)").split_once('|') else {
            continue;
        };
        features.entry(package.to_owned()).or_default().insert(enabled.to_owned());
    }
    features
}

fn features_only_in(program: &Features) -> bool {
    program.keys().any(|package| package.starts_with("workspace-hack "))
}

fn differences(name: &str, alone: &Features, whole: &Features) -> Vec<String> {
    let list =
        |features: &str| -> BTreeSet<String> { features.split(',').map(str::to_owned).collect() };
    let mut problems = Vec::new();
    for (package, ways) in alone {
        // One for the target and one for the host, where both take it.
        let known = whole.get(package);
        for way in ways.iter().filter(|way| !known.is_some_and(|known| known.contains(*way))) {
            let all: BTreeSet<_> = known.into_iter().flatten().flat_map(|way| list(way)).collect();
            let missing: Vec<_> = all.difference(&list(way)).cloned().collect();
            problems.push(format!(
                "crates/workspace-hack/Cargo.toml: {package} lacks [{}] where {name} is built alone",
                missing.join(", ")
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_its_packages() {
        assert!(!features_only_in(&parse("guest v1|\ntext v1 (/there/workspace-hack)|")));
        assert!(features_only_in(&parse("guest v1|\nworkspace-hack v0.1.0 (/there)|")));
    }

    #[test]
    fn a_feature_that_only_the_whole_has_is_named() {
        let whole = parse("a v1|x,y\nb v2|\na v1|x,y (*)\n");
        assert_eq!(differences("one", &parse("a v1|x,y\nb v2|"), &whole), [] as [String; 0]);
        let found = differences("one", &parse("a v1|y\n"), &whole);
        assert_eq!(found.len(), 1);
        // Host and target take it in two ways, and one of them is enough for whoever is alone.
        let both = parse("a v1|x\na v1|x,y");
        assert_eq!(differences("one", &parse("a v1|x"), &both), [] as [String; 0]);
        assert!(found[0].contains("a v1 lacks [x] where one is built alone"), "{found:?}");
    }
}
