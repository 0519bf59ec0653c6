//! Preloading: a list of files that a boot opens, sorted by their place on the disk and read ahead
//! during the boot.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::engine::extents;

/// Hidden argument with which this program acts as the preloader of the booting system.
pub const PRELOAD_COMMAND: &str = "boot-preload";

/// Where a system keeps its lists: one absolute path a line.
pub(super) const LISTS: &str = "var/cache/preload";

/// Main of the preloader: reads each list it is given, opens its files in that order and makes the
/// kernel read them ahead. A file that no longer exists is skipped. The service that starts it
/// sets its priority.
pub fn preload_main(lists: impl Iterator<Item = PathBuf>) -> std::process::ExitCode {
    for list in lists {
        match std::fs::read(&list) {
            Ok(text) => text.split(|&byte| byte == b'\n').for_each(read_ahead),
            Err(error) => {
                eprintln!("fstrial: {}: {error}", list.display());
                return std::process::ExitCode::FAILURE;
            }
        }
    }
    std::process::ExitCode::SUCCESS
}

fn read_ahead(path: &[u8]) {
    if path.is_empty() {
        return;
    }
    if let Ok(file) = File::open(Path::new(OsStr::from_bytes(path))) {
        // SAFETY: the descriptor is open. Advice that is not taken costs nothing but time.
        unsafe {
            libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_WILLNEED);
        }
    }
}

/// Writes to `sorted` the list of the tree at `root`, ordered by where its files lie on the disk.
/// Files that no longer exist are left out; those whose place the filesystem does not report come
/// last, in the order of their inode numbers.
///
/// # Errors
/// When the list cannot be read or written.
pub(super) fn sort_by_place(root: &Path, list: &str, sorted: &Path) -> io::Result<u64> {
    let text = std::fs::read(root.join(LISTS).join(list))?;
    let mut files: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            let relative = Path::new(OsStr::from_bytes(path)).strip_prefix("/").ok()?;
            let file = File::open(root.join(relative)).ok()?;
            let inode = rustix::fs::fstat(&file).ok()?.st_ino;
            let at = extents::first_place(file.as_fd()).unwrap_or(u64::MAX);
            Some((at, inode, path))
        })
        .collect();
    files.sort();
    let count = files.len() as u64;
    if let Some(directory) = sorted.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(sorted, lines(files.into_iter().map(|(_, _, path)| path)))?;
    Ok(count)
}

/// One path a line.
pub(super) fn lines<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.extend_from_slice(path);
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_list_has_the_files_that_are_there_each_once() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(LISTS)).unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(root.path().join(name), vec![1; 100_000]).unwrap();
        }
        std::fs::write(root.path().join(LISTS).join("login"), "/c\n/gone\n/a\n/b\n").unwrap();
        let sorted = root.path().join("sorted");
        assert_eq!(sort_by_place(root.path(), "login", &sorted).unwrap(), 3);
        let text = std::fs::read_to_string(sorted).unwrap();
        let mut names: Vec<_> = text.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["/a", "/b", "/c"]);
    }
}
