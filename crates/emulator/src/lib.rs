//! The lab's emulator, as changes to QEMU's source: files of our own, and a few edits, each named
//! by a file and an anchor that occurs in it exactly once. What is compiled into QEMU lies in
//! `qemu/`, which has a licence of its own.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Debian's source package.
pub const PACKAGE: &str = "qemu";
/// The release of Debian whose version of it the edits fit.
pub const RELEASE: &str = "bookworm";
/// The program that is compiled.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// The files of our own, by name.
const FILES: [(&str, &str); 4] = [
    ("lab-clock.c", include_str!("../qemu/lab-clock.c")),
    ("lab-crc32c.c", include_str!("../qemu/lab-crc32c.c")),
    ("lab.h", include_str!("../qemu/lab.h")),
    ("lab.mak", include_str!("../qemu/lab.mak")),
];
const EDITS: &str = include_str!("../qemu/7.2.toml");

/// The smallest QEMU that is the lab's machine, in one file that needs no library.
pub const CONFIGURATION: [&str; 14] = [
    "--target-list=x86_64-softmmu",
    "--static",
    "--without-default-features",
    "--without-default-devices",
    "--with-devices-x86_64=lab",
    "--enable-system",
    "--enable-tcg",
    "--disable-docs",
    "--disable-tools",
    "--disable-guest-agent",
    "--disable-debug-info",
    "--disable-werror",
    "--with-git-submodules=ignore",
    "--prefix=/usr",
];

/// Why a source tree could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The source is another one than expected.
    #[error("{file} has {found} places like `{anchor}`, where exactly one was expected ({why})")]
    Anchor {
        /// The file.
        file: String,
        /// What was looked for.
        anchor: String,
        /// How often it is there.
        found: usize,
        /// What the edit is for.
        why: String,
    },
    /// The list of edits is malformed.
    #[error("the list of edits: {0}")]
    List(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    file: Vec<Placed>,
    edit: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    from: String,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    why: String,
    file: String,
    anchor: String,
    #[serde(default)]
    before: String,
    instead: Option<String>,
    #[serde(default)]
    after: String,
}

impl Edit {
    fn apply(&self, text: &str) -> Result<String, EditError> {
        let found = text.matches(&self.anchor).count();
        if found != 1 {
            let (file, anchor) = (self.file.clone(), self.anchor.clone());
            return Err(EditError::Anchor { file, anchor, found, why: self.why.clone() });
        }
        let middle = self.instead.as_ref().unwrap_or(&self.anchor);
        Ok(text.replacen(&self.anchor, &format!("{}{middle}{}", self.before, self.after), 1))
    }
}

/// Everything that makes a difference to the emulator, for a key.
pub fn recipe() -> Vec<&'static [u8]> {
    let files = FILES.iter().map(|(_, text)| *text);
    let configuration = CONFIGURATION.iter().copied();
    files.chain([EDITS]).chain(configuration).map(str::as_bytes).collect()
}

/// Puts our files and edits into a tree of QEMU's source.
///
/// # Errors
/// When the source is not the expected one, or cannot be written.
pub fn change(tree: &Path) -> Result<(), EditError> {
    let list: List = toml::from_str(EDITS).map_err(|error| EditError::List(error.to_string()))?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| EditError::File { path, error }
    };
    for placed in &list.file {
        let (_, text) = FILES
            .iter()
            .find(|(name, _)| *name == placed.from)
            .ok_or_else(|| EditError::List(format!("there is no file {}", placed.from)))?;
        let path = tree.join(&placed.to);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    for edit in &list.edit {
        let path = tree.join(&edit.file);
        let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
        std::fs::write(&path, edit.apply(&text)?).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        toml::from_str(EDITS).unwrap()
    }

    #[test]
    fn every_file_of_ours_has_a_place() {
        let list = list();
        for (name, _) in FILES {
            assert!(list.file.iter().any(|placed| placed.from == name), "{name}");
        }
        assert!(list.edit.iter().all(|edit| !edit.why.is_empty()));
    }

    #[test]
    fn a_tree_with_the_anchors_is_changed_and_one_without_is_refused() {
        let tree = tempfile::tempdir().unwrap();
        let list = list();
        for placed in &list.file {
            std::fs::create_dir_all(tree.path().join(&placed.to).parent().unwrap()).unwrap();
        }
        for edit in &list.edit {
            let path = tree.path().join(&edit.file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            std::fs::write(&path, format!("{before}{}\n", edit.anchor)).unwrap();
        }
        change(tree.path()).unwrap();
        let meson = std::fs::read_to_string(tree.path().join("accel/tcg/meson.build")).unwrap();
        assert_eq!(meson, "'tcg-accel-ops-rr.c', 'lab-clock.c', 'lab-crc32c.c',\n");
        assert!(tree.path().join("accel/tcg/lab-clock.c").is_file());
        // An anchor of which nothing is left, and one that is there twice.
        for text in ["", "'tcg-accel-ops-rr.c', 'tcg-accel-ops-rr.c',"] {
            std::fs::write(tree.path().join("accel/tcg/meson.build"), text).unwrap();
            let error = change(tree.path()).unwrap_err().to_string();
            assert!(error.contains("accel/tcg/meson.build has"), "{error}");
        }
    }
}
