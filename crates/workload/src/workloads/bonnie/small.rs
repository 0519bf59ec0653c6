//! Bonnie's file tests: many small files created, statted, deleted.

mod links;
mod names;

#[cfg(test)]
mod create_and_look_tests;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use self::names::File;
use super::description::{Links, Manner};
use crate::engine::file_io::{list, read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::{Op, OpError, Recorder};

#[derive(Debug, Clone, Copy)]
pub(super) struct Small {
    pub(super) manner: Manner,
    pub(super) files: u32,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) directories: u32,
    pub(super) chunk: usize,
    pub(super) links: Links,
    pub(super) fsync: bool,
}

/// The directory of each of the two tests.
pub(super) const DIRECTORY: &str = "Bonnie";

impl Small {
    /// A directory of the test's own as seen from there; `.` where it has none.
    fn directory(&self, number: u32, path: &mut PathBuffer) {
        path.clear();
        if self.directories > 1 {
            path.number(u64::from(number), 5);
        } else {
            path.text(".");
        }
    }

    /// Files fill one directory after the other.
    fn path(&self, file: &File, path: &mut PathBuffer) {
        path.clear();
        if self.directories > 1 {
            let each = (self.files / self.directories).max(1);
            let number = (file.number / each).min(self.directories - 1);
            path.number(u64::from(number), 5).text("/");
        }
        path.bytes(file.name());
    }

    /// Makes the directories, before any clock, and opens the test's own: as the original,
    /// which changes into it, the phases name files from there.
    pub(super) fn make_directories(&self, target: BorrowedFd<'_>) -> Result<OwnedFd, OpError> {
        let mut path = PathBuffer::new();
        path.text(DIRECTORY);
        let mode = Mode::from_raw_mode(0o700);
        rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let own = rustix::fs::openat(target, path.c_str(), flags, Mode::empty())
            .map_err(path.failed("open"))?;
        for number in 0..if self.directories > 1 { self.directories } else { 0 } {
            self.directory(number, &mut path);
            rustix::fs::mkdirat(&own, path.c_str(), mode).map_err(path.failed("mkdir"))?;
        }
        Ok(own)
    }

    pub(super) fn create(
        &self,
        target: BorrowedFd<'_>,
        files: &[File],
        contents: &[u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let flags = flags
            | match self.manner {
                Manner::V103a => OFlags::TRUNC,
                Manner::V200a => OFlags::EXCL,
            };
        let mut path = PathBuffer::new();
        let mut first = PathBuffer::new();
        recorder.restart();
        for (at, file) in files.iter().enumerate() {
            self.path(file, &mut path);
            if at > 0 && self.links != Links::None {
                if self.links == Links::Hard {
                    let flags = AtFlags::empty();
                    rustix::fs::linkat(target, first.c_str(), target, path.c_str(), flags)
                        .map_err(path.failed("link"))?;
                } else {
                    rustix::fs::symlinkat(first.c_str(), target, path.c_str())
                        .map_err(path.failed("symlink"))?;
                }
            } else {
                let made =
                    rustix::fs::openat(target, path.c_str(), flags, Mode::from_raw_mode(0o600))
                        .map_err(path.failed("create"))?;
                let mut left = file.bytes as usize;
                while left > 0 {
                    let piece = &contents[..left.min(self.chunk)];
                    write_all(&made, piece).map_err(path.failed("write"))?;
                    left -= piece.len();
                }
                if self.fsync {
                    rustix::fs::fsync(&made).map_err(path.failed("fsync"))?;
                }
                recorder.wrote(u64::from(file.bytes));
                self.point_to(&path, &mut first, at);
            }
            self.sync_directory(target, file, &mut path)?;
            recorder.digest(u64::from(file.bytes) << 32 | u64::from(file.number));
            recorder.done(Op(0));
        }
        self.sync(target, recorder)
    }

    /// The target of links: for hard links the path of the first file, for symbolic links a path
    /// relative to the link.
    fn point_to(&self, path: &PathBuffer, first: &mut PathBuffer, at: usize) {
        if at > 0 {
            return;
        }
        first.clear();
        if self.links == Links::Symbolic && self.directories > 1 {
            first.text("../");
        }
        first.bytes(path.as_bytes());
    }

    /// With `-b` the directory follows each file that is made or deleted.
    fn sync_directory(
        &self,
        target: BorrowedFd<'_>,
        file: &File,
        path: &mut PathBuffer,
    ) -> Result<(), OpError> {
        if !self.fsync {
            return Ok(());
        }
        let each = (self.files / self.directories).max(1);
        self.directory((file.number / each).min(self.directories - 1), path);
        sync_path(target, path)
    }

    /// 2.00 ends creating and deleting with sync.
    fn sync(&self, target: BorrowedFd<'_>, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        if self.manner == Manner::V200a {
            rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", ".", error))?;
            recorder.part(Op(1));
        }
        Ok(())
    }

    /// Asks for attributes of each file and reads it if it has contents.
    fn look(
        &self,
        target: BorrowedFd<'_>,
        path: &PathBuffer,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, OpError> {
        let stat = rustix::fs::statat(target, path.c_str(), AtFlags::empty())
            .map_err(path.failed("stat"))?;
        let bytes = stat.st_size as u64;
        if bytes > 0 {
            let opened = rustix::fs::openat(
                target,
                path.c_str(),
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .map_err(path.failed("open"))?;
            let mut left = bytes;
            while left > 0 {
                let want = self.chunk.min(left as usize);
                let got = read(opened.as_fd(), &mut buffer[..want]).map_err(path.failed("read"))?;
                if got == 0 {
                    let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                    return Err(path.failed("read")(short));
                }
                left -= got as u64;
            }
            recorder.read(bytes);
        }
        recorder.done(Op(0));
        Ok(bytes)
    }

    /// Files in the order in which the filesystem lists them.
    pub(super) fn stat_listed(
        &self,
        target: BorrowedFd<'_>,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        let mut bytes = 0;
        recorder.restart();
        for number in 0..self.directories {
            let here = self.prefix(number, &mut path);
            self.each_listed(target, number, |name| {
                path.truncate(here);
                path.bytes(name.to_bytes());
                bytes += self.look(target, &path, buffer, recorder)?;
                Ok(())
            })?;
        }
        recorder.digest(bytes);
        Ok(())
    }

    pub(super) fn stat_in_order(
        &self,
        target: BorrowedFd<'_>,
        files: &[File],
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        recorder.restart();
        for file in files {
            self.path(file, &mut path);
            self.look(target, &path, buffer, recorder)?;
            recorder.digest(u64::from(file.number));
        }
        Ok(())
    }

    /// Writes the prefix that the names of a directory's files share; returns its length.
    fn prefix(&self, number: u32, path: &mut PathBuffer) -> usize {
        path.clear();
        if self.directories > 1 {
            path.number(u64::from(number), 5).text("/");
        }
        path.len()
    }

    /// A directory's entries while the listing goes on. The original does not read the listing to
    /// its end first, so the entries just listed are still in the processor's caches.
    fn each_listed(
        &self,
        target: BorrowedFd<'_>,
        number: u32,
        mut each: impl FnMut(&CStr) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let mut directory = PathBuffer::new();
        self.directory(number, &mut directory);
        let mut ended = Ok(());
        list(target, directory.c_str(), |name| {
            if ended.is_ok() {
                ended = each(name);
            }
        })
        .map_err(directory.failed("list"))?;
        ended
    }

    /// Deletes in the order of the listing, then the directories.
    pub(super) fn delete_listed(
        &self,
        root: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        recorder.restart();
        for number in 0..self.directories {
            let here = self.prefix(number, &mut path);
            self.each_listed(target, number, |name| {
                path.truncate(here);
                path.bytes(name.to_bytes());
                rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty())
                    .map_err(path.failed("unlink"))?;
                if self.fsync {
                    let mut directory = PathBuffer::new();
                    self.directory(number, &mut directory);
                    sync_path(target, &directory)?;
                }
                recorder.done(Op(0));
                Ok(())
            })?;
        }
        recorder.digest(u64::from(self.files));
        self.remove_directories(root, target)?;
        self.sync(root, recorder)
    }

    pub(super) fn delete_in_order(
        &self,
        root: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        files: &[File],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        recorder.restart();
        for file in files {
            self.path(file, &mut path);
            rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty())
                .map_err(path.failed("unlink"))?;
            self.sync_directory(target, file, &mut path)?;
            recorder.digest(u64::from(file.number));
            recorder.done(Op(0));
        }
        self.remove_directories(root, target)?;
        self.sync(root, recorder)
    }

    fn remove_directories(
        &self,
        target: BorrowedFd<'_>,
        own: BorrowedFd<'_>,
    ) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        let many = if self.directories > 1 { self.directories } else { 0 };
        for number in 0..many {
            self.directory(number, &mut path);
            remove_directory(own, &path)?;
        }
        path.clear().text(DIRECTORY);
        remove_directory(target, &path)
    }
}

fn remove_directory(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<(), OpError> {
    rustix::fs::unlinkat(target, path.c_str(), AtFlags::REMOVEDIR)
        .map_err(|error: Errno| path.failed("rmdir")(error))
}

/// Opens a directory and writes it to disk.
fn sync_path(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<(), OpError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(target, path.c_str(), flags, Mode::empty())
        .map_err(path.failed("open"))?;
    rustix::fs::fsync(opened).map_err(path.failed("fsync"))
}
