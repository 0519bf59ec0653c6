//! One thread of FFSB.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::files::{DIRECTORY, Files};
use super::profile::{Group, Kind};
use crate::engine::contents::{Filling, Marker};
use crate::engine::direct_io::Aligned;
use crate::engine::file_io::write_all;
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Op, OpError, Recorder, Seed};

/// What all threads have in common.
pub(super) struct Job<'a> {
    pub(super) target: BorrowedFd<'a>,
    pub(super) files: &'a Files,
    pub(super) direct: bool,
    pub(super) align: bool,
    pub(super) filling: Filling,
    pub(super) min: u64,
    pub(super) max: u64,
}

pub(super) struct Worker<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) group: &'a Group,
    pub(super) number: u64,
    pub(super) draw: Draw,
    pub(super) buffer: Aligned,
    marker: Marker,
    pub(super) path: PathBuffer,
    /// Calls for a block, and one for each delete and meta: the original's operations.
    pub(super) transactions: u64,
    metas: u64,
}

/// Places of direct and aligned I/O are multiples of this.
const ALIGNMENT: u64 = 4096;

/// An op that found no file of the kind it needs. It is not counted, but it takes time: otherwise
/// a run whose files are all gone would never end.
fn nothing(recorder: &mut Recorder<'_>) -> Result<(), OpError> {
    std::thread::yield_now();
    recorder.restart();
    Ok(())
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        job: &'a Job<'a>,
        group: &'a Group,
        number: u64,
        seed: Seed,
        name: &str,
    ) -> Worker<'a> {
        let mut draw = seed.stream(name);
        let mut buffer = Aligned::new(group.block, 1);
        job.filling.fill(&mut draw, &mut buffer);
        let marker = Marker::new(seed, &format!("{name} marks"), job.filling);
        let path = PathBuffer::new();
        Worker { job, group, number, draw, buffer, marker, path, transactions: 0, metas: 0 }
    }

    /// One op of a drawn kind.
    pub(super) fn perform(
        &mut self,
        recorder: &mut Recorder<'_>,
        digest: bool,
    ) -> Result<(), OpError> {
        let kind = self.group.kind(self.draw.below(self.group.sum()));
        let place = match kind {
            Kind::Read => self.read(false, recorder)?,
            Kind::ReadAll => self.read(true, recorder)?,
            Kind::Write => self.write(recorder)?,
            Kind::Append => self.append(recorder)?,
            Kind::Create => self.create(recorder)?,
            Kind::Delete => self.delete()?,
            Kind::Meta => Some(self.meta()?),
        };
        let Some(fact) = place else { return nothing(recorder) };
        if digest {
            recorder.digest(fact << 3 | kind as u64);
        }
        recorder.done(Op(kind as usize));
        Ok(())
    }

    /// Reads a file, the whole or some of it. As in what follows, the result is the file's place,
    /// unless there is no such file.
    fn read(&mut self, all: bool, recorder: &mut Recorder<'_>) -> Result<Option<u64>, OpError> {
        // Without any file there is nothing to read.
        let Some((place, size, guard)) = self.job.files.any_to_read(&mut self.draw) else {
            return Ok(None);
        };
        let opened = self.open(place, OFlags::RDONLY, self.job.direct)?;
        if all {
            self.blocks(&opened, 0, size, true, recorder)?;
        } else {
            self.somewhere(&opened, size, true, recorder)?;
        }
        drop((opened, guard));
        Ok(Some(place as u64))
    }

    fn write(&mut self, recorder: &mut Recorder<'_>) -> Result<Option<u64>, OpError> {
        let Some((place, size, guard)) = self.job.files.any_to_change(&mut self.draw) else {
            return Ok(None);
        };
        let opened = self.open(place, OFlags::RDWR, self.job.direct)?;
        self.somewhere(&opened, size, false, recorder)?;
        self.sync(&opened)?;
        drop((opened, guard));
        Ok(Some(place as u64))
    }

    fn append(&mut self, recorder: &mut Recorder<'_>) -> Result<Option<u64>, OpError> {
        let Some((place, size, mut guard)) = self.job.files.any_to_change(&mut self.draw) else {
            return Ok(None);
        };
        let opened = self.open(place, OFlags::RDWR, self.job.direct)?;
        let size = size.div_ceil(ALIGNMENT) * ALIGNMENT;
        self.blocks(&opened, size, self.group.size, false, recorder)?;
        self.sync(&opened)?;
        *guard = Some(size + self.group.size);
        drop(opened);
        Ok(Some(place as u64))
    }

    fn create(&mut self, recorder: &mut Recorder<'_>) -> Result<Option<u64>, OpError> {
        let Some((place, mut guard)) = self.job.files.any_empty(&mut self.draw) else {
            return Ok(None);
        };
        let size = self.job.min + self.draw.below(self.job.max - self.job.min + 1);
        // As in the original, a new file is written through the cache.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let opened = self.open(place, flags, false)?;
        self.blocks(&opened, 0, size, false, recorder)?;
        self.sync(&opened)?;
        *guard = Some(size);
        drop(opened);
        Ok(Some(place as u64))
    }

    fn delete(&mut self) -> Result<Option<u64>, OpError> {
        let files = self.job.files;
        let Some((place, _, mut guard)) = files.any_to_change(&mut self.draw) else {
            return Ok(None);
        };
        files.path(place, &mut self.path);
        rustix::fs::unlinkat(self.job.target, self.path.c_str(), AtFlags::empty())
            .map_err(self.path.failed("unlink"))?;
        *guard = None;
        self.transactions += 1;
        Ok(Some(place as u64))
    }

    fn open(&mut self, place: usize, flags: OFlags, direct: bool) -> Result<OwnedFd, OpError> {
        self.job.files.path(place, &mut self.path);
        let flags = flags | OFlags::CLOEXEC | if direct { OFlags::DIRECT } else { OFlags::empty() };
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::openat(self.job.target, self.path.c_str(), flags, mode)
            .map_err(self.path.failed("open"))
    }

    fn sync(&self, file: &OwnedFd) -> Result<(), OpError> {
        if self.group.fsync {
            rustix::fs::fsync(file).map_err(self.path.failed("fsync"))?;
        }
        Ok(())
    }

    /// A random start such that `length` fits, a multiple of 4 KiB where that is wanted.
    fn place(&mut self, size: u64, length: u64) -> u64 {
        let room = size.saturating_sub(length);
        if self.job.direct || self.job.align {
            self.draw.below(room / ALIGNMENT + 1) * ALIGNMENT
        } else {
            self.draw.below(room + 1)
        }
    }

    /// Reads or writes the profile's amount from a random start on.
    fn somewhere(
        &mut self,
        file: &OwnedFd,
        size: u64,
        read: bool,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let length = self.group.size.min(size);
        if !self.group.random {
            let start = self.place(size, length);
            return self.blocks(file, start, length, read, recorder);
        }
        let piece = (self.buffer.len() as u64).min(length);
        for _ in 0..length.div_ceil(piece.max(1)) {
            let at = self.place(size, piece);
            self.block(file, at, piece as usize, read, recorder)?;
        }
        Ok(())
    }

    /// Reads or writes `length` bytes block by block.
    fn blocks(
        &mut self,
        file: &OwnedFd,
        start: u64,
        length: u64,
        read: bool,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut done = 0;
        while done < length {
            let piece = (self.buffer.len() as u64).min(length - done) as usize;
            self.block(file, start + done, piece, read, recorder)?;
            done += piece as u64;
        }
        Ok(())
    }

    fn block(
        &mut self,
        file: &OwnedFd,
        at: u64,
        length: usize,
        read: bool,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let piece = &mut self.buffer[..length];
        let (did, op) = if read {
            (rustix::io::pread(file, piece, at).map_err(self.path.failed("read"))?, "read")
        } else {
            self.marker.mark(piece);
            (rustix::io::pwrite(file, piece, at).map_err(self.path.failed("write"))?, "write")
        };
        if did != length {
            let short = std::io::Error::other(format!("{did} bytes of {length} at {at}"));
            return Err(self.path.failed(op)(short));
        }
        if read {
            recorder.read(did as u64);
        } else {
            recorder.wrote(did as u64);
        }
        self.transactions += 1;
        Ok(())
    }

    /// Two mkdirs, a rmdir and a rename.
    fn meta(&mut self) -> Result<u64, OpError> {
        let target = self.job.target;
        let mode = Mode::from_raw_mode(0o755);
        let mut path = std::mem::replace(&mut self.path, PathBuffer::new());
        let (number, count) = (self.number, self.metas);
        self.metas += 1;
        let mut name = |kind: &str| {
            path.clear().text(DIRECTORY).text("/meta").number(number, 1).text(kind);
            path.number(count, 1).clone()
        };
        let (kept, gone, renamed) = (name("-a"), name("-b"), name("-c"));
        for made in [&kept, &gone] {
            rustix::fs::mkdirat(target, made.c_str(), mode).map_err(made.failed("mkdir"))?;
        }
        rustix::fs::unlinkat(target, gone.c_str(), AtFlags::REMOVEDIR)
            .map_err(gone.failed("rmdir"))?;
        rustix::fs::renameat(target, kept.c_str(), target, renamed.c_str())
            .map_err(kept.failed("rename"))?;
        self.path = path;
        self.transactions += 1;
        Ok(number)
    }

    /// Makes the file of a place, for the file set.
    pub(super) fn fill(
        &mut self,
        place: usize,
        size: u64,
        block: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let opened = self.open(place, flags, false)?;
        let mut left = size;
        while left > 0 {
            let length = block.len().min(usize::try_from(left).unwrap_or(block.len()));
            let piece = &mut block[..length];
            self.marker.mark(piece);
            write_all(opened.as_fd(), piece).map_err(self.path.failed("write"))?;
            left -= piece.len() as u64;
        }
        recorder.wrote(size);
        recorder.digest(size);
        recorder.done(Op(0));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
