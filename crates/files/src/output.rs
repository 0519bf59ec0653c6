//! Documents that the user asked for by name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, fstatfs, openat, renameat, statat,
    unlinkat,
};

use crate::directory::{follow, start_of, walk};
use crate::{FileError, is_root, is_trusted, random_name};

/// As many symlinks as the kernel follows on one path.
const SYMLINKS_MAX: usize = 40;
/// `f_type` of procfs, whose links lead to open files and not to names.
const PROC_MAGIC: i64 = 0x9fa0;

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
    let failed = |step| move |error: io::Error| E::from(FileError::of(step, path)(error));
    match locate(path).map_err(failed("write"))? {
        Place::Stream(mut stream) => write(&mut stream),
        Place::Name { directory, name, before } => {
            let begin = || Ok::<_, io::Error>(format!(".fstrial-{}.unfinished", random_name()?));
            let unfinished = begin().map_err(failed("write"))?;
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::RUSR | Mode::WUSR;
            let file = openat(&directory, unfinished.as_str(), flags | OFlags::NOFOLLOW, mode)
                .map_err(|error| failed("write")(error.into()))?;
            let mut file = File::from(file);
            let finish = |file: &File| -> io::Result<()> {
                match before {
                    None => fchmod(file, Mode::from_raw_mode(0o666 & !mask()))?,
                    Some(before) if before.st_uid == fstat(file)?.st_uid => {
                        fchmod(file, Mode::from_raw_mode(before.st_mode & 0o777))?;
                    }
                    Some(_) => {}
                }
                file.sync_all()?;
                Ok(renameat(&directory, unfinished.as_str(), &directory, &name)?)
            };
            let written = write(&mut file).and_then(|()| finish(&file).map_err(failed("write")));
            if written.is_err() {
                let _ = unlinkat(&directory, unfinished.as_str(), AtFlags::empty());
            }
            written
        }
    }
}

/// The umask of this process, read without changing it for other threads; the strictest one if it
/// cannot be read.
fn mask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// Finds out whether [`write_output`] could write `path`, without changing anything there. To be
/// called before hours of work.
///
/// # Errors
/// As [`write_output`].
pub fn check_output(path: &Path) -> Result<(), FileError> {
    let check = || -> io::Result<()> {
        let Place::Name { directory, .. } = locate(path)? else { return Ok(()) };
        let trial = format!(".fstrial-{}.unfinished", random_name()?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(&directory, trial.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
        Ok(unlinkat(&directory, trial.as_str(), AtFlags::empty())?)
    };
    check().map_err(FileError::of("write", path))
}

fn locate(path: &Path) -> io::Result<Place> {
    let mut symlinks = SYMLINKS_MAX;
    let mut at = start_of(path)?;
    let mut path = path.to_owned();
    loop {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let parent = path.parent().unwrap_or(Path::new(""));
        let directory = walk(at, parent, &mut symlinks)?;
        let status = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => {
                return Ok(Place::Name { directory, name, before: None });
            }
            found => found?,
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => {
                return Ok(Place::Name { directory, name, before: Some(status) });
            }
            FileType::Symlink if fstatfs(&directory)?.f_type == PROC_MAGIC => {
                // /proc/self/fd/1: the open file itself, which may have no name.
                return stream(&directory, &name, OFlags::empty());
            }
            FileType::Symlink => {
                let target = follow(&directory, &name, &status, &mut symlinks)?;
                at = if target.is_absolute() { start_of(&target)? } else { directory };
                path = target;
            }
            FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
            FileType::BlockDevice => {
                return Err(io::Error::other("it is a disk; name a file for the output"));
            }
            _ if is_root() && !is_trusted(status.st_uid) => {
                return Err(io::Error::other(format!(
                    "it is a pipe or device of user {}; name a file of your own",
                    status.st_uid
                )));
            }
            _ => return stream(&directory, &name, OFlags::NOFOLLOW),
        }
    }
}

/// Opens a device or pipe for writing; refuses a disk that was put there meanwhile.
fn stream(directory: &OwnedFd, name: &OsStr, flags: OFlags) -> io::Result<Place> {
    let flags = flags | OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::BlockDevice => Err(io::Error::other("it is a disk; name a file for the output")),
        _ => Ok(Place::Stream(file)),
    }
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
