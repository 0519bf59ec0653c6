//! Reading the tree: copying in the manner of `cpio -pdm`, packing, and stat of everything.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::archive::{Archive, Facts, RECORD};
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::unsupported::is_unsupported;
use crate::engine::walk::{Step, Walker};
use crate::{Op, OpError, Recorder};

/// cpio's piece of a file.
const CPIO_BLOCK: usize = 512;

/// What a pass over the tree adds up: independent of the order in which the filesystem lists
/// its directories.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) entries: u64,
    sum: u64,
    /// Links left out since this filesystem does not support them.
    pub(super) left_out: u64,
}

impl Seen {
    fn count(&mut self, path: &[u8], bytes: u64) {
        self.entries += 1;
        self.sum = self.sum.wrapping_add(super::fnv(path) ^ bytes.wrapping_mul(0x9e37_79b9));
    }

    /// Takes how the making of a link ended. One that is not supported is counted, no failure.
    fn take_link(&mut self, made: Result<(), Errno>) -> Result<(), Errno> {
        self.left_out += u64::from(left_out(made)?);
        Ok(())
    }

    fn into_digest(self, recorder: &mut Recorder<'_>) -> Seen {
        recorder.digest(self.sum);
        self
    }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn is_hard_linked(stat: &Stat) -> bool {
    stat.st_nlink > 1 && is_regular(stat)
}

/// How much cpio reads next of a file of `size` bytes: no more than lstat reported.
fn cpio_piece(size: u64, done: u64) -> usize {
    CPIO_BLOCK.min((size - done) as usize)
}

/// Places already seen of files with several names.
type Places = HashMap<(u64, u64), PathBuffer>;

/// Copies `from` to `to`, which must not exist, with the calls of GNU cpio 2.13 (traced).
pub(super) fn copy(
    target: BorrowedFd<'_>,
    from: &str,
    to: &str,
    recorder: &mut Recorder<'_>,
    (file_op, other_op): (Op, Op),
) -> Result<Seen, OpError> {
    let mut copying = Copying {
        target,
        as_root: rustix::process::geteuid().is_root(),
        seen: Seen::default(),
        places: Places::new(),
        buffer: [1; CPIO_BLOCK],
        copied: PathBuffer::new(),
    };
    let mut start = PathBuffer::new();
    start.text(from);
    recorder.restart();
    Walker::new().walk(target, &mut start, &mut |step, path| {
        if step == Step::Left {
            return Ok(());
        }
        copying.copied.clear().text(to).bytes(&path.as_bytes()[from.len()..]);
        let stat = lstat(target, path)?;
        let bytes = copying.entry(path, &stat)?;
        recorder.read(bytes);
        recorder.wrote(bytes);
        copying.seen.count(path.as_bytes(), bytes);
        recorder.done(if is_regular(&stat) { file_op } else { other_op });
        Ok(())
    })?;
    Ok(copying.seen.into_digest(recorder))
}

/// A copy that is being made.
struct Copying<'a> {
    target: BorrowedFd<'a>,
    as_root: bool,
    seen: Seen,
    places: Places,
    buffer: [u8; CPIO_BLOCK],
    /// Where the entry is copied to.
    copied: PathBuffer,
}

impl Copying<'_> {
    /// Copies what is at `path`, where nothing is yet; returns the bytes of its contents.
    fn entry(&mut self, path: &PathBuffer, stat: &Stat) -> Result<u64, OpError> {
        match rustix::fs::statat(self.target, self.copied.c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Err(error) => return Err(self.copied.failed("stat")(error)),
            Ok(_) => return Err(self.copied.failed("copy to")(Errno::EXIST)),
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.directory(stat).map(|()| 0),
            FileType::Symlink => {
                let link = readlink(self.target, path)?;
                let made = rustix::fs::symlinkat(link.c_str(), self.target, self.copied.c_str());
                self.seen.take_link(made).map_err(self.copied.failed("symlink"))?;
                Ok(0)
            }
            _ => self.file(path, stat),
        }
    }

    fn directory(&self, stat: &Stat) -> Result<(), OpError> {
        let (target, copied) = (self.target, &self.copied);
        let kept = Kept::of(stat);
        rustix::fs::mkdirat(target, copied.c_str(), kept.mode).map_err(copied.failed("mkdir"))?;
        if self.as_root {
            let (uid, gid) = kept.owner;
            let flags = AtFlags::empty();
            allowed(rustix::fs::chownat(target, copied.c_str(), uid, gid, flags))
                .map_err(copied.failed("chown"))?;
        }
        rustix::fs::chmodat(target, copied.c_str(), kept.mode, AtFlags::empty())
            .map_err(copied.failed("chmod"))?;
        rustix::fs::utimensat(target, copied.c_str(), &kept.times, AtFlags::empty())
            .map_err(copied.failed("set the time of"))
    }

    /// Copies a file, or links it to the copy that it has under another name.
    fn file(&mut self, path: &PathBuffer, stat: &Stat) -> Result<u64, OpError> {
        let place = (stat.st_dev, stat.st_ino);
        let first = if is_hard_linked(stat) { self.places.get(&place) } else { None };
        if let Some(first) = first {
            let made = rustix::fs::linkat(
                self.target,
                first.c_str(),
                self.target,
                self.copied.c_str(),
                AtFlags::empty(),
            );
            self.seen.take_link(made).map_err(self.copied.failed("link"))?;
            return Ok(0);
        }
        let bytes = self.contents(path, stat)?;
        if is_hard_linked(stat) {
            self.places.insert(place, self.copied.clone());
        }
        Ok(bytes)
    }

    fn contents(&mut self, path: &PathBuffer, stat: &Stat) -> Result<u64, OpError> {
        let copied = &self.copied;
        let kept = Kept::of(stat);
        let source = open_to_read(self.target, path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let narrow = Mode::from_raw_mode(0o600);
        let made = rustix::fs::openat(self.target, copied.c_str(), flags, narrow)
            .map_err(copied.failed("create"))?;
        let mut bytes = 0;
        // cpio trusts the size that lstat reported and does not look for the end.
        while bytes < stat.st_size as u64 {
            let want = cpio_piece(stat.st_size as u64, bytes);
            let got = read(&source, &mut self.buffer[..want]).map_err(path.failed("read"))?;
            if got == 0 {
                return Err(ended_early(path));
            }
            write_all(&made, &self.buffer[..got]).map_err(copied.failed("write"))?;
            bytes += got as u64;
        }
        if self.as_root {
            let (uid, gid) = kept.owner;
            allowed(rustix::fs::fchown(&made, uid, gid)).map_err(copied.failed("chown"))?;
        }
        rustix::fs::fchmod(&made, kept.mode).map_err(copied.failed("chmod"))?;
        rustix::fs::futimens(&made, &kept.times).map_err(copied.failed("set the time of"))?;
        Ok(bytes)
    }
}

/// What cpio gives a copy of its original.
struct Kept {
    times: Timestamps,
    owner: (Option<Uid>, Option<Gid>),
    mode: Mode,
}

impl Kept {
    fn of(stat: &Stat) -> Kept {
        Kept {
            times: Timestamps {
                last_access: Timespec { tv_sec: stat.st_atime, tv_nsec: 0 },
                last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec: 0 },
            },
            owner: (Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid))),
            mode: Mode::from_raw_mode(stat.st_mode & 0o7777),
        }
    }
}

/// Packs `from` into a new tar file, with the calls of GNU tar 1.34 on each file.
pub(super) fn pack(
    target: BorrowedFd<'_>,
    from: &str,
    archive: &str,
    recorder: &mut Recorder<'_>,
    (file_op, other_op): (Op, Op),
) -> Result<Seen, OpError> {
    let mut seen = Seen::default();
    let places = Places::new();
    let buffer = vec![1u8; RECORD];
    let name = PathBuffer::new();
    let mut start = PathBuffer::new();
    start.text(from);
    recorder.restart();
    let made = Archive::create(target, archive)?;
    let mut packing = Packing { target, places, buffer, name, made };
    Walker::new().walk(target, &mut start, &mut |step, path| {
        if step == Step::Left {
            return Ok(());
        }
        let stat = lstat(target, path)?;
        packing.name.clear().bytes(path.as_bytes().get(from.len() + 1..).unwrap_or(b"."));
        let bytes = packing.entry(path, &stat)?;
        recorder.read(bytes);
        seen.count(path.as_bytes(), bytes);
        recorder.done(if is_regular(&stat) { file_op } else { other_op });
        Ok(())
    })?;
    recorder.wrote(packing.made.finish()?);
    Ok(seen.into_digest(recorder))
}

/// A tar file that is being made.
struct Packing<'a> {
    target: BorrowedFd<'a>,
    places: Places,
    buffer: Vec<u8>,
    /// The entry's name in the tar file.
    name: PathBuffer,
    made: Archive,
}

impl Packing<'_> {
    /// Packs what is at `path`; returns the bytes of its contents.
    fn entry(&mut self, path: &PathBuffer, stat: &Stat) -> Result<u64, OpError> {
        let mut facts = Facts {
            kind: tar::EntryType::Regular,
            bytes: 0,
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
            mtime: stat.st_mtime,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                facts.kind = tar::EntryType::Directory;
                self.name.text("/");
                self.made.entry(self.name.as_bytes(), b"", facts)?;
            }
            FileType::Symlink => {
                facts.kind = tar::EntryType::Symlink;
                let link = readlink(self.target, path)?;
                self.made.entry(self.name.as_bytes(), link.as_bytes(), facts)?;
            }
            _ => {
                let place = (stat.st_dev, stat.st_ino);
                if let Some(first) = self.places.get(&place) {
                    facts.kind = tar::EntryType::Link;
                    self.made.entry(self.name.as_bytes(), first.as_bytes(), facts)?;
                } else {
                    facts.bytes = stat.st_size as u64;
                    self.contents(path, facts)?;
                    if is_hard_linked(stat) {
                        self.places.insert(place, self.name.clone());
                    }
                }
            }
        }
        Ok(facts.bytes)
    }

    fn contents(&mut self, path: &PathBuffer, facts: Facts) -> Result<(), OpError> {
        let source = open_to_read(self.target, path)?;
        rustix::fs::fstat(&source).map_err(path.failed("stat"))?;
        self.made.entry(self.name.as_bytes(), b"", facts)?;
        let mut left = facts.bytes;
        while left > 0 {
            let want = self.made.room().min(usize::try_from(left).unwrap_or(RECORD));
            let got = read(&source, &mut self.buffer[..want]).map_err(path.failed("read"))?;
            if got == 0 {
                return Err(ended_early(path));
            }
            self.made.add(&self.buffer[..got])?;
            left -= got as u64;
        }
        self.made.pad()?;
        rustix::fs::fstat(&source).map_err(path.failed("stat"))?;
        Ok(())
    }
}

/// lstat of everything below `from`.
pub(super) fn find(
    target: BorrowedFd<'_>,
    from: &str,
    recorder: &mut Recorder<'_>,
    op: Op,
) -> Result<Seen, OpError> {
    let mut seen = Seen::default();
    let mut start = PathBuffer::new();
    start.text(from);
    recorder.restart();
    Walker::new().walk(target, &mut start, &mut |step, path| {
        if step == Step::Left {
            return Ok(());
        }
        let stat = lstat(target, path)?;
        // The size of a directory depends on the filesystem.
        seen.count(path.as_bytes(), if is_regular(&stat) { stat.st_size as u64 } else { 0 });
        recorder.done(op);
        Ok(())
    })?;
    Ok(seen.into_digest(recorder))
}

fn lstat(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<Stat, OpError> {
    rustix::fs::statat(target, path.c_str(), AtFlags::SYMLINK_NOFOLLOW).map_err(path.failed("stat"))
}

fn readlink(target: BorrowedFd<'_>, path: &PathBuffer) -> Result<PathBuffer, OpError> {
    let read = rustix::fs::readlinkat(target, path.c_str(), Vec::new())
        .map_err(path.failed("read the link"))?;
    let mut link = PathBuffer::new();
    link.bytes(read.to_bytes());
    Ok(link)
}

pub(super) fn open_to_read(
    target: BorrowedFd<'_>,
    path: &PathBuffer,
) -> Result<rustix::fd::OwnedFd, OpError> {
    rustix::fs::openat(target, path.c_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(path.failed("open"))
}

fn ended_early(path: &PathBuffer) -> OpError {
    path.failed("read")(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
}

/// A filesystem without owners is no reason to stop: cpio and tar complain and go on.
pub(super) fn allowed(done: Result<(), Errno>) -> Result<(), Errno> {
    left_out(done).map(|_| ())
}

fn left_out(done: Result<(), Errno>) -> Result<bool, Errno> {
    match done {
        Err(error) if is_unsupported(error) => Ok(true),
        other => other.map(|()| false),
    }
}

#[cfg(test)]
mod tests;
