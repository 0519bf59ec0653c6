//! Modules of one crate that use each other in a circle. A module and those below it count as
//! one way: a parent is made of its children, and they may know it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

use crate::sources::{Crate, is_test};

/// A module by its path from the crate's root.
type Module = Vec<String>;

/// Which modules each uses.
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Each circle of modules, in words.
pub(crate) fn check(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for one in crates {
        let files: Vec<(Module, &syn::File)> = one
            .files
            .iter()
            .filter_map(|file| Some((module_of(&one.folder, &file.path)?, &file.syntax)))
            .collect();
        for circle in circles(&uses(&files)) {
            let names: Vec<_> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{}: a circle: {}", one.name, names.join(" ↔ ")));
        }
    }
    found
}

/// The module that a file below `src` holds; programs of their own below `src/bin` are none.
fn module_of(folder: &Path, path: &Path) -> Option<Module> {
    let inside = path.strip_prefix(folder.join("src")).ok()?.with_extension("");
    let mut names: Module = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.first()? == "bin" {
        return None;
    }
    if matches!(names.last()?.as_str(), "lib" | "main" | "mod") {
        names.pop();
    }
    Some(names)
}

fn uses(files: &[(Module, &syn::File)]) -> Uses {
    let tests: BTreeSet<Module> =
        files.iter().flat_map(|(module, file)| test_modules(module, file)).collect();
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut references = BTreeMap::new();
    for (module, file) in files.iter().filter(|(module, _)| !tests.contains(module)) {
        let mut paths =
            Paths { module, modules: &modules, found: Vec::new(), imported: Vec::new() };
        paths.visit_file(file);
        references.insert(module.clone(), (paths.found, paths.imported));
    }
    let find = |path: &[String]| defined_in(path, &modules, &references, 0);
    references
        .iter()
        .map(|(module, (found, _))| {
            let used = found.iter().map(|path| find(path));
            let related = |other: &Module| other.starts_with(module) || module.starts_with(other);
            (module.clone(), used.filter(|other| !related(other)).collect())
        })
        .collect()
}

/// The modules that a file declares for tests alone.
fn test_modules(module: &Module, file: &syn::File) -> Vec<Module> {
    let below = |name: &syn::Ident| [module.as_slice(), &[name.to_string()]].concat();
    let tests = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(one) if one.content.is_none() && is_test(&one.attrs) => Some(&one.ident),
        _ => None,
    });
    tests.map(below).collect()
}

/// What a module names, and what it has under another name by a `use`.
type References = BTreeMap<Module, (Vec<Vec<String>>, Vec<(String, Vec<String>)>)>;

/// The module in which the thing at an absolute path is declared: re-exports are followed.
fn defined_in(
    path: &[String],
    modules: &BTreeSet<Module>,
    references: &References,
    depth: usize,
) -> Module {
    let longest = (0..=path.len()).rev().find(|&length| modules.contains(&path[..length]));
    let (module, rest) = path.split_at(longest.unwrap_or_default());
    let imported = references.get(module).map_or(&[][..], |(_, imported)| imported);
    let origin = rest.first().filter(|_| depth < 8).and_then(|name| {
        imported.iter().find(|(known, _)| known == name).map(|(_, origin)| origin)
    });
    match origin {
        Some(origin) => {
            let path = [origin.as_slice(), &rest[1..]].concat();
            defined_in(&path, modules, references, depth + 1)
        }
        None => module.to_vec(),
    }
}

/// Collects paths into the crate, made absolute. Those in macros are not seen.
struct Paths<'a> {
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    found: Vec<Vec<String>>,
    imported: Vec<(String, Vec<String>)>,
}

impl Paths<'_> {
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let below = |module: &[String], rest: &[String]| [module, rest].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(below(self.module, rest)),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                let height = self.module.len().checked_sub(ups)?;
                Some(below(&self.module[..height], &path[ups..]))
            }
            name => {
                let child = below(self.module, &[name.to_owned()]);
                let known = self.modules.contains(&child);
                known.then(|| below(&child, rest))
            }
        }
    }

    fn import(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let mut leaf = |path: Vec<String>, name: String| {
            let path = if path.last().is_some_and(|last| last == "self") {
                path[..path.len() - 1].to_vec()
            } else {
                path
            };
            if let Some(path) = self.absolute(&path) {
                self.imported.push((name, path.clone()));
                self.found.push(path);
            }
        };
        match tree {
            syn::UseTree::Path(path) => self.import(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => leaf(with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(name) => leaf(with(&name.ident), name.rename.to_string()),
            syn::UseTree::Glob(_) => self.found.extend(self.absolute(before)),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(before, tree));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.import(&[], &item.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        if names.len() > 1 {
            self.found.extend(self.absolute(&names));
        }
        visit::visit_path(self, path);
    }
}

/// Modules that reach each other, more than one at a time, each group in order.
fn circles(uses: &Uses) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reach(uses, module))).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (module, others) in &reached {
        let returns =
            |other: &&&Module| reached.get(**other).is_some_and(|back| back.contains(module));
        let circle: Vec<Module> =
            others.iter().filter(returns).map(|&other| other.clone()).collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            found.push(circle);
        }
    }
    found
}

fn reach<'a>(uses: &'a Uses, from: &'a Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for other in uses.get(module).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let parsed: Vec<(Module, syn::File)> = files
            .iter()
            .map(|(path, text)| {
                let path = format!("x/src/{path}");
                let module = module_of("x".as_ref(), path.as_ref()).unwrap();
                (module, syn::parse_file(text).unwrap())
            })
            .collect();
        let files: Vec<_> = parsed.iter().map(|(module, file)| (module.clone(), file)).collect();
        let shown = |circle: Vec<Module>| {
            circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" ")
        };
        circles(&uses(&files)).into_iter().map(shown).collect()
    }

    #[test]
    fn two_that_use_each_other_are_a_circle_also_by_way_of_a_re_export() {
        let root = "mod a; mod b; mod c; pub use a::Thing;";
        let files = [
            ("lib.rs", root),
            ("a.rs", "use crate::b::f; pub struct Thing;"),
            ("b.rs", "pub fn f() -> crate::Thing { g() }"),
            ("c.rs", "use crate::{Thing, b};"),
        ];
        assert_eq!(found(&files), ["a b"]);
    }

    #[test]
    fn longer_ways_round_are_found_and_two_circles_kept_apart() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            ("a/mod.rs", "fn f() { crate::b::g() }"),
            ("b.rs", "use super::c as other;"),
            ("c.rs", "use crate::a;"),
            ("d.rs", "use crate::e::*;"),
            ("e.rs", "fn f(_: super::d::X) {}"),
        ];
        assert_eq!(found(&files), ["a b c", "d e"]);
    }

    #[test]
    fn parents_and_tests_are_no_circle() {
        let files = [
            ("lib.rs", "mod a; #[cfg(test)] mod b_tests; mod b;"),
            ("a/mod.rs", "mod inner; use inner::f;"),
            ("a/inner.rs", "use super::X; use crate::b::Y;"),
            ("b.rs", "#[cfg(test)] mod tests { use crate::a::X; }"),
            ("b_tests.rs", "use crate::{a, b};"),
        ];
        assert_eq!(found(&files), [] as [String; 0]);
    }
}
