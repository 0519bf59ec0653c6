//! One thread's files, and the ops on them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::DIRECTORY;
use super::script::{Kind, Pick, Step};
use crate::engine::contents::{Filling, Marker};
use crate::engine::file_io::{list, read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::{ThreadGroup, think};
use crate::engine::unsupported::is_unsupported;
use crate::{Draw, Failure, Op, OpError, Recorder, Seed};

/// The files of one share; they stay from phase to phase.
pub(super) struct Share {
    pub(super) number: u64,
    draw: Draw,
    marker: Marker,
    /// Names: directory, running number, place in `sizes`.
    files: Vec<(u64, u64, usize)>,
    /// Sizes of files, however many names each has.
    sizes: Vec<u64>,
    directories: u64,
    named: u64,
    /// The next file for [`Pick::Next`].
    turn: usize,
}

/// Ops that were not done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeftOut {
    pub(super) no_file: u64,
    pub(super) no_links: u64,
}

/// A step with what was drawn for it.
#[derive(Clone, Copy)]
struct Drawn<'a> {
    step: &'a Step,
    size: Option<u64>,
    /// The file's place in [`Share::files`], for steps that need one.
    place: usize,
}

/// A thread in one phase.
pub(super) struct Worker {
    pub(super) shares: Vec<Share>,
    buffer: Vec<u8>,
    path: PathBuffer,
    left_out: LeftOut,
}

impl Worker {
    pub(super) fn new(seed: Seed, filling: Filling, block: usize) -> Worker {
        let mut buffer = vec![1; block];
        filling.fill(&mut seed.stream("custom contents"), &mut buffer);
        let left_out = LeftOut::default();
        Worker { shares: Vec::new(), buffer, path: PathBuffer::new(), left_out }
    }

    /// Goes through the list `repeat` times for each share.
    pub(super) fn work(
        &mut self,
        target: BorrowedFd<'_>,
        steps: &[Step],
        repeat: u64,
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<LeftOut, OpError> {
        let Worker { shares, buffer, path, left_out } = self;
        let count = shares.len().max(1) as u64;
        for round in 0..repeat {
            let share = &mut shares[(round % count) as usize];
            for step in steps {
                for _ in 0..step.count {
                    if group.is_stopped() {
                        return Ok(*left_out);
                    }
                    recorder.restart();
                    share.perform(target, step, buffer, path, left_out, recorder)?;
                }
            }
        }
        Ok(*left_out)
    }
}

impl Share {
    pub(super) fn new(number: u64, seed: Seed, filling: Filling) -> Share {
        Share {
            number,
            draw: seed.stream(&format!("custom hand {number}")),
            marker: Marker::new(seed, &format!("custom marks {number}"), filling),
            files: Vec::new(),
            sizes: Vec::new(),
            directories: 0,
            named: 0,
            turn: 0,
        }
    }

    /// Makes the first directory.
    pub(super) fn begin(&mut self, target: BorrowedFd<'_>) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        path.text(DIRECTORY).text("/h").number(self.number, 1);
        let mode = Mode::from_raw_mode(0o755);
        rustix::fs::mkdirat(target, path.c_str(), mode).map_err(path.failed("mkdir"))?;
        self.mkdir(target, &mut path)
    }

    fn mkdir(&mut self, target: BorrowedFd<'_>, path: &mut PathBuffer) -> Result<(), OpError> {
        self.directory(self.directories, path);
        rustix::fs::mkdirat(target, path.c_str(), Mode::from_raw_mode(0o755))
            .map_err(path.failed("mkdir"))?;
        self.directories += 1;
        Ok(())
    }

    fn directory(&self, directory: u64, path: &mut PathBuffer) {
        path.clear().text(DIRECTORY).text("/h").number(self.number, 1);
        path.text("/d").number(directory, 1);
    }

    fn path(&self, directory: u64, number: u64, path: &mut PathBuffer) {
        self.directory(directory, path);
        path.text("/f").number(number, 1);
    }

    /// A new name in a random directory.
    fn new_name(&mut self, path: &mut PathBuffer) -> (u64, u64) {
        let directory = self.draw.below(self.directories);
        let number = self.named;
        self.named += 1;
        self.path(directory, number, path);
        (directory, number)
    }

    fn pick(&mut self, pick: Pick) -> Option<usize> {
        let count = self.files.len();
        match pick {
            _ if count == 0 => None,
            Pick::Random => Some(self.draw.below(count as u64) as usize),
            Pick::Last => Some(count - 1),
            Pick::Next => {
                self.turn = (self.turn + 1) % count;
                Some(self.turn)
            }
        }
    }

    fn perform(
        &mut self,
        target: BorrowedFd<'_>,
        step: &Step,
        buffer: &mut [u8],
        path: &mut PathBuffer,
        left_out: &mut LeftOut,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let op = Op(step.kind as usize);
        let size = step.size.map(|size| size.draw(&mut self.draw));
        let needs_file =
            !matches!(step.kind, Kind::Mkdir | Kind::Create | Kind::List | Kind::Think);
        let picked = if needs_file { self.pick(step.pick) } else { None };
        let fact = picked.map_or(0, |place| self.files[place].1);
        recorder.digest(fact << 4 ^ size.unwrap_or(0) << 8 ^ step.kind as u64);
        if needs_file && picked.is_none() {
            left_out.no_file += 1;
            return Ok(());
        }
        let drawn = Drawn { step, size, place: picked.unwrap_or(0) };
        if let Some((directory, number, _)) = self.files.get(drawn.place).filter(|_| needs_file) {
            self.path(*directory, *number, path);
        }
        let block = &mut buffer[..step.block.0];
        match step.kind {
            Kind::Mkdir => self.mkdir(target, path)?,
            Kind::Create => self.create(target, drawn, block, path, recorder)?,
            Kind::Write => self.overwrite(target, drawn, block, path, recorder)?,
            Kind::Append => self.append(target, drawn, block, path, recorder)?,
            Kind::Truncate => self.truncate(target, drawn, block, path, recorder)?,
            Kind::Read => read_file(target, drawn, block, path, recorder)?,
            Kind::Stat => {
                rustix::fs::statat(target, path.c_str(), AtFlags::empty())
                    .map_err(path.failed("stat"))?;
            }
            Kind::List => {
                let directory = self.draw.below(self.directories);
                self.directory(directory, path);
                list(target, path.c_str(), |_| ()).map_err(path.failed("list"))?;
            }
            Kind::Fsync => {
                let file = open(target, path, OFlags::RDONLY)?;
                rustix::fs::fsync(&file).map_err(path.failed("fsync"))?;
            }
            Kind::Unlink => {
                rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty())
                    .map_err(path.failed("unlink"))?;
                self.files.swap_remove(drawn.place);
            }
            Kind::Rename => self.rename(target, drawn, path)?,
            Kind::Link | Kind::Symlink => {
                if !self.link(target, drawn, path)? {
                    left_out.no_links += 1;
                    return Ok(());
                }
            }
            Kind::Think => think(step.time.map_or(Duration::ZERO, |time| time.0.into())),
        }
        recorder.done(op);
        Ok(())
    }

    fn create(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        block: &mut [u8],
        path: &mut PathBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let (directory, number) = self.new_name(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = open(target, path, flags)?;
        let size = drawn.size.unwrap_or(0);
        self.write(&file, size, drawn.step.fsync, block, path, recorder)?;
        self.files.push((directory, number, self.sizes.len()));
        self.sizes.push(size);
        Ok(())
    }

    fn overwrite(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        block: &mut [u8],
        path: &PathBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let file = open(target, path, OFlags::WRONLY)?;
        let (bytes, place) = (drawn.size.unwrap_or(0), self.files[drawn.place].2);
        let start = self.draw.below(self.sizes[place].saturating_sub(bytes) + 1);
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(start)).map_err(path.failed("seek"))?;
        self.write(&file, bytes, drawn.step.fsync, block, path, recorder)?;
        self.sizes[place] = self.sizes[place].max(start + bytes);
        Ok(())
    }

    fn append(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        block: &mut [u8],
        path: &PathBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let file = open(target, path, OFlags::WRONLY | OFlags::APPEND)?;
        let bytes = drawn.size.unwrap_or(0);
        self.write(&file, bytes, drawn.step.fsync, block, path, recorder)?;
        self.sizes[self.files[drawn.place].2] += bytes;
        Ok(())
    }

    fn truncate(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        block: &mut [u8],
        path: &PathBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let file = open(target, path, OFlags::WRONLY)?;
        let bytes = drawn.size.unwrap_or(0);
        rustix::fs::ftruncate(&file, bytes).map_err(path.failed("truncate"))?;
        self.write(&file, 0, drawn.step.fsync, block, path, recorder)?;
        self.sizes[self.files[drawn.place].2] = bytes;
        Ok(())
    }

    fn rename(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        path: &PathBuffer,
    ) -> Result<(), OpError> {
        let mut to = PathBuffer::new();
        let (directory, number) = self.new_name(&mut to);
        rustix::fs::renameat(target, path.c_str(), target, to.c_str())
            .map_err(path.failed("rename"))?;
        self.files[drawn.place] = (directory, number, self.files[drawn.place].2);
        Ok(())
    }

    /// Whether the filesystem takes the link.
    fn link(
        &mut self,
        target: BorrowedFd<'_>,
        drawn: Drawn<'_>,
        path: &PathBuffer,
    ) -> Result<bool, OpError> {
        let kind = drawn.step.kind;
        let mut to = PathBuffer::new();
        let (directory, number) = self.new_name(&mut to);
        let made = if kind == Kind::Link {
            let flags = AtFlags::empty();
            rustix::fs::linkat(target, path.c_str(), target, to.c_str(), flags)
        } else {
            rustix::fs::symlinkat(path.c_str(), target, to.c_str())
        };
        match made {
            Err(error) if is_unsupported(error) => return Ok(false),
            made => made.map_err(to.failed("link"))?,
        }
        // A symbolic link is not taken for a file.
        if kind == Kind::Link {
            self.files.push((directory, number, self.files[drawn.place].2));
        }
        Ok(true)
    }

    fn write(
        &mut self,
        file: &OwnedFd,
        bytes: u64,
        fsync: bool,
        block: &mut [u8],
        path: &PathBuffer,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut left = bytes;
        while left > 0 {
            let length = (block.len() as u64).min(left) as usize;
            self.marker.mark(&mut block[..length]);
            write_all(file, &block[..length]).map_err(path.failed("write"))?;
            left -= length as u64;
        }
        recorder.wrote(bytes);
        if fsync {
            rustix::fs::fsync(file.as_fd()).map_err(path.failed("fsync"))?;
        }
        Ok(())
    }

    /// Every file has the size it must have.
    pub(super) fn verify(&mut self, target: BorrowedFd<'_>) -> Result<(), Failure> {
        let mut path = PathBuffer::new();
        for (directory, number, place) in &self.files {
            self.path(*directory, *number, &mut path);
            let stat = rustix::fs::statat(target, path.c_str(), AtFlags::empty())
                .map_err(|error| Failure::Verify(format!("{path}: {error}")))?;
            let (found, expected) = (stat.st_size as u64, self.sizes[*place]);
            if found != expected {
                return Err(Failure::Verify(format!("{path}: {found} bytes, not {expected}")));
            }
        }
        Ok(())
    }
}

fn read_file(
    target: BorrowedFd<'_>,
    drawn: Drawn<'_>,
    block: &mut [u8],
    path: &PathBuffer,
    recorder: &mut Recorder<'_>,
) -> Result<(), OpError> {
    let file = open(target, path, OFlags::RDONLY)?;
    let mut left = drawn.size.unwrap_or(u64::MAX);
    while left > 0 {
        let want = (block.len() as u64).min(left) as usize;
        let got = read(&file, &mut block[..want]).map_err(path.failed("read"))?;
        if got == 0 {
            break;
        }
        recorder.read(got as u64);
        left -= got as u64;
    }
    Ok(())
}

fn open(target: BorrowedFd<'_>, path: &PathBuffer, flags: OFlags) -> Result<OwnedFd, OpError> {
    let op = if flags.contains(OFlags::CREATE) { "create" } else { "open" };
    rustix::fs::openat(target, path.c_str(), flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))
        .map_err(path.failed(op))
}

#[cfg(test)]
mod tests;
