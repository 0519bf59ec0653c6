//! npm with node. Of the modules that Debian's npm depends on, only those that npm itself loads are
//! included, since the whole part takes guest memory.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use units::Bytes;

use super::{OptionalPart, PartDescription, Workshop};
use crate::apt::Archives;
use crate::error::LabError;

pub(super) struct Npm;

static DESCRIPTION: PartDescription = PartDescription {
    name: "npm",
    summary: "npm and node 18; 400 packages to fetch, a minute, 105 MB in the guest",
    packages: &["npm", "nodejs"],
    programs: &["node", "npm"],
    memory: Bytes::ZERO,
    archives: Archives::OWN,
};

/// Where Debian puts modules.
const MODULES: &str = "usr/share/nodejs";
/// Modules that Debian's node always reads from there when it starts.
const BUILT_IN: [&str; 4] = ["acorn", "acorn-walk", "cjs-module-lexer", "undici"];
/// Where a module, or a publisher of several, keeps modules for its own use.
const OWN: &str = "node_modules";
/// The script that starts npm. Debian's is a symlink to a script that finds the rest relative to
/// its own path, and a guest would have a copy of that in `/sbin`, where this does not work.
const START: &str = "#!/usr/bin/node\nrequire('/usr/share/nodejs/npm/lib/cli.js')(process)\n";

impl OptionalPart for Npm {
    fn describe(&self) -> &'static PartDescription {
        &DESCRIPTION
    }

    fn build(&self, workshop: &mut Workshop<'_>) -> Result<(), LabError> {
        workshop.tools(DESCRIPTION.packages, &[])?;
        let from = workshop.scratch().join("tools").join(MODULES);
        let files = workshop.directory().join("files");
        let modules = needed(&from, BUILT_IN.into_iter().chain(["npm"]));
        for module in &modules {
            copy(&from.join(module), &files.join(MODULES).join(module))?;
        }
        // The modules of one publisher may share a directory of further modules.
        let publishers = modules.iter().filter_map(|it| it.parent());
        for publisher in publishers.filter(|it| it.as_os_str() != "").collect::<BTreeSet<_>>() {
            let shared = publisher.join(OWN);
            if from.join(&shared).is_symlink() {
                copy(&from.join(&shared), &files.join(MODULES).join(&shared))?;
            }
        }
        // Node looks for modules beside its own directory, which is `/sbin` in a guest.
        let share = files.join("share");
        symlink("usr/share", &share).map_err(LabError::at("link", &share))?;
        let start = workshop.directory().join("tools/sbin/npm");
        fs::write(&start, START).map_err(LabError::at("write", &start))
    }
}

/// The `wanted` modules below `from` and all their dependencies, including those of modules inside
/// them, as relative paths. A dependency that is not there is missing on Debian too.
fn needed<'a>(from: &Path, wanted: impl Iterator<Item = &'a str>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut unseen: Vec<PathBuf> = wanted.map(PathBuf::from).collect();
    while let Some(module) = unseen.pop() {
        if !from.join(&module).is_dir() || !found.insert(module.clone()) {
            continue;
        }
        asked_for(&from.join(&module), &mut unseen);
    }
    found
}

/// The dependencies named by the manifests below a directory.
fn asked_for(directory: &Path, names: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        // Symlinks are skipped: their targets are found under their own names.
        if path.is_dir() && !path.is_symlink() {
            asked_for(&path, names);
        } else if path.file_name().is_some_and(|name| name == "package.json") {
            let text = fs::read(&path).unwrap_or_default();
            let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
            let asked = manifest["dependencies"].as_object().into_iter().flatten();
            let named = asked.map(|(name, _)| PathBuf::from(name));
            // A name, or a publisher and a name; nothing that leads out of the modules' directory.
            let plain =
                |name: &PathBuf| name.components().all(|part| matches!(part, Component::Normal(_)));
            names.extend(named.filter(plain));
        }
    }
}

/// Copies a tree with its links.
fn copy(from: &Path, to: &Path) -> Result<(), LabError> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(LabError::at("create", parent))?;
    if let Ok(target) = fs::read_link(from) {
        return symlink(target, to).map_err(LabError::at("link", to));
    }
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(LabError::at("copy", from));
    }
    fs::create_dir_all(to).map_err(LabError::at("create", to))?;
    let listed = fs::read_dir(from).map_err(LabError::at("list", from))?;
    for entry in listed {
        let name = entry.map_err(LabError::at("list", from))?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_comes_with_what_it_and_those_inside_it_ask_for() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("modules");
        let module = |path: &str, asks: &str| {
            let place = root.join(path);
            fs::create_dir_all(&place).unwrap();
            let asked = asks.split_whitespace().map(|name| (name.to_owned(), "^1".into()));
            let asked: serde_json::Map<String, serde_json::Value> = asked.collect();
            let manifest = serde_json::json!({ "dependencies": asked });
            fs::write(place.join("package.json"), manifest.to_string()).unwrap();
        };
        module("npm", "@own/tree semver ../outside /etc");
        module("npm/node_modules/inner", "once gone");
        module("@own/tree", "npm");
        module("semver", "");
        module("once", "");
        module("lodash", "");
        module("../outside", "");
        let found = needed(&root, ["npm"].into_iter());
        let found: Vec<_> = found.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(found, ["@own/tree", "npm", "once", "semver"]);
    }
}
