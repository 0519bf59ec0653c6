//! Unpacking, with the system calls of GNU tar 1.34 (traced): create exclusively, write up to
//! the end of each 10 KiB record, set the time, as root owner and mode, close. Times of
//! directories are set at the end.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::archive::{RECORD, unreadable};
use super::passes::allowed;
use crate::corpora::source_tree::is_remark;
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
pub(super) fn modified(seconds: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: 0 },
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
    let mut tar = tar::Archive::new(InRecords::new(opened));
    let mut unpacking = Unpacking {
        target,
        archive,
        prefix,
        as_root,
        buffer: vec![1; RECORD],
        path: PathBuffer::new(),
        directories: Vec::new(),
        left_out: 0,
    };
    recorder.restart();
    for entry in tar.entries().map_err(&fail)? {
        let mut entry = entry.map_err(&fail)?;
        let kind = entry.header().entry_type();
        if is_remark(kind) {
            continue;
        }
        let name = entry.path_bytes();
        let name = name.strip_suffix(b"/").unwrap_or(&name);
        unpacking.path.clear().text(prefix).text("/").bytes(name);
        let mode = entry.header().mode().map_err(&fail)? & 0o777;
        let mtime = entry.header().mtime().map_err(&fail)? as i64;
        match kind {
            tar::EntryType::Directory => {
                unpacking.directory(mode, mtime)?;
                recorder.digest(1);
                recorder.done(kinds.directory);
            }
            tar::EntryType::Symlink | tar::EntryType::Link => {
                unpacking.link(&entry, kind)?;
                recorder.digest(2);
                recorder.done(kinds.link);
            }
            _ => {
                let size = unpacking.file(&mut entry, mode, mtime)?;
                recorder.digest(size);
                recorder.read(size);
                recorder.wrote(size);
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
    buffer: Vec<u8>,
    /// Where the entry belongs.
    path: PathBuffer,
    /// The time and the mode that each directory gets at the end.
    directories: Vec<(PathBuffer, i64, u32)>,
    /// Links that the filesystem does not support.
    left_out: u64,
}

impl Unpacking<'_> {
    fn directory(&mut self, mode: u32, mtime: i64) -> Result<(), OpError> {
        let (target, path) = (self.target, &self.path);
        let narrow = Mode::from_raw_mode(if self.as_root { 0o700 } else { mode | 0o700 });
        with_parents(target, path, || match rustix::fs::mkdirat(target, path.c_str(), narrow) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        })
        .map_err(path.failed("mkdir"))?;
        self.directories.push((path.clone(), mtime, mode));
        Ok(())
    }

    fn link(
        &mut self,
        entry: &tar::Entry<'_, InRecords>,
        kind: tar::EntryType,
    ) -> Result<(), OpError> {
        let (target, path) = (self.target, &self.path);
        let to = entry.link_name_bytes().unwrap_or_default();
        let mut from = PathBuffer::new();
        let made = if kind == tar::EntryType::Symlink {
            from.bytes(&to);
            with_parents(target, path, || rustix::fs::symlinkat(from.c_str(), target, path.c_str()))
        } else {
            from.text(self.prefix).text("/").bytes(&to);
            with_parents(target, path, || {
                let flags = AtFlags::empty();
                rustix::fs::linkat(target, from.c_str(), target, path.c_str(), flags)
            })
        };
        match made {
            Err(error) if is_unsupported(error) => self.left_out += 1,
            made => made.map_err(path.failed("link"))?,
        }
        Ok(())
    }

    /// Makes a file; returns its size.
    fn file(
        &mut self,
        entry: &mut tar::Entry<'_, InRecords>,
        mode: u32,
        mtime: i64,
    ) -> Result<u64, OpError> {
        let fail = unreadable(self.archive);
        let (target, path) = (self.target, &self.path);
        let size = entry.size();
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOCTTY
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        // As root tar creates the file for itself and widens the mode when complete.
        let narrow = Mode::from_raw_mode(if self.as_root { 0o600 } else { mode });
        let file =
            with_parents(target, path, || rustix::fs::openat(target, path.c_str(), flags, narrow))
                .map_err(path.failed("create"))?;
        let mut chunk = RECORD - entry.raw_file_position() as usize % RECORD;
        let mut left = size;
        while left > 0 {
            let want = chunk.min(usize::try_from(left).unwrap_or(chunk));
            entry.read_exact(&mut self.buffer[..want]).map_err(&fail)?;
            write_all(&file, &self.buffer[..want]).map_err(path.failed("write"))?;
            left -= want as u64;
            chunk = RECORD;
        }
        rustix::fs::futimens(&file, &modified(mtime)).map_err(path.failed("set the time of"))?;
        if self.as_root {
            let ids = (entry.header().uid(), entry.header().gid());
            let uid = number(ids.0.map_err(&fail)?).map(Uid::from_raw);
            let gid = number(ids.1.map_err(&fail)?).map(Gid::from_raw);
            allowed(rustix::fs::fchown(&file, uid, gid)).map_err(path.failed("chown"))?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(path.failed("chmod"))?;
        }
        drop(file);
        Ok(size)
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

impl Read for InRecords {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.record.len() {
            self.record.resize(RECORD, 0);
            let got = crate::engine::file_io::read(self.file.as_fd(), &mut self.record)?;
            self.record.truncate(got);
            self.at = 0;
        }
        let took = buffer.len().min(self.record.len() - self.at);
        buffer[..took].copy_from_slice(&self.record[self.at..self.at + took]);
        self.at += took;
        Ok(took)
    }
}

#[cfg(test)]
mod tests;
