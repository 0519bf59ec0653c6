//! A directory held by its descriptor.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::new_file::umask;
use crate::reach::{InReach, Reach, place_of, reach};
use crate::walk::{Missing, Reached, Walk, check_above, path_of};
use crate::{FileError, is_root};

/// A directory, resolved once and held open: renaming it or a directory above it does not affect
/// what is done through this value.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Resolves `path` and holds the directory. As root, only symlinks that no other user can have
    /// put there are followed.
    ///
    /// # Errors
    /// When there is no such directory, or another user could have led the path elsewhere.
    pub fn hold(path: &Path) -> Result<Directory, FileError> {
        Directory::reach(path, Missing::Refuse).map_err(FileError::of("use the directory", path))
    }

    /// Resolves `path` as [`Directory::hold`] does, and makes missing directories with mode 0700;
    /// as long as nobody else can change the directory they are made in.
    ///
    /// # Errors
    /// As [`Directory::hold`], and when one cannot be made.
    pub fn hold_or_make(path: &Path) -> Result<Directory, FileError> {
        Directory::reach(path, Missing::MakePrivate).map_err(FileError::of("create", path))
    }

    /// The same for files that the user asked for: in any directory, with the mode that the user's
    /// umask gives.
    ///
    /// # Errors
    /// As [`Directory::hold_or_make`].
    pub fn hold_or_make_for_outputs(path: &Path) -> Result<Directory, FileError> {
        let mode = Mode::from_raw_mode(0o777 & !umask());
        Directory::reach(path, Missing::Make(mode)).map_err(FileError::of("create", path))
    }

    fn reach(path: &Path, missing: Missing) -> io::Result<Directory> {
        let fd = match Walk::to(path, missing)? {
            Reached::Directory(fd) => fd,
            Reached::File(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Reached::Missing { .. } => return Err(rustix::io::Errno::NOENT.into()),
        };
        Ok(Directory { fd: readable(fd)?, path: path.to_owned() })
    }

    /// The path it had when it was opened, for messages only.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another value that holds the same directory.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Directory> {
        Ok(Directory { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Checks that nobody else can put anything into the directory or move it: it belongs to this
    /// user, and others may write neither to it nor to a directory above it, except one with the
    /// sticky bit, such as `/tmp`. For root, every directory above has to be root's, and neither a
    /// group nor an entry of an ACL may write. For an ordinary user, its own group may.
    ///
    /// # Errors
    /// The first directory that another user can change.
    pub fn check_private(&self) -> Result<(), InReach> {
        let in_reach = |by| InReach { path: path_of(&self.fd), by };
        let status =
            fstat(&self.fd).map_err(|error| in_reach(Reach::Unknown(error.to_string())))?;
        if status.st_uid != rustix::process::geteuid().as_raw() {
            return Err(in_reach(Reach::Owner(status.st_uid)));
        }
        check_above(&self.fd, true)
    }

    /// The path by which a directory that [`Directory::check_private`] accepts can be reached for
    /// good, without symlinks.
    ///
    /// # Errors
    /// When others can change it or a directory above it, or it is no longer there.
    pub fn private_path(&self) -> Result<PathBuf, FileError> {
        let fail = |error: io::Error| FileError::of("trust", &self.path)(error);
        self.check_private().map_err(|error| fail(io::Error::other(error)))?;
        let path = path_of(&self.fd);
        let again = Directory::hold(&path)?;
        let same = place_of(&again).and_then(|again| Ok(again == place_of(&self.fd)?));
        match same {
            Ok(true) => Ok(path),
            Ok(false) => Err(fail(rustix::io::Errno::NOENT.into())),
            Err(error) => Err(fail(error.into())),
        }
    }

    /// Where it is now, without symlinks. To find it again later, not to reach it: another user
    /// may move it, unless [`Directory::check_private`] says that nobody can.
    pub fn present_path(&self) -> PathBuf {
        path_of(&self.fd)
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

    /// Makes a directory of mode 0700 in this one and holds it. An inherited ACL gives nobody
    /// anything there, since that mode is its mask.
    ///
    /// # Errors
    /// When it cannot be made, or what is opened is not a new and empty directory of this user:
    /// then someone put another one in its place. For root, when others may write to it.
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
        if is_root() {
            reach(&child.fd).map_err(|by| fail(io::Error::other(by.to_string())))?;
        }
        Ok(child)
    }

    /// Holds the directory `name` of this one, on the same mount, not through a symlink.
    ///
    /// # Errors
    /// When there is none.
    pub fn hold_child(&self, name: impl AsRef<OsStr>) -> Result<Directory, FileError> {
        let name = name.as_ref();
        let path = self.path.join(name);
        let fail = |error: io::Error| FileError::of("open", &path)(error);
        let text = std::ffi::CString::new(name.as_bytes()).map_err(|error| fail(error.into()))?;
        let fd = crate::open_directory(&self.fd, &text).map_err(fail)?;
        Ok(Directory { fd, path })
    }

    /// The name of the entry with this device and inode, if there is one.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn name_of(&self, identity: (u64, u64)) -> io::Result<Option<OsString>> {
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let same = |found: &Stat| (found.st_dev, found.st_ino) == identity;
            if entry.ino() == identity.1 && self.status_of(name).is_ok_and(|found| same(&found)) {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
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
    pub fn remove_child(&self, name: impl AsRef<OsStr>, identity: (u64, u64)) -> io::Result<()> {
        let name = name.as_ref();
        match self.status_of(name) {
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

/// The same directory opened for reading, so that it can be listed. One that may be entered but
/// not listed is good enough to make files in.
fn readable(held: OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(&held, c".", flags, Mode::empty()) {
        Ok(readable) => Ok(readable),
        Err(Errno::ACCESS) => Ok(held),
        Err(error) => Err(error.into()),
    }
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
