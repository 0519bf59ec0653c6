//! Entries of manifests that nothing in the crate uses.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use crate::sources::Crate;

/// Carries features, see its manifest.
const FEATURES_ONLY: &str = "workspace-hack";

/// Unused entries, in words.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for one in crates.iter().filter(|one| one.name != FEATURES_ONLY) {
        let path = one.folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&path)?;
        let mut words = BTreeSet::new();
        for file in &one.files {
            add_words(file.text.parse().ok().context(file.shown())?, &mut words);
        }
        for entry in unused(&text.parse()?, &words) {
            problems.push(format!("{}: {entry} is not used", path.display()));
        }
    }
    Ok(problems)
}

/// Every identifier that a path begins with or that is imported whole, also inside of macros.
fn add_words(tokens: TokenStream, words: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut imported = false;
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => add_words(group.stream(), words),
            TokenTree::Ident(ident) => {
                let is_colon = |next: &TokenTree| matches!(next, TokenTree::Punct(punct) if punct.as_char() == ':');
                if imported || tokens.peek().is_some_and(is_colon) {
                    words.insert(ident.to_string());
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        imported = matches!(&token, TokenTree::Ident(ident) if ident == "use");
    }
}

fn unused(manifest: &toml::Table, words: &BTreeSet<String>) -> Vec<String> {
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    tables
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table())
        .flat_map(toml::Table::keys)
        .filter(|name| *name != FEATURES_ONLY && !words.contains(&library(name)))
        .cloned()
        .collect()
}

/// What a package's library is called in a source.
fn library(package: &str) -> String {
    match package {
        "md-5" => "md5".to_owned(),
        _ => package.replace('-', "_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_used_where_a_path_begins_with_it() {
        let manifest = "[dependencies]\nserde.workspace = true\nrand_chacha = \"1\"\n\
                        md-5 = \"1\"\nworkspace-hack.workspace = true\n\
                        [dev-dependencies]\ntempfile = \"3\"\nlibtest-mimic = \"1\"\n";
        let source =
            "use md5::Md5; // rand_chacha\nfn f() { x!(libtest_mimic::run(\"tempfile\")) }";
        let mut words = BTreeSet::new();
        add_words(source.parse().unwrap(), &mut words);
        assert_eq!(
            unused(&manifest.parse().unwrap(), &words),
            ["rand_chacha", "serde", "tempfile"]
        );
    }
}
