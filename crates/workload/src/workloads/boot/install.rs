//! The tree that is booted: unpacked onto an empty filesystem, or taken over from the boot
//! before it in a sequence, as the laptop of 2005 was booted again and again.

use std::fs;
use std::io;
use std::path::Path;

use super::preload::LISTS;
use super::unpack::{Unpacked, unpack};
use super::variant::LOGIN_LIST;
use crate::OpError;

/// Where the tree came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installed {
    /// Its archive.
    Unpacked(Unpacked),
    /// An earlier boot in the same trial.
    Found,
}

/// Has the tree at `root`, without what an earlier boot left in its logs and temporary
/// directories.
///
/// # Errors
/// When the archive is damaged or the filesystem does not take what is asked of it.
pub(super) fn install(archive: &Path, root: &Path) -> Result<Installed, OpError> {
    if !root.join(LISTS).join(LOGIN_LIST).exists() {
        return unpack(archive, root).map(Installed::Unpacked);
    }
    sweep(root).map_err(OpError::at("sweep", root))?;
    Ok(Installed::Found)
}

/// Removes what a boot leaves, so that every boot begins with the same tree: nobody shuts the
/// system down, and its logs would grow from boot to boot.
///
/// # Errors
/// When a file cannot be removed.
pub(super) fn sweep(root: &Path) -> io::Result<()> {
    ["tmp", "var/tmp", "var/log"].iter().try_for_each(|directory| empty(&root.join(directory)))
}

/// Removes the files in a directory, and what is below it; the directories of logs stay.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        } else if directory.ends_with("tmp") {
            fs::remove_dir_all(entry.path())?;
        } else {
            empty(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_booted_tree_is_taken_over_without_what_the_boot_left() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for directory in ["tmp/.X11-unix", "var/tmp", "var/log/journal/id", "home/user", LISTS] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["tmp/.X0-lock", "var/log/syslog", "var/log/journal/id/a", "home/user/notes"] {
            fs::write(root.join(file), "left").unwrap();
        }
        fs::write(root.join(LISTS).join(LOGIN_LIST), "/sbin/init\n").unwrap();
        let none = Path::new("/there is no archive");
        assert_eq!(install(none, root).unwrap(), Installed::Found);
        let there = |name: &str| root.join(name).exists();
        assert!(there("home/user/notes") && there("var/log/journal/id") && there("tmp"));
        for gone in ["tmp/.X11-unix", "tmp/.X0-lock", "var/log/syslog", "var/log/journal/id/a"] {
            assert!(!there(gone), "{gone}");
        }
        fs::remove_file(root.join(LISTS).join(LOGIN_LIST)).unwrap();
        let error = install(none, root).unwrap_err();
        assert!(error.to_string().contains("there is no archive"), "{error}");
    }
}
