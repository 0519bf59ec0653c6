//! The tree that is booted: unpacked onto an empty filesystem, or reused from the boot before it
//! in a sequence, as the laptop of 2005 was booted again and again.

use std::fs;
use std::io;
use std::path::Path;

use units::Bytes;

use super::beside::Beside;
use super::preload::LISTS;
use super::unpack::{Unpacked, unpack};
use super::variant::LOGIN_LIST;
use crate::{OpError, Seed};

/// Where the tree came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installed {
    /// Its archive, with other software beside it.
    Unpacked { system: Unpacked, beside: Unpacked },
    /// An earlier boot in the same trial.
    Found,
}

/// Provides the tree at `root`, with other software up to `total` bytes in all, and without what
/// an earlier boot left in its logs and temporary directories.
///
/// # Errors
/// When the archive is damaged or the filesystem refuses an operation.
pub(super) fn install(
    archive: &Path,
    root: &Path,
    total: Bytes,
    seed: Seed,
) -> Result<Installed, OpError> {
    let list = root.join(LISTS).join(LOGIN_LIST);
    if !list.exists() {
        let mut beside = Beside::up_to(total, archive, root, seed)?;
        let mut after = |name: &Path, size| match &mut beside {
            Some(beside) => beside.after(name, size),
            None => Ok(()),
        };
        // An incomplete tree must be removed: a later boot of the trial would reuse it.
        let system =
            unpack(archive, root, &mut after).inspect_err(|_| drop(fs::remove_file(&list)))?;
        let beside = beside.map(|beside| beside.installed()).unwrap_or_default();
        return Ok(Installed::Unpacked { system, beside });
    }
    sweep(root).map_err(OpError::at("sweep", root))?;
    Ok(Installed::Found)
}

/// Removes what a boot leaves, so that every boot begins with the same tree: the system is never
/// shut down, and its logs would grow from boot to boot.
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

    fn installed(archive: &Path, root: &Path, total: u64) -> Result<Installed, OpError> {
        install(archive, root, Bytes(total), Seed(1))
    }

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
        assert_eq!(installed(none, root, 0).unwrap(), Installed::Found);
        let there = |name: &str| root.join(name).exists();
        assert!(there("home/user/notes") && there("var/log/journal/id") && there("tmp"));
        for gone in ["tmp/.X11-unix", "tmp/.X0-lock", "var/log/syslog", "var/log/journal/id/a"] {
            assert!(!there(gone), "{gone}");
        }
        fs::remove_file(root.join(LISTS).join(LOGIN_LIST)).unwrap();
        let error = installed(none, root, 0).unwrap_err();
        assert!(error.to_string().contains("there is no archive"), "{error}");
    }

    #[test]
    fn half_a_tree_is_never_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("root");
        fs::create_dir_all(root.join(LISTS)).unwrap();
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in [(format!("{LISTS}/{LOGIN_LIST}"), 20), ("last".to_owned(), 4000)] {
            let mut header = tar::Header::new_gnu();
            let facts = fs::metadata(home.path()).unwrap();
            header.set_uid(std::os::unix::fs::MetadataExt::uid(&facts).into());
            header.set_gid(std::os::unix::fs::MetadataExt::gid(&facts).into());
            header.set_mode(0o644);
            header.set_mtime(0);
            header.set_size(bytes as u64);
            builder.append_data(&mut header, name, vec![b'a'; bytes].as_slice()).unwrap();
        }
        let whole = builder.into_inner().unwrap();
        let archive = home.path().join("archive");
        // Cut within the last file's contents.
        fs::write(&archive, &whole[..3 * 512 + 100]).unwrap();
        for _ in 0..2 {
            installed(&archive, &root, 0).unwrap_err();
        }
        fs::write(&archive, &whole).unwrap();
        let system = Unpacked { entries: 2, bytes: 4020 };
        let beside = Unpacked::default();
        let expected = Installed::Unpacked { system, beside };
        assert_eq!(installed(&archive, &root, 0).unwrap(), expected);
        assert_eq!(
            installed(&archive, &root, 0).unwrap_err().op,
            "sweep",
            "found, and no tree of ours"
        );
    }
}
