//! The cache directory: files appear only when complete.

use std::fs::File;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::LabError;

/// The lab that is used if none is named.
pub const DEFAULT_LAB: &str = "default";

/// The directory of apt's own files for the lab of this name, relative to the cache.
pub(crate) fn apt_directory(name: &str) -> PathBuf {
    match name {
        DEFAULT_LAB => PathBuf::from("apt"),
        name => PathBuf::from(format!("apt-{name}")),
    }
}

/// Where the lab is kept: `$XDG_CACHE_HOME/fstrial/lab`, or below `~/.cache`; for root without a home
/// below `/var/cache`.
///
/// # Errors
/// When neither variable names a place.
pub fn cache_directory() -> Result<PathBuf, LabError> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").filter(|it| it.is_dir()).map(|home| home.join(".cache")))
        .or_else(|| rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/cache")))
        .map(|cache| cache.join("fstrial").join("lab"))
        .ok_or_else(|| {
            LabError::value(
                "the lab's cache directory",
                "neither XDG_CACHE_HOME nor HOME names one",
            )
        })
}

/// A name beside `path` for an incomplete file. [`sweep_unfinished`] recognises and removes such
/// files.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.unfinished", std::process::id()));
    path.with_file_name(name)
}

/// The key of what the cache keeps: a digest of all it depends on.
pub(crate) fn key(parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize()[..10].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens the cache and creates it if it is missing. Refuses a directory into which another user
/// could have put something, since its contents are trusted and executed.
///
/// # Errors
/// When it cannot be made, or another user can change it.
pub fn open_cache(directory: &Path) -> Result<PathBuf, LabError> {
    Ok(files::private_directory(directory)?)
}

/// Makes `to` a tree of links to the files of `from`.
pub(crate) fn link_tree(from: &Path, to: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(to).map_err(LabError::at("create", to))?;
    for entry in std::fs::read_dir(from).map_err(LabError::at("read", from))? {
        let entry = entry.map_err(LabError::at("read", from))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(LabError::at("stat", &path))?;
        if kind.is_dir() {
            link_tree(&path, &place)?;
        } else {
            std::fs::hard_link(&path, &place).map_err(LabError::at("link", &place))?;
        }
    }
    Ok(())
}

/// Writes a file of the cache under a temporary name and renames it when it is complete and on
/// disk.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&File) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let temporary = unfinished(path);
    let written = (|| {
        // Left by a killed process that had the same process id.
        let _ = std::fs::remove_file(&temporary);
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(&temporary)
            .map_err(LabError::at("create", &temporary))?;
        write(&file)?;
        file.sync_all().map_err(LabError::at("write", &temporary))?;
        std::fs::rename(&temporary, path).map_err(LabError::at("rename", &temporary))
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Removes incomplete files that interrupted processes left in `directory`. Files of running
/// processes are left alone.
pub(crate) fn sweep_unfinished(directory: &Path) {
    let is_dead =
        |owner| owner != std::process::id() && !Path::new(&format!("/proc/{owner}")).exists();
    remove_unfinished(directory, is_dead);
}

/// Removes all incomplete files in `directory`, whatever process has the number of the one that
/// left them: the caller knows that nobody is writing.
pub(crate) fn sweep_all_unfinished(directory: &Path) {
    remove_unfinished(directory, |_| true);
}

/// Whether `directory` has incomplete files.
pub(crate) fn has_unfinished(directory: &Path) -> bool {
    let mut entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| owner(&entry).is_some())
}

/// The process that writes an incomplete file.
fn owner(entry: &std::fs::DirEntry) -> Option<u32> {
    let name = entry.file_name();
    let (_, pid) = name.to_str()?.strip_suffix(".unfinished")?.rsplit_once('.')?;
    pid.parse().ok()
}

fn remove_unfinished(directory: &Path, is_dead: impl Fn(u32) -> bool) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if owner(&entry).is_some_and(&is_dead) {
            let path = entry.path();
            let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        }
    }
}

/// Records that a file or a directory was used, for [`prune`]. Does nothing without the permission
/// to.
pub(crate) fn touch(path: &Path) {
    let now = std::fs::FileTimes::new().set_modified(std::time::SystemTime::now());
    // Opened for reading: a directory or a running program cannot be opened for writing.
    if let Ok(file) = File::open(path) {
        let _ = file.set_times(now);
    }
}

/// What is pruned, by file name extension: checkpoints, images, copies of emulators.
const KINDS: [&str; 3] = ["checkpoint", "cpio", "emulator"];

/// Removes all of [`KINDS`] but the `keep` most recently used. What another process has open
/// stays readable for it.
pub(crate) fn prune(directory: &Path, keep: usize) {
    let used = |path: &Path| {
        let dated = [path.join("digest"), path.to_owned()];
        dated.iter().find_map(|path| path.metadata().and_then(|data| data.modified()).ok())
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
        })
        .map(|path| (used(&path), path))
        .collect();
    found.sort();
    for (_, path) in found.iter().rev().skip(keep) {
        let _ = std::fs::remove_dir_all(path).or_else(|_| std::fs::remove_file(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let failed = write_whole(&path, |mut file| {
            file.write_all(b"half").unwrap();
            Err(LabError::Stopped)
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        write_whole(&path, |mut file| file.write_all(b"all").map_err(LabError::at("write", &path)))
            .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"all");
    }

    #[test]
    fn what_was_used_last_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("c.checkpoint")).unwrap();
        for name in ["a.cpio", "b.cpio", "c.checkpoint/digest", "lock"] {
            let old = std::time::SystemTime::UNIX_EPOCH;
            let file = File::create(path(name)).unwrap();
            file.set_times(std::fs::FileTimes::new().set_modified(old)).unwrap();
        }
        touch(&path("a.cpio"));
        prune(directory.path(), 1);
        assert!(path("a.cpio").exists() && path("lock").exists());
        assert!(!path("b.cpio").exists() && !path("c.checkpoint").exists());
    }

    #[test]
    fn leftovers_of_the_dead_are_swept_and_those_of_the_living_kept() {
        let directory = tempfile::tempdir().unwrap();
        let dead = directory.path().join("image.4194999.unfinished");
        let living = unfinished(&directory.path().join("image"));
        let other = directory.path().join("image");
        for path in [&dead, &living, &other] {
            std::fs::write(path, b"x").unwrap();
        }
        sweep_unfinished(directory.path());
        assert!(!dead.exists() && living.exists() && other.exists());
    }
}
