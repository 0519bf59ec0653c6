//! What goes around `crates/files`: changes of files and directories by a path, which another
//! user of the machine may have made to lead elsewhere.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};

use crate::sources::{Crate, SourceFile, is_test};

/// Which files may do so, and why.
const ALLOWED: &str = include_str!("../around.toml");

/// Functions of these modules and types that change something at a path.
const CHANGES: [(&str, &[&str]); 5] = [
    (
        "fs",
        &[
            "write",
            "copy",
            "rename",
            "create_dir",
            "create_dir_all",
            "hard_link",
            "remove_dir",
            "remove_dir_all",
            "remove_file",
            "set_permissions",
            "symlink",
            "chown",
            "lchown",
        ],
    ),
    ("File", &["create", "create_new", "options"]),
    ("OpenOptions", &["new"]),
    ("DirBuilder", &["new"]),
    ("unix", &["symlink", "chown"]),
];

/// Places that go around it without a reason in the list, and reasons that nothing needs.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    let allowed: BTreeMap<String, String> = toml::from_str(ALLOWED).context("xtask/around.toml")?;
    let mut used: Vec<&str> = Vec::new();
    let mut problems = Vec::new();
    for file in crates.iter().flat_map(|one| &one.files).filter(|file| runs(file)) {
        let shown = file.shown();
        let found = changes(file);
        match allowed.keys().find(|place| covers(place, &shown)) {
            Some(place) if !found.is_empty() => used.push(place),
            Some(_) => {}
            None => problems.extend(found.into_iter().map(|(line, what)| {
                format!(
                    "{shown}:{line}: {what} acts on a path that others could swap: use crate \
                     files, or give the reason in xtask/around.toml"
                )
            })),
        }
    }
    let idle = allowed.keys().filter(|place| !used.contains(&place.as_str()));
    problems.extend(idle.map(|place| format!("xtask/around.toml: nothing in {place} needs it")));
    Ok(problems)
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

/// The line and the name of each.
fn changes(file: &SourceFile) -> Vec<(usize, String)> {
    let mut paths = Paths(Vec::new());
    paths.visit_file(&file.syntax);
    paths.0
}

struct Paths(Vec<(usize, String)>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., of, name] = names.as_slice()
            && CHANGES.iter().any(|(known, all)| known == of && all.contains(&name.as_str()))
        {
            let line = path.segments.last().map_or(0, |last| last.ident.span().start().line);
            self.0.push((line, format!("{of}::{name}")));
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_by_path_are_found_and_those_of_tests_are_not() {
        let text = "fn f() { std::fs::write(a, b); fs::read(a); File::create(a); }\n\
                    #[cfg(test)]\nmod tests { fn g() { std::fs::remove_dir_all(a); } }\n\
                    fn h() { let r = std::fs::rename; }\n";
        let file = SourceFile::parse("crates/a/src/b.rs".as_ref(), text.to_owned()).unwrap();
        let found = changes(&file);
        let expected = [(1, "fs::write"), (1, "File::create"), (4, "fs::rename")];
        assert_eq!(found, expected.map(|(line, what)| (line, what.to_owned())));
        assert!(runs(&file));
        let one = Crate { name: "a".to_owned(), folder: "crates/a".into(), files: vec![file] };
        let problems = check(&[one]).unwrap();
        assert!(problems[0].starts_with("crates/a/src/b.rs:1: fs::write"), "{problems:?}");
    }

    #[test]
    fn a_reason_counts_for_a_file_or_a_folder() {
        assert!(covers("crates/lab/", "crates/lab/src/build.rs"));
        assert!(covers("crates/a/src/b.rs", "crates/a/src/b.rs"));
        assert!(!covers("crates/a", "crates/ab/src/c.rs"));
    }
}
