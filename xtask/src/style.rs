//! The rules of style that a machine can see.

use anyhow::Result;

use crate::sources::{Crate, SourceFile};

/// File names that say nothing.
const VAGUE: [&str; 7] = ["util", "utils", "common", "helpers", "helper", "manager", "misc"];

/// Words that mark holes.
const HOLES: [&str; 4] = ["todo!(", "unimplemented!(", "FIXME", "#[ignore"];

/// Ways to wait by the clock, or to burn it, that belong to crate `waiting` alone.
const WAITS: [&str; 4] = ["thread::sleep", "nanosleep(", "park_timeout(", "yield_now("];
/// Where giving way is part of what a workload does, or shuffles threads in a test.
const GIVES_WAY: &str = "crates/workload/src/";

/// Where names, links and contents are bytes from end to end: a conversion that replaces what is no
/// UTF-8 would make other names of them. What a message shows comes from `text::name`.
const BYTES: [&str; 3] = [
    "crates/workload/src/corpora/",
    "crates/workload/src/engine/",
    "crates/workload/src/workloads/tree/",
];
/// The ends of the names of such conversions.
const LOSSY: &str = "_lossy(";

/// What breaks a rule, in words.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    Ok(crates.iter().flat_map(|one| &one.files).flat_map(broken).collect())
}

fn broken(file: &SourceFile) -> Vec<String> {
    let mut problems = Vec::new();
    let SourceFile { path, text, .. } = file;
    let shown = file.shown();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if VAGUE.contains(&stem.as_ref()) {
        problems.push(format!("{shown}: the name says nothing"));
    }
    let is_module = path.components().any(|part| part.as_os_str() == "src");
    if is_module && !text.starts_with("//!") {
        problems.push(format!("{shown}: does not say what it is for (//! comes first)"));
    }
    // This file names the words it looks for.
    if !path.ends_with("xtask/src/style.rs") {
        let holes = HOLES.iter().filter(|hole| text.contains(**hole));
        problems.extend(holes.map(|hole| format!("{shown}: contains {hole}")));
        let gives_way = shown.starts_with(GIVES_WAY);
        let waits = WAITS.iter().filter(|wait| text.contains(**wait));
        let waits = waits.filter(|wait| !(gives_way && **wait == "yield_now("));
        let elsewhere = waits.filter(|_| !shown.starts_with("crates/waiting/"));
        problems.extend(elsewhere.map(|wait| format!("{shown}: {wait}…) is for crate waiting")));
    }
    let (code, tests) = (text.split("#[cfg(test)]\nmod ").next(), shown.ends_with("tests.rs"));
    if !tests
        && BYTES.iter().any(|place| shown.starts_with(place))
        && code.is_some_and(|code| code.contains(LOSSY))
    {
        problems.push(format!("{shown}: names are bytes here; messages use text::name"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_rule_is_named() {
        let check = |path: &str, text: &str| {
            broken(&SourceFile::parse(path.as_ref(), text.to_owned()).unwrap())
        };
        assert_eq!(check("a/src/b.rs", "//! Words.\n"), [] as [String; 0]);
        assert_eq!(check("a/tests/b.rs", "fn f() {}\n"), [] as [String; 0]);
        assert!(check("a/src/b.rs", "fn f() {}\n")[0].contains("does not say"));
        let lossy = "//! Words.\nfn f() { g.to_string_lossy() }\n";
        assert!(check("crates/workload/src/corpora/own.rs", lossy)[0].contains("names are bytes"));
        assert_eq!(check("crates/cli/src/own.rs", lossy), [] as [String; 0]);
        assert!(check("a/src/utils.rs", "//! Words.\n")[0].contains("says nothing"));
        assert!(check("a/tests/b.rs", "fn f() { todo!() }\n")[0].contains("contains todo!("));
    }
}
