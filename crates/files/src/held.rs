//! A file that is no directory, held by its descriptor.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use units::DeviceNumber;

use crate::reach::{InReach, reach};
use crate::walk::{Entry, Missing, Reached, Walk, check_above, path_of};
use crate::{Directory, FileError};

/// A file, resolved once and held without opening it: what is found out about it, and what is
/// opened, is this file, whatever has its name by now.
pub struct HeldFile {
    entry: Box<Entry>,
}

impl HeldFile {
    /// Resolves `path` as [`Directory::hold`] does, and holds the file.
    ///
    /// # Errors
    /// When there is no such file, it is a directory, or another user could have led the path
    /// elsewhere.
    pub fn hold(path: &Path) -> Result<HeldFile, FileError> {
        let hold = || -> io::Result<HeldFile> {
            match Walk::to(path, Missing::Refuse)? {
                Reached::File(entry) => Ok(HeldFile { entry }),
                Reached::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
                Reached::Missing { .. } => Err(rustix::io::Errno::NOENT.into()),
            }
        };
        hold().map_err(FileError::of("open", path))
    }

    /// Whether it is a regular file.
    pub fn is_regular(&self) -> bool {
        FileType::from_raw_mode(self.entry.status.st_mode) == FileType::RegularFile
    }

    /// The number of the block device that it is.
    pub fn block_device(&self) -> Option<DeviceNumber> {
        let kind = FileType::from_raw_mode(self.entry.status.st_mode);
        let number = DeviceNumber::from_raw(self.entry.status.st_rdev);
        (kind == FileType::BlockDevice).then_some(number)
    }

    /// Opens it for reading.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn read(&self) -> io::Result<File> {
        File::open(format!("/proc/self/fd/{}", self.entry.held.as_raw_fd()))
    }

    /// Opens it as these options say.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        options.open(format!("/proc/self/fd/{}", self.entry.held.as_raw_fd()))
    }

    /// Where it is now, without symlinks.
    pub fn present_path(&self) -> PathBuf {
        path_of(&self.entry.held)
    }

    /// Checks that nobody else can give its name to another file.
    ///
    /// # Errors
    /// The first directory on its path that another user can change.
    pub fn check_name(&self) -> Result<(), InReach> {
        check_above(&self.entry.directory, true)
    }
}

/// The path of a file that only this user can change or replace, there already or not, without
/// symlinks: for programs that know files by their names and make others beside them. Missing
/// directories are made with mode 0700.
///
/// # Errors
/// When another user can change the file, its directory or one above; its source is an [`InReach`]
/// then. When it is no regular file.
pub fn private_file(path: &Path) -> Result<PathBuf, FileError> {
    let parent = Directory::hold_or_make(path.parent().unwrap_or(Path::new("")))?;
    private_in(&parent, path)
}

/// The same of a file that has to be there; nothing is made.
///
/// # Errors
/// As [`private_file`], and when there is no such file.
pub fn existing_private_file(path: &Path) -> Result<PathBuf, FileError> {
    let parent = Directory::hold(path.parent().unwrap_or(Path::new("")))?;
    private_in(&parent, path)
}

fn private_in(parent: &Directory, path: &Path) -> Result<PathBuf, FileError> {
    let fail = |error: io::Error| FileError::of("use", path)(error);
    let name = path.file_name().ok_or_else(|| fail(io::ErrorKind::IsADirectory.into()))?;
    let find = || -> io::Result<PathBuf> {
        parent.check_private().map_err(io::Error::other)?;
        let start = parent.as_fd().try_clone_to_owned()?;
        let (directory, name) = match Walk::from(start, Path::new(name), Missing::Refuse)? {
            Reached::Directory(_) => return Err(io::ErrorKind::IsADirectory.into()),
            Reached::Missing { directory, name } => (directory, name),
            Reached::File(entry) => {
                let Entry { directory, name, held, status, .. } = *entry;
                if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
                    return Err(io::Error::other("it is no regular file"));
                }
                check_above(&directory, true).map_err(io::Error::other)?;
                reach(&held)
                    .map_err(|by| io::Error::other(InReach { path: path_of(&held), by }))?;
                (directory, name)
            }
        };
        check_above(&directory, true).map_err(io::Error::other)?;
        Ok(path_of(&directory).join(name))
    };
    find().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mknodat};

    #[test]
    fn only_a_regular_file_is_private() {
        let room = tempfile::tempdir().unwrap();
        let at = |name: &str| room.path().join(name);
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::fs::write(at("file"), "").unwrap();
        assert_eq!(existing_private_file(&at("file")).unwrap(), at("file").canonicalize().unwrap());
        let error = existing_private_file(&at("pipe")).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
        assert!(existing_private_file(room.path()).is_err());
    }
}
