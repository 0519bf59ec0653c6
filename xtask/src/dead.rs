//! Public declarations that no other file names.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{Crate, SourceFile, is_test};

/// Functions and constants that need not be public, types that nobody names. What only tests name
/// is used; re-exporting alone is no use.
pub(crate) fn check(crates: &[Crate]) -> Result<Vec<String>> {
    let files: Vec<&SourceFile> = crates.iter().flat_map(|one| &one.files).collect();
    let words = files.iter().map(|file| words(file)).collect::<Result<Vec<_>>>()?;
    let mut everywhere: BTreeMap<&str, usize> = BTreeMap::new();
    for (word, count) in words.iter().flatten() {
        *everywhere.entry(word).or_default() += count;
    }
    let mut found = Vec::new();
    for (file, here) in files.iter().zip(&words) {
        for item in public_items(&file.syntax.items) {
            let inside = here.get(&item.name).copied().unwrap_or_default();
            let outside = everywhere.get(item.name.as_str()).copied().unwrap_or_default() - inside;
            let unnamed = match item.kind {
                Kind::Value => outside == 0,
                // Its declaration; its own name may stand in what returns or holds it.
                Kind::Type => outside == 0 && inside == 1,
            };
            if unnamed {
                let (shown, line, name) = (file.shown(), item.line, item.name);
                found.push(format!("{shown}:{line}: {name} is public and no other file names it"));
            }
        }
    }
    Ok(found)
}

/// How often each identifier stands in a file, `use` declarations with a visibility left out:
/// they only pass a name on.
fn words(file: &SourceFile) -> Result<BTreeMap<String, usize>> {
    let mut words = BTreeMap::new();
    let tokens: TokenStream = file.text.parse().ok().context(file.shown())?;
    let mut rest = tokens.into_iter().peekable();
    let mut public = false;
    while let Some(token) = rest.next() {
        match &token {
            TokenTree::Ident(ident) if ident == "pub" => public = true,
            TokenTree::Ident(ident) if ident == "use" && public => {
                public = false;
                let is_end = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
                while rest.next_if(|token| !is_end(token)).is_some() {}
            }
            // The group of `pub(crate)`.
            TokenTree::Group(_) if public => {}
            _ => {
                public = false;
                add(token, &mut words);
            }
        }
    }
    Ok(words)
}

fn add(token: TokenTree, words: &mut BTreeMap<String, usize>) {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().for_each(|token| add(token, words)),
        TokenTree::Ident(ident) => *words.entry(ident.to_string()).or_default() += 1,
        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Value,
    Type,
}

struct Item {
    name: String,
    line: usize,
    kind: Kind,
}

fn public_items(items: &[syn::Item]) -> Vec<Item> {
    let mut found = Vec::new();
    let mut note = |visibility: &syn::Visibility, attributes: &[syn::Attribute], kind, ident| {
        let ident: &syn::Ident = ident;
        if !matches!(visibility, syn::Visibility::Inherited) && !is_test(attributes) {
            let line = ident.span().start().line;
            found.push(Item { name: ident.to_string(), line, kind });
        }
    };
    for item in items {
        match item {
            syn::Item::Fn(one) => note(&one.vis, &one.attrs, Kind::Value, &one.sig.ident),
            syn::Item::Const(one) => note(&one.vis, &one.attrs, Kind::Value, &one.ident),
            syn::Item::Static(one) => note(&one.vis, &one.attrs, Kind::Value, &one.ident),
            syn::Item::Struct(one) => note(&one.vis, &one.attrs, Kind::Type, &one.ident),
            syn::Item::Enum(one) => note(&one.vis, &one.attrs, Kind::Type, &one.ident),
            syn::Item::Trait(one) => note(&one.vis, &one.attrs, Kind::Type, &one.ident),
            syn::Item::Type(one) => note(&one.vis, &one.attrs, Kind::Type, &one.ident),
            syn::Item::Impl(one) if one.trait_.is_none() => {
                for item in &one.items {
                    if let syn::ImplItem::Fn(one) = item {
                        note(&one.vis, &one.attrs, Kind::Value, &one.sig.ident);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Vec<String> {
        let parse = |(nth, text): (usize, &&str)| {
            SourceFile::parse(format!("{nth}.rs").as_ref(), (*text).to_owned()).unwrap()
        };
        let files = files.iter().enumerate().map(parse).collect();
        let one = Crate { name: "a".to_owned(), folder: "a".into(), files };
        check(&[one]).unwrap()
    }

    #[test]
    fn what_only_its_own_file_calls_need_not_be_public() {
        let library = "pub mod a;\npub use a::{called, not_called, Held};\n";
        let module = "pub fn called() {}\npub fn not_called() {}\nfn private() { not_called() }\n\
                      pub struct Held;\npub struct Holder { pub held: Held }\npub enum Nobody {}";
        let other = "fn main() { a::called(); x!(a::Holder) }";
        let found = found(&[library, module, other]);
        let names: Vec<_> = found.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        assert_eq!(names, ["not_called", "Nobody"]);
    }

    #[test]
    fn methods_count_and_tests_do_not() {
        let text = "pub struct A;\nimpl A { pub fn used(&self) {} pub(crate) fn unused(&self) {} }\n\
                    impl Clone for A { fn clone(&self) -> A { A } }\n\
                    #[cfg(test)]\npub fn for_tests() {}";
        let found = found(&[text, "fn f(a: A) { a.used() }"]);
        assert_eq!(found, ["0.rs:2: unused is public and no other file names it"]);
    }
}
