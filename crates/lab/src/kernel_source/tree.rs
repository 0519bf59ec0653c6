//! Where a kernel's sources come from: Debian's package of a version, or a directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::compile;
use crate::apt::{Package, unpack};
use crate::building::run;
use crate::error::LabError;
use crate::packages::Source;

/// Debian's source packages have this name, followed by the version.
const PACKAGE: &str = "linux-source-";
/// The largest file of a tree.
const SOURCE_MAX: u64 = 1 << 30;
/// Versions that only the security archive of an older release has.
const OLDER: &[(&str, &[&str])] = &[("5.10", &["bullseye-security"])];

/// The sources of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceTree {
    /// Debian's package of a version: `6.12`.
    Debian(String),
    /// The user's own tree. It is read, not written.
    Directory(PathBuf),
}

/// What is known about the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// Equal if and only if the sources are equal.
    pub(super) identity: String,
    /// For people.
    pub(super) name: String,
    /// The package, if it is one.
    pub(super) package: Option<Package>,
}

impl SourceTree {
    /// Reads a version or a directory from a command line value.
    ///
    /// # Errors
    /// When it is neither.
    pub fn named(text: &str) -> Result<SourceTree, LabError> {
        let directory = Path::new(text);
        if directory.is_dir() {
            return Ok(SourceTree::Directory(directory.to_owned()));
        }
        let number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        match text.split_once('.') {
            Some((major, minor)) if number(major) && number(minor) => {
                Ok(SourceTree::Debian(text.to_owned()))
            }
            _ => Err(LabError::value(
                format!("--kernel-source {text}"),
                "it is neither an existing directory nor a version whose source Debian packages, \
                 such as 6.12",
            )),
        }
    }

    /// Checks that a directory is a Linux source tree.
    pub(super) fn check(&self) -> Result<(), LabError> {
        let SourceTree::Directory(directory) = self else { return Ok(()) };
        let lacking = ["Makefile", "Kconfig", "arch/x86/Makefile", "init/main.c"];
        match lacking.into_iter().find(|file| !directory.join(file).is_file()) {
            None => Ok(()),
            Some(file) => Err(LabError::value(
                format!("--kernel-source {}", directory.display()),
                format!("it is not a Linux source tree: it has no {file}"),
            )),
        }
    }

    /// The suites, not among this machine's sources, that have this version.
    pub(super) fn archives(&self) -> &'static [&'static str] {
        let SourceTree::Debian(version) = self else { return &[] };
        OLDER.iter().find(|(older, _)| older == version).map_or(&[], |(_, suites)| suites)
    }

    /// Identifies the sources, without fetching them.
    pub(super) fn look_up(&self, source: &mut Source<'_>) -> Result<Origin, LabError> {
        match self {
            SourceTree::Debian(version) => {
                let package = source.planned(&format!("{PACKAGE}{version}"), PACKAGE)?;
                Ok(Origin {
                    identity: format!("{} {}", package.version, package.sha256),
                    name: format!("{} {}", package.name, package.version),
                    package: Some(package),
                })
            }
            SourceTree::Directory(directory) => {
                let identity = digest(directory)?;
                let name = directory.canonicalize().map_err(LabError::at("find", directory))?;
                let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let name = format!("the tree {name} ({})", identity.get(..12).unwrap_or_default());
                Ok(Origin { identity, name, package: None })
            }
        }
    }

    /// Fills an empty place with the sources.
    pub(super) fn fill(&self, place: &Path, source: &mut Source<'_>) -> Result<(), LabError> {
        std::fs::create_dir_all(place).map_err(LabError::at("create", place))?;
        match self {
            SourceTree::Debian(version) => {
                let name = format!("{PACKAGE}{version}");
                let files = source.fetched("kernel", &[&name], false)?;
                let unpacked = place.join(".package");
                for file in &files {
                    std::fs::create_dir_all(&unpacked)
                        .map_err(LabError::at("create", &unpacked))?;
                    unpack(file, &unpacked)?;
                }
                let archive = unpacked.join("usr/src").join(format!("{name}.tar.xz"));
                if !archive.is_file() {
                    return Err(LabError::damaged(&archive, "Debian's package does not have it"));
                }
                let mut tar = Command::new("tar");
                tar.args([
                    "--extract",
                    "--xz",
                    "--no-same-owner",
                    "--strip-components=1",
                    "--file",
                ]);
                run(tar.arg(&archive).current_dir(place), |_| {})?;
                std::fs::remove_dir_all(&unpacked).map_err(LabError::at("remove", &unpacked))
            }
            SourceTree::Directory(directory) => {
                for (path, what) in entries(directory)? {
                    what.copy(&directory.join(&path), &place.join(&path))?;
                }
                // Removes programs that an earlier build in the tree made for its own use.
                run(compile::make(place).arg("mrproper"), |_| {})
            }
        }
    }
}

/// The kind of an entry in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Directory,
    File,
    Link,
}

impl Entry {
    fn copy(self, from: &Path, to: &Path) -> Result<(), LabError> {
        let copied = match self {
            Entry::Directory => std::fs::create_dir(to),
            Entry::File => std::fs::copy(from, to).map(drop),
            Entry::Link => {
                std::fs::read_link(from).and_then(|target| std::os::unix::fs::symlink(target, to))
            }
        };
        copied.map_err(LabError::at("copy", from))
    }
}

/// All entries of a tree except what a build left there: relative paths, in order, each directory
/// before its contents.
fn entries(tree: &Path) -> Result<Vec<(PathBuf, Entry)>, LabError> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        let here = tree.join(&directory);
        for entry in std::fs::read_dir(&here).map_err(LabError::at("read", &here))? {
            let entry = entry.map_err(LabError::at("read", &here))?;
            let path = directory.join(entry.file_name());
            let kind = entry.file_type().map_err(LabError::at("stat", &entry.path()))?;
            if is_built(&path) {
                continue;
            } else if kind.is_dir() {
                left.push(path.clone());
                found.push((path, Entry::Directory));
            } else if kind.is_symlink() {
                found.push((path, Entry::Link));
            } else if kind.is_file() {
                found.push((path, Entry::File));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// Whether a path of a tree belongs to version control or was made by `make`, and is left out.
fn is_built(path: &Path) -> bool {
    const AT_THE_TOP: [&str; 7] =
        [".git", ".config", ".config.old", ".version", "vmlinux", "System.map", "Module.symvers"];
    const DIRECTORIES: [&str; 3] =
        ["include/config", "include/generated", "arch/x86/include/generated"];
    const ENDINGS: [&str; 7] = [".o", ".ko", ".a", ".cmd", ".mod", ".mod.c", ".o.d"];
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    AT_THE_TOP.iter().chain(&DIRECTORIES).any(|other| path == Path::new(other))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name == ".git"
        || name.starts_with("modules.order")
        || name.starts_with("modules.builtin")
}

/// SHA-256 over a tree's paths, contents and executable bits.
fn digest(tree: &Path) -> Result<String, LabError> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    let mut digest = Sha256::new();
    for (path, what) in entries(tree)? {
        let full = tree.join(&path);
        let (mark, contents) = match what {
            Entry::Directory => (b'd', Vec::new()),
            Entry::Link => {
                let target = std::fs::read_link(&full).map_err(LabError::at("read", &full))?;
                (b'l', target.as_os_str().as_bytes().to_vec())
            }
            Entry::File => {
                let data = full.metadata().map_err(LabError::at("stat", &full))?;
                let mark = if data.permissions().mode() & 0o111 == 0 { b'f' } else { b'x' };
                (mark, files::read_file(&full, SOURCE_MAX)?)
            }
        };
        let path = path.as_os_str().as_bytes();
        digest.update((path.len() as u64).to_le_bytes());
        digest.update(path);
        digest.update([mark]);
        digest.update((contents.len() as u64).to_le_bytes());
        digest.update(&contents);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_a_version_or_a_directory_that_is_there() {
        let room = tempfile::tempdir().unwrap();
        let place = room.path().to_str().unwrap();
        assert_eq!(
            SourceTree::named(place).unwrap(),
            SourceTree::Directory(room.path().to_owned())
        );
        let version = |text: &str| SourceTree::named(text).ok();
        assert_eq!(version("6.12"), Some(SourceTree::Debian("6.12".to_owned())));
        for bad in ["6", "6.", "6.12.3", "six", "/nonexistent", ""] {
            assert_eq!(version(bad), None, "{bad}");
        }
        assert_eq!(SourceTree::Debian("5.10".to_owned()).archives(), ["bullseye-security"]);
        assert_eq!(SourceTree::Debian("6.12".to_owned()).archives(), [""; 0]);
        let error = SourceTree::named(place).unwrap().check().unwrap_err().to_string();
        assert!(error.contains("not a Linux source tree: it has no Makefile"), "{error}");
    }

    #[test]
    fn a_tree_is_the_same_wherever_it_lies_and_whatever_was_built_in_it() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for tree in [one.path(), two.path()] {
            std::fs::create_dir_all(tree.join("fs/x")).unwrap();
            std::fs::write(tree.join("fs/x/super.c"), "int a;\n").unwrap();
            std::os::unix::fs::symlink("super.c", tree.join("fs/x/link.c")).unwrap();
        }
        std::fs::create_dir(two.path().join(".git")).unwrap();
        std::fs::create_dir_all(two.path().join("include/generated/uapi")).unwrap();
        for built in [".git/HEAD", "fs/x/super.o", "fs/x/.super.o.cmd", ".config", "vmlinux"] {
            std::fs::write(two.path().join(built), "built").unwrap();
        }
        std::fs::create_dir(one.path().join("include")).unwrap();
        assert_eq!(digest(one.path()).unwrap(), digest(two.path()).unwrap());
        std::fs::write(two.path().join("fs/x/super.c"), "int b;\n").unwrap();
        assert_ne!(digest(one.path()).unwrap(), digest(two.path()).unwrap());
    }

    #[test]
    fn a_tree_is_copied_without_what_was_built() {
        let (tree, room) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir(tree.path().join("fs")).unwrap();
        std::fs::write(tree.path().join("fs/super.c"), "int a;\n").unwrap();
        std::fs::write(tree.path().join("fs/super.o"), "built").unwrap();
        let place = room.path().join("copy");
        std::fs::create_dir(&place).unwrap();
        for (path, what) in entries(tree.path()).unwrap() {
            what.copy(&tree.path().join(&path), &place.join(&path)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(place.join("fs/super.c")).unwrap(), "int a;\n");
        assert!(!place.join("fs/super.o").exists());
        assert_eq!(digest(tree.path()).unwrap(), digest(&place).unwrap());
    }
}
