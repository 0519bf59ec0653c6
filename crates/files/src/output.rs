//! Documents that the user asked for by name.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, renameat, unlinkat};

use crate::new_file::{check_writable, create_new, share, umask, unfinished_name};
use crate::walk::{Entry, Missing, Reached, Walk};
use crate::{Directory, FileError, is_root, is_trusted};

/// Where an output goes.
#[derive(Debug)]
enum Place {
    /// The name of a regular file, which may exist already.
    Name { directory: OwnedFd, name: OsString, before: Option<Stat> },
    /// An open device, pipe or descriptor, which is written to piece by piece.
    Stream { file: File, is_standard_output: bool },
}

/// Where a document will be written: found and opened before the work, held until its end.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    place: Place,
}

impl Output {
    /// Finds out whether `path` can be written, without changing anything there. A device, a FIFO,
    /// `/dev/stdout` or a process substitution stays open; a FIFO that nobody reads yet is waited
    /// for, after a call of `waits`.
    ///
    /// # Errors
    /// As [`write_output`].
    pub fn open(path: &Path, waits: impl FnOnce()) -> Result<Output, FileError> {
        let check = || -> io::Result<Output> {
            let place = place_of_output(Walk::to(path, Missing::Refuse)?, waits)?;
            if let Place::Name { directory, .. } = &place {
                check_writable(directory.as_fd())?;
            }
            Ok(Output { path: path.to_owned(), place })
        };
        check().map_err(FileError::of("write", path))
    }

    /// The path that was asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is this process's own standard output, under another name.
    pub fn is_standard_output(&self) -> bool {
        matches!(self.place, Place::Stream { is_standard_output: true, .. })
    }

    /// Writes the document, once.
    ///
    /// # Errors
    /// As [`write_output`].
    pub fn write<E: From<FileError>>(
        &self,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        write_into(&self.place, &self.path, write)
    }
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
    let place = Walk::to(path, Missing::Refuse).and_then(|it| place_of_output(it, || ()));
    write_into(&place.map_err(FileError::of("write", path))?, path, write)
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
        let place = place.and_then(|it| place_of_output(it, || ()));
        write_into(&place.map_err(FileError::of("write", &path))?, &path, write)
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
    place: &Place,
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error: io::Error| E::from(FileError::of("write", path)(error));
    let (directory, name, before) = match place {
        Place::Stream { file, .. } => return write(&mut file.try_clone().map_err(failed)?),
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
        Ok(renameat(directory, unfinished.as_str(), directory, name)?)
    };
    let written = write(&mut file).and_then(|()| finish(&file).map_err(failed));
    if written.is_err() {
        let _ = unlinkat(directory, unfinished.as_str(), AtFlags::empty());
    }
    written
}

/// What is written to where a path led.
fn place_of_output(reached: Reached, waits: impl FnOnce()) -> io::Result<Place> {
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
        _ if entry.is_open_file => match standard(&entry)? {
            Some(own) => Ok(own),
            None => stream(&entry, waits),
        },
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
            None => stream(&entry, waits),
        },
    }
}

/// This process's standard output or standard error, where a link of procfs leads there. Opened
/// again, a regular file would be written from its beginning, over what it already has.
fn standard(entry: &Entry) -> io::Result<Option<Place>> {
    let (own, is_standard_output) = match entry.name.to_str() {
        Some("1") => (io::stdout().as_fd().try_clone_to_owned()?, true),
        Some("2") => (io::stderr().as_fd().try_clone_to_owned()?, false),
        _ => return Ok(None),
    };
    let (meant, found) = (&entry.status, fstat(&own)?);
    let is_own = (found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino);
    Ok(is_own.then(|| Place::Stream { file: File::from(own), is_standard_output }))
}

/// Opens the held device or pipe itself for writing; a regular file that a descriptor leads to, at
/// its end.
fn stream(entry: &Entry, waits: impl FnOnce()) -> io::Result<Place> {
    let link = format!("/proc/self/fd/{}", entry.held.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match openat(CWD, &link, flags | OFlags::NONBLOCK, Mode::empty()) {
        // A FIFO that nobody reads yet.
        Err(rustix::io::Errno::NXIO) => {
            waits();
            openat(CWD, &link, flags, Mode::empty())?
        }
        opened => opened?,
    };
    rustix::io::ioctl_fionbio(&opened, false)?;
    Ok(Place::Stream { file: File::from(opened), is_standard_output: false })
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
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4640)).unwrap();
        let inode = path.metadata().unwrap().ino();
        put(&path, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640, "it lends no rights");
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
    fn a_fifo_is_opened_once_and_its_reader_sees_the_document_to_its_end() {
        let room = tempfile::tempdir().unwrap();
        let fifo = room.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let (asked, begin) = std::sync::mpsc::channel();
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || {
                begin.recv().unwrap();
                std::fs::read_to_string(fifo).unwrap()
            })
        };
        // Nobody reads it before it is waited for, and only one reader ever comes.
        let output = Output::open(&fifo, || asked.send(()).unwrap()).unwrap();
        let written: Result<(), FileError> =
            output.write(|file| file.write_all(b"whole").map_err(FileError::of("write", &fifo)));
        written.unwrap();
        drop(output);
        assert_eq!(reader.join().unwrap(), "whole");
    }

    #[test]
    fn a_descriptor_of_a_file_is_written_at_its_end() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("log");
        std::fs::write(&path, "before ").unwrap();
        let open = File::options().append(true).open(&path).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&open);
        put(Path::new(&format!("/dev/fd/{number}")), "after").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before after");
    }

    #[test]
    fn a_device_stays_a_device() {
        put(Path::new("/dev/null"), "gone").unwrap();
        Output::open(Path::new("/dev/null"), || ()).unwrap();
        let metadata = Path::new("/dev/null").symlink_metadata().unwrap();
        assert!(metadata.file_type().is_char_device());
        assert_eq!(put(Path::new("/dev/full"), "x").unwrap_err().step, "write");
    }

    #[test]
    fn directories_and_missing_directories_are_refused_beforehand() {
        let room = tempfile::tempdir().unwrap();
        for path in [room.path().to_owned(), room.path().join("none/report.html")] {
            assert!(Output::open(&path, || ()).is_err(), "{path:?}");
            assert!(put(&path, "x").is_err(), "{path:?}");
        }
        Output::open(&room.path().join("report.html"), || ()).unwrap();
        assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
