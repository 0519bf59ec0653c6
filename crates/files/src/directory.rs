//! A directory held by its descriptor.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::{FileError, is_root, is_trusted};

/// As many symlinks as the kernel follows on one path.
const SYMLINKS_MAX: usize = 40;
/// Flags to hold a directory for lookups, without reading it.
const HOLD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A directory, resolved once and held open: renaming it or a directory above it does not affect
/// what is done through this value.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Resolves `path` and holds the directory. As root, only root's own symlinks are followed;
    /// others are refused, since another user could have planted them.
    ///
    /// # Errors
    /// When there is no such directory, or another user's symlink leads to it.
    pub fn hold(path: &Path) -> Result<Directory, FileError> {
        let fail = |error| FileError::of("use the directory", path)(error);
        let start = start_of(path).map_err(fail)?;
        let mut budget = SYMLINKS_MAX;
        let fd = walk(start, path, &mut budget).map_err(fail)?;
        // Opened for reading too, so that it can be listed.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match openat(&fd, c".", flags, Mode::empty()) {
            Ok(readable) => readable,
            // A directory that may be entered but not listed is good enough to make files in.
            Err(Errno::ACCESS) => fd,
            Err(error) => return Err(fail(error.into())),
        };
        Ok(Directory { fd, path: path.to_owned() })
    }

    /// The path it had when it was opened, for messages only.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode, which identify the directory wherever it is moved.
    ///
    /// # Errors
    /// Those of `fstat`.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let status = fstat(&self.fd)?;
        Ok((status.st_dev, status.st_ino))
    }

    /// The status of the entry `name` itself; a symlink is not followed.
    ///
    /// # Errors
    /// Those of `fstatat`, [`io::ErrorKind::NotFound`] among them.
    pub fn status_of(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Makes a directory of mode 0700 in this one and holds it.
    ///
    /// # Errors
    /// When it cannot be made, or what is opened is not a new and empty directory of this user:
    /// then someone put another one in its place.
    pub fn make_directory(&self, name: &str) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        let fail = |error: io::Error| FileError::of("create", &path)(error);
        mkdirat(&self.fd, name, Mode::RWXU).map_err(|error| fail(error.into()))?;
        let child = self.hold_child(name)?;
        let status = fstat(&child.fd).map_err(|error| fail(error.into()))?;
        let ours = status.st_uid == rustix::process::geteuid().as_raw();
        if !ours || child.entries().map_err(fail)? != 0 {
            return Err(fail(io::Error::other(
                "another directory was put in its place while it was made",
            )));
        }
        Ok(child)
    }

    /// Resolves `path` as [`Directory::hold`] does, and makes missing directories with mode 0700.
    ///
    /// # Errors
    /// As [`Directory::hold`], and when one cannot be made.
    pub fn hold_or_make(path: &Path) -> Result<Directory, FileError> {
        match Directory::hold(path) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let fail = |error: io::Error| FileError::of("create", path)(error);
        let name = path.file_name().ok_or_else(|| fail(io::ErrorKind::NotFound.into()))?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => Directory::hold_or_make(parent)?,
            _ => Directory::hold(Path::new("."))?,
        };
        match mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(fail(error.into())),
        }
        Directory::hold(path)
    }

    /// Holds the directory `name` of this one, on the same mount, not through a symlink.
    ///
    /// # Errors
    /// When there is none.
    pub fn hold_child(&self, name: &str) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        let fail = |error: io::Error| FileError::of("open", &path)(error);
        let text = std::ffi::CString::new(name).map_err(|error| fail(error.into()))?;
        let fd = crate::open_directory(&self.fd, &text).map_err(fail)?;
        Ok(Directory { fd, path })
    }

    /// How many entries it has.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn entries(&self) -> io::Result<usize> {
        let mut count = 0;
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            count += usize::from(entry.file_name() != c"." && entry.file_name() != c"..");
        }
        Ok(count)
    }

    /// Removes the empty directory `name`, if it is the one with this identity.
    ///
    /// # Errors
    /// When the name refers to another file by now, or the directory is not empty. A name that no
    /// longer exists is not an error.
    pub fn remove_child(&self, name: &str, identity: (u64, u64)) -> io::Result<()> {
        match self.status_of(OsStr::new(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(found) if (found.st_dev, found.st_ino) != identity => {
                return Err(io::Error::other(
                    "another file stands in its place; it was moved away by another user",
                ));
            }
            Ok(_) => {}
        }
        // This removes only an empty directory, whatever was put in its place meanwhile.
        Ok(unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Where the resolution of a path begins.
pub(crate) fn start_of(path: &Path) -> io::Result<OwnedFd> {
    let from = if path.is_absolute() { c"/" } else { c"." };
    Ok(openat(CWD, from, HOLD | OFlags::DIRECTORY, Mode::empty())?)
}

/// Resolves `path` from `start` to a directory, one name at a time.
pub(crate) fn walk(start: OwnedFd, path: &Path, symlinks: &mut usize) -> io::Result<OwnedFd> {
    let mut at = start;
    let mut left = names(path);
    while let Some(name) = left.pop_front() {
        let next = openat(&at, name.as_os_str(), HOLD | OFlags::NOFOLLOW, Mode::empty())?;
        let status = fstat(&next)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => at = next,
            FileType::Symlink => {
                let target = follow(&at, &name, &status, symlinks)?;
                if target.is_absolute() {
                    at = start_of(&target)?;
                }
                for name in names(&target).into_iter().rev() {
                    left.push_front(name);
                }
            }
            _ => return Err(io::ErrorKind::NotADirectory.into()),
        }
    }
    Ok(at)
}

/// Where a symlink leads, if it may be followed.
pub(crate) fn follow(
    directory: &OwnedFd,
    name: &OsStr,
    status: &Stat,
    symlinks: &mut usize,
) -> io::Result<PathBuf> {
    if is_root() && !is_trusted(status.st_uid) {
        return Err(io::Error::other(format!(
            "`{}` is a symlink of user {}, who could lead it elsewhere; name its target instead",
            name.to_string_lossy(),
            status.st_uid
        )));
    }
    *symlinks = symlinks.checked_sub(1).ok_or(Errno::LOOP)?;
    let target = readlinkat(directory, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The names of a path in order, without the root of an absolute path.
fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_directory_stays_what_it_was_when_its_name_goes_elsewhere() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a");
        std::fs::create_dir(&path).unwrap();
        let held = Directory::hold(&path).unwrap();
        std::fs::rename(&path, room.path().join("b")).unwrap();
        std::fs::create_dir(&path).unwrap();
        let made = held.make_directory("ours").unwrap();
        assert!(room.path().join("b/ours").is_dir() && !path.join("ours").exists());
        let identity = made.identity().unwrap();
        held.remove_child("ours", identity).unwrap();
        assert!(!room.path().join("b/ours").exists());
        held.remove_child("ours", identity).unwrap();
    }

    #[test]
    fn what_stands_in_the_place_of_another_is_not_removed() {
        let room = tempfile::tempdir().unwrap();
        let held = Directory::hold(room.path()).unwrap();
        let made = held.make_directory("ours").unwrap();
        let identity = made.identity().unwrap();
        std::fs::rename(room.path().join("ours"), room.path().join("moved")).unwrap();
        std::fs::create_dir(room.path().join("ours")).unwrap();
        let error = held.remove_child("ours", identity).unwrap_err().to_string();
        assert!(error.contains("another file"), "{error}");
        assert!(room.path().join("ours").is_dir());
    }

    #[test]
    fn relative_paths_parents_and_our_own_symlinks_are_followed() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(room.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", room.path().join("short")).unwrap();
        std::os::unix::fs::symlink(room.path(), room.path().join("a/b/up")).unwrap();
        let held = |path: &str| Directory::hold(&room.path().join(path)).unwrap().identity();
        let direct = held("a/b").unwrap();
        for path in ["short", "./a/./b", "a/../a/b", "short/up/short", "a/b/up/a/b/"] {
            assert_eq!(held(path).unwrap(), direct, "{path}");
        }
    }

    #[test]
    fn what_is_missing_of_a_path_is_made_for_this_user_alone() {
        use std::os::unix::fs::MetadataExt;
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a/b");
        let made = Directory::hold_or_make(&path).unwrap();
        assert_eq!(made.identity().unwrap(), Directory::hold(&path).unwrap().identity().unwrap());
        assert_eq!(room.path().join("a").metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::write(room.path().join("file"), "").unwrap();
        assert!(Directory::hold_or_make(&room.path().join("file/below")).is_err());
    }

    #[test]
    fn a_circle_of_symlinks_and_a_file_are_refused() {
        let room = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("y", room.path().join("x")).unwrap();
        std::os::unix::fs::symlink("x", room.path().join("y")).unwrap();
        std::fs::write(room.path().join("file"), "").unwrap();
        assert!(Directory::hold(&room.path().join("x")).is_err());
        assert!(Directory::hold(&room.path().join("file")).is_err());
        assert!(Directory::hold(&room.path().join("nothing")).is_err());
    }
}
