//! Unpacking, with the system calls of GNU tar 1.34 (traced): create exclusively, write up to
//! the end of each 10 KiB record, set the time, as root owner and mode, close. Times of
//! directories are set at the end. Where something has a member's name already, it is removed
//! after the call that finds it.

use std::fs::File;
use std::io::{BufRead, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::archive::{RECORD, unreadable};
use super::passes::allowed;
use crate::corpora::archive::{Kind, Member, Reader, Stream};
use crate::engine::file_io::write_all;
use crate::engine::path_buffer::PathBuffer;
use crate::engine::unsupported::is_unsupported;
use crate::{Op, OpError, Recorder};

/// Kinds of op.
pub(super) struct Kinds {
    pub(super) file: Op,
    pub(super) directory: Op,
    pub(super) link: Op,
}

/// A time of modification alone, as `utimensat` takes it.
fn modified((seconds, nanoseconds): (i64, u32)) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    }
}

/// Unpacks the file `archive` into `prefix`, a directory. Returns how many links were left out
/// since the filesystem does not support them.
pub(super) fn untar(
    target: BorrowedFd<'_>,
    archive: &Path,
    prefix: &str,
    recorder: &mut Recorder<'_>,
    kinds: &Kinds,
) -> Result<u64, OpError> {
    let fail = unreadable(archive);
    let as_root = rustix::process::geteuid().is_root();
    let opened = File::open(archive).map_err(&fail)?;
    let mut reader = Reader::new(InRecords::new(opened));
    let mut member = Member::default();
    let mut unpacking = Unpacking {
        target,
        archive,
        prefix,
        as_root,
        path: PathBuffer::new(),
        directories: Vec::new(),
        left_out: 0,
    };
    recorder.restart();
    while reader.next(&mut member).map_err(|error| fail(error.into()))? {
        unpacking.path.clear().text(prefix);
        if !member.path.is_empty() {
            unpacking.path.text("/").bytes(&member.path);
        }
        match member.kind {
            Kind::Directory => {
                unpacking.directory(&member)?;
                recorder.digest(1);
                recorder.done(kinds.directory);
            }
            Kind::Symlink | Kind::HardLink => {
                unpacking.link(&member)?;
                recorder.digest(2);
                recorder.done(kinds.link);
            }
            Kind::File => {
                let read = unpacking.file(&mut reader, &member)?;
                recorder.digest(member.size);
                recorder.read(read);
                recorder.wrote(read);
                recorder.done(kinds.file);
            }
        }
    }
    unpacking.finish_directories()?;
    Ok(unpacking.left_out)
}

/// An archive that is being unpacked.
struct Unpacking<'a> {
    target: BorrowedFd<'a>,
    archive: &'a Path,
    prefix: &'a str,
    as_root: bool,
    /// Where the member belongs.
    path: PathBuffer,
    /// The time and the mode that each directory gets at the end.
    directories: Vec<(PathBuffer, (i64, u32), u32)>,
    /// Links that the filesystem does not support.
    left_out: u64,
}

impl Unpacking<'_> {
    fn directory(&mut self, member: &Member) -> Result<(), OpError> {
        let (target, path) = (self.target, &self.path);
        let mode = member.mode & 0o777;
        let narrow = Mode::from_raw_mode(if self.as_root { 0o700 } else { mode | 0o700 });
        let make = || rustix::fs::mkdirat(target, path.c_str(), narrow);
        match with_parents(target, path, make) {
            Err(Errno::EXIST) if self.is_directory()? => {
                let known = self.directories.iter_mut();
                let known = known.rev().find(|(it, ..)| it.as_bytes() == path.as_bytes());
                if let Some((_, time, permissions)) = known {
                    (*time, *permissions) = (member.mtime, mode);
                    return Ok(());
                }
            }
            made => self.in_its_place(made, make).map_err(path.failed("mkdir"))?,
        }
        self.directories.push((path.clone(), member.mtime, mode));
        Ok(())
    }

    fn is_directory(&self) -> Result<bool, OpError> {
        let found = rustix::fs::statat(self.target, self.path.c_str(), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(self.path.failed("stat"))?;
        Ok(FileType::from_raw_mode(found.st_mode) == FileType::Directory)
    }

    /// Removes what has the member's name, if that is why it could not be made, and makes it again.
    fn in_its_place<T>(
        &self,
        made: Result<T, Errno>,
        make: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match made {
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())?;
                make()
            }
            made => made,
        }
    }

    fn link(&mut self, member: &Member) -> Result<(), OpError> {
        let (target, path) = (self.target, &self.path);
        let mut from = PathBuffer::new();
        let symbolic = member.kind == Kind::Symlink;
        if !symbolic {
            from.text(self.prefix).text("/");
        }
        from.bytes(&member.link);
        let make = || match symbolic {
            true => rustix::fs::symlinkat(from.c_str(), target, path.c_str()),
            false => {
                rustix::fs::linkat(target, from.c_str(), target, path.c_str(), AtFlags::empty())
            }
        };
        match with_parents(target, path, make) {
            // A file's own name is in its place.
            Err(Errno::EXIST) if !symbolic && from.as_bytes() == path.as_bytes() => {}
            Err(error) if is_unsupported(error) => self.left_out += 1,
            // To a link that was left out.
            Err(Errno::NOENT) if !symbolic && self.left_out > 0 => self.left_out += 1,
            made => self.in_its_place(made, make).map_err(path.failed("link"))?,
        }
        Ok(())
    }

    /// Makes a file; returns how much of it was written.
    fn file(&mut self, reader: &mut Reader<InRecords>, member: &Member) -> Result<u64, OpError> {
        let (target, path) = (self.target, &self.path);
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOCTTY
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let mode = member.mode & 0o777;
        // As root tar creates the file for itself and widens the mode when complete.
        let narrow = Mode::from_raw_mode(if self.as_root { 0o600 } else { mode });
        let make = || rustix::fs::openat(target, path.c_str(), flags, narrow);
        let made = with_parents(target, path, make);
        let file = self.in_its_place(made, make).map_err(path.failed("create"))?;
        let mut written = 0;
        for (offset, length) in pieces(member) {
            if member.sparse {
                rustix::fs::seek(&file, SeekFrom::Start(offset)).map_err(path.failed("seek"))?;
            }
            self.write(reader, &file, length)?;
            written += length;
        }
        if member.sparse {
            rustix::fs::ftruncate(&file, member.size).map_err(path.failed("truncate"))?;
        }
        let times = modified(member.mtime);
        rustix::fs::futimens(&file, &times).map_err(path.failed("set the time of"))?;
        if self.as_root {
            let (uid, gid) = member.owner;
            let (uid, gid) = (number(uid).map(Uid::from_raw), number(gid).map(Gid::from_raw));
            allowed(rustix::fs::fchown(&file, uid, gid)).map_err(path.failed("chown"))?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(path.failed("chmod"))?;
        }
        drop(file);
        Ok(written)
    }

    /// Writes the next contents of a member, up to the end of each record.
    fn write(
        &self,
        reader: &mut Reader<InRecords>,
        file: &OwnedFd,
        mut left: u64,
    ) -> Result<(), OpError> {
        let fail = unreadable(self.archive);
        while left > 0 {
            let piece = reader.piece().map_err(|error| fail(error.into()))?;
            let length = piece.len().min(usize::try_from(left).unwrap_or(piece.len()));
            write_all(file, &piece[..length]).map_err(self.path.failed("write"))?;
            reader.consume(length);
            left -= length as u64;
        }
        Ok(())
    }

    fn finish_directories(&self) -> Result<(), OpError> {
        for (path, mtime, mode) in self.directories.iter().rev() {
            let times = modified(*mtime);
            rustix::fs::utimensat(self.target, path.c_str(), &times, AtFlags::empty())
                .map_err(path.failed("set the time of"))?;
            if self.as_root {
                let mode = Mode::from_raw_mode(*mode);
                rustix::fs::chmodat(self.target, path.c_str(), mode, AtFlags::empty())
                    .map_err(path.failed("chmod"))?;
            }
        }
        Ok(())
    }
}

/// Where the contents of a member belong, as offset and length.
pub(super) fn pieces(member: &Member) -> impl Iterator<Item = (u64, u64)> {
    let whole = (!member.sparse).then_some((0, member.size));
    whole.into_iter().chain(member.pieces.iter().copied())
}

/// The number of a user or group, if it is one: the largest number means "as it is" to `chown`.
fn number(written: u64) -> Option<u32> {
    u32::try_from(written).ok().filter(|number| *number != u32::MAX)
}

/// Calls `make` and, where a directory on the way is missing since the archive does not name
/// it, makes the directories and calls it again.
fn with_parents<T>(
    target: BorrowedFd<'_>,
    path: &PathBuffer,
    mut make: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match make() {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let bytes = path.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        match rustix::fs::mkdirat(target, &bytes[..at], Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    make()
}

/// Reads a file one record a time, as GNU tar does.
pub(super) struct InRecords {
    file: File,
    record: Vec<u8>,
    at: usize,
}

impl InRecords {
    pub(super) fn new(file: File) -> InRecords {
        InRecords { file, record: Vec::new(), at: 0 }
    }
}

impl BufRead for InRecords {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.at == self.record.len() {
            self.record.resize(RECORD, 0);
            let got = crate::engine::file_io::read(self.file.as_fd(), &mut self.record)?;
            self.record.truncate(got);
            self.at = 0;
        }
        Ok(&self.record[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }
}

impl Read for InRecords {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let piece = self.fill_buf()?;
        let length = piece.len().min(buffer.len());
        buffer[..length].copy_from_slice(&piece[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl Stream for InRecords {}

#[cfg(test)]
mod tests;
