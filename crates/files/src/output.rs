//! Documents that the user asked for by name.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, renameat, unlinkat};

use crate::new_file::{check_writable, create_new, share, umask, unfinished_name};
use crate::walk::{Entry, Missing, Reached, Walk};
use crate::{Directory, FileError, is_root, is_trusted};

/// Where an output goes.
enum Place {
    /// The name of a regular file, which may exist already.
    Name { directory: OwnedFd, name: OsString, before: Option<Stat> },
    /// An open device, pipe or descriptor, which is written to piece by piece.
    Stream(File),
}

/// Writes a document to `path`. A regular file is replaced atomically: it is complete, or as it was
/// before. A device, a FIFO, `/dev/stdout` or a process substitution is written to directly. A
/// symlink is followed; for root, only if it is root's own. A new file gets the mode that the
/// user's umask gives to any file, and nobody else can read it until it is complete. A replaced
/// file keeps its mode.
///
/// # Errors
/// Those of `write`; when the file cannot be written; when `path` is a directory or a block device,
/// or, for root, a symlink, FIFO or device of another user. An existing file is unchanged then.
pub fn write_output<E: From<FileError>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let place = Walk::to(path, Missing::Refuse).and_then(place_of_output);
    write_into(place.map_err(FileError::of("write", path))?, path, write)
}

impl Directory {
    /// Writes a document called `name` in this directory, as [`write_output`] does.
    ///
    /// # Errors
    /// As [`write_output`].
    pub fn write_output<E: From<FileError>>(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path().join(name);
        let start = self.as_fd().try_clone_to_owned();
        let place = start.and_then(|start| Walk::from(start, Path::new(name), Missing::Refuse));
        let place = place.and_then(place_of_output);
        write_into(place.map_err(FileError::of("write", &path))?, &path, write)
    }

    /// Makes a new file called `name` in this directory for a document, with the mode that the
    /// user's umask gives.
    ///
    /// # Errors
    /// When there is such a file already ([`io::ErrorKind::AlreadyExists`]), or none can be made.
    pub fn new_output(&self, name: &str) -> io::Result<File> {
        let file = create_new(self.as_fd(), name)?;
        share(&file, 0o666 & !umask())?;
        Ok(file)
    }

    /// Finds out whether a file can be made in this directory, without leaving one.
    ///
    /// # Errors
    /// Those of making it.
    pub fn check_writable(&self) -> io::Result<()> {
        check_writable(self.as_fd())
    }
}

fn write_into<E: From<FileError>>(
    place: Place,
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error: io::Error| E::from(FileError::of("write", path)(error));
    let (directory, name, before) = match place {
        Place::Stream(mut stream) => return write(&mut stream),
        Place::Name { directory, name, before } => (directory, name, before),
    };
    let unfinished = unfinished_name().map_err(failed)?;
    let mut file = create_new(directory.as_fd(), &unfinished).map_err(failed)?;
    let finish = |file: &File| -> io::Result<()> {
        match before {
            None => share(file, 0o666 & !umask())?,
            Some(before) if before.st_uid == fstat(file)?.st_uid => {
                share(file, before.st_mode & 0o777)?;
            }
            Some(_) => {}
        }
        file.sync_all()?;
        Ok(renameat(&directory, unfinished.as_str(), &directory, &name)?)
    };
    let written = write(&mut file).and_then(|()| finish(&file).map_err(failed));
    if written.is_err() {
        let _ = unlinkat(&directory, unfinished.as_str(), AtFlags::empty());
    }
    written
}

/// Finds out whether [`write_output`] could write `path`, without changing anything there. To be
/// called before hours of work.
///
/// # Errors
/// As [`write_output`].
pub fn check_output(path: &Path) -> Result<(), FileError> {
    let check = || match place_of_output(Walk::to(path, Missing::Refuse)?)? {
        Place::Name { directory, .. } => check_writable(directory.as_fd()),
        Place::Stream(_) => Ok(()),
    };
    check().map_err(FileError::of("write", path))
}

/// What is written to where a path led.
fn place_of_output(reached: Reached) -> io::Result<Place> {
    let entry = match reached {
        Reached::Directory(_) => return Err(io::ErrorKind::IsADirectory.into()),
        Reached::Missing { directory, name } => {
            return Ok(Place::Name { directory, name, before: None });
        }
        Reached::File(entry) => entry,
    };
    let owner = entry.status.st_uid;
    match FileType::from_raw_mode(entry.status.st_mode) {
        FileType::BlockDevice => Err(io::Error::other("it is a disk; name a file for the output")),
        // Open already: whoever opened it has decided.
        _ if entry.is_open_file => stream(&entry),
        FileType::RegularFile => {
            let Entry { directory, name, status, .. } = *entry;
            Ok(Place::Name { directory, name, before: Some(status) })
        }
        _ if is_root() && !is_trusted(owner) => Err(io::Error::other(format!(
            "it is a pipe or device of user {owner}; name a file of your own"
        ))),
        _ => match &entry.planted {
            Some(by) => Err(io::Error::other(format!(
                "it is a pipe or device that could have been put there: {by}; name a file"
            ))),
            None => stream(&entry),
        },
    }
}

/// Opens the held device or pipe itself for writing.
fn stream(entry: &Entry) -> io::Result<Place> {
    let link = format!("/proc/self/fd/{}", entry.held.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(Place::Stream(File::from(openat(CWD, link, flags, Mode::empty())?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

    fn put(path: &Path, text: &str) -> Result<(), FileError> {
        write_output(path, |file| {
            file.write_all(text.as_bytes()).map_err(FileError::of("write", path))
        })
    }

    #[test]
    fn a_regular_file_is_replaced_whole_and_keeps_its_mode() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("report.html");
        put(&path, "first").unwrap();
        std::fs::write(room.path().join("of any program"), "").unwrap();
        let usual = room.path().join("of any program").metadata().unwrap().mode();
        assert_eq!(path.metadata().unwrap().mode(), usual);
        std::fs::remove_file(room.path().join("of any program")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let inode = path.metadata().unwrap().ino();
        put(&path, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        assert_ne!(path.metadata().unwrap().ino(), inode);
        let half: Result<(), FileError> = write_output(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(FileError::of("write", &path)(io::Error::other("no more")))
        });
        assert!(half.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_symlink_is_followed_and_stays_one() {
        let room = tempfile::tempdir().unwrap();
        let (link, file) = (room.path().join("link"), room.path().join("file"));
        std::fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        put(&link, "after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "after");
        let dangling = room.path().join("dangling");
        std::os::unix::fs::symlink("made", &dangling).unwrap();
        put(&dangling, "new").unwrap();
        assert_eq!(std::fs::read_to_string(room.path().join("made")).unwrap(), "new");
    }

    #[test]
    fn a_fifo_and_an_open_descriptor_are_written_into() {
        let room = tempfile::tempdir().unwrap();
        let fifo = room.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || std::fs::read_to_string(fifo).unwrap())
        };
        put(&fifo, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());

        let (mut from, to) = io::pipe().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&to);
        put(Path::new(&format!("/proc/self/fd/{number}")), "substituted").unwrap();
        put(Path::new(&format!("/dev/fd/{number}")), " twice").unwrap();
        drop(to);
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        assert_eq!(text, "substituted twice");
    }

    #[test]
    fn a_device_stays_a_device() {
        put(Path::new("/dev/null"), "gone").unwrap();
        check_output(Path::new("/dev/null")).unwrap();
        let metadata = Path::new("/dev/null").symlink_metadata().unwrap();
        assert!(metadata.file_type().is_char_device());
        assert_eq!(put(Path::new("/dev/full"), "x").unwrap_err().step, "write");
    }

    #[test]
    fn directories_and_missing_directories_are_refused_beforehand() {
        let room = tempfile::tempdir().unwrap();
        for path in [room.path().to_owned(), room.path().join("none/report.html")] {
            assert!(check_output(&path).is_err(), "{path:?}");
            assert!(put(&path, "x").is_err(), "{path:?}");
        }
        check_output(&room.path().join("report.html")).unwrap();
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
