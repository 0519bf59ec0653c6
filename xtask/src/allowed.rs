//! Lists of places that may do what others must not, each with its reason.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::sources::{Crate, SourceFile};

/// A rule for programs that users run, with the places that may break it.
pub(crate) struct Rule<'r> {
    /// The list's path.
    pub(crate) list: &'r str,
    /// The list.
    pub(crate) text: &'r str,
    /// The line and the name of each place in a file that breaks it.
    pub(crate) broken: &'r dyn Fn(&SourceFile) -> Vec<(usize, String)>,
    /// What is wrong with such a place and what to do, after its name.
    pub(crate) advice: &'r str,
}

impl Rule<'_> {
    /// Places that break it without a reason in the list, and reasons that nothing needs.
    pub(crate) fn check(&self, crates: &[Crate]) -> Result<Vec<String>> {
        let allowed: BTreeMap<String, String> =
            toml::from_str(self.text).context(self.list.to_owned())?;
        let mut used: Vec<&str> = Vec::new();
        let mut problems = Vec::new();
        for file in crates.iter().flat_map(|one| &one.files).filter(|file| runs(file)) {
            let shown = file.shown();
            let found = (self.broken)(file);
            match allowed.keys().find(|place| covers(place, &shown)) {
                Some(place) if !found.is_empty() => used.push(place),
                Some(_) => {}
                None => problems.extend(found.into_iter().map(|(line, what)| {
                    format!(
                        "{shown}:{line}: {what} {}, or give the reason in {}",
                        self.advice, self.list
                    )
                })),
            }
        }
        let idle = allowed.keys().filter(|place| !used.contains(&place.as_str()));
        problems.extend(idle.map(|place| format!("{}: nothing in {place} needs it", self.list)));
        Ok(problems)
    }
}

/// Whether the file is part of a program that users run.
fn runs(file: &SourceFile) -> bool {
    let parts: Vec<_> = file.path.iter().filter_map(|part| part.to_str()).collect();
    let tests = |name: &&str| name.ends_with("tests.rs");
    parts.first() == Some(&"crates") && parts.get(2) == Some(&"src") && !parts.iter().any(tests)
}

/// Whether a key of the list is this file, or a folder around it (`crates/lab/`).
fn covers(place: &str, file: &str) -> bool {
    place == file || (place.ends_with('/') && file.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_counts_for_a_file_or_a_folder() {
        assert!(covers("crates/lab/", "crates/lab/src/build.rs"));
        assert!(covers("crates/a/src/b.rs", "crates/a/src/b.rs"));
        assert!(!covers("crates/a", "crates/ab/src/c.rs"));
    }
}
