//! The files on the filesystem: created until it is as full as requested, and replaced the way
//! programs replace them.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::engine::contents::{Contents, Filling};
use crate::engine::file_io::{holds, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Op, OpError, Recorder, Seed};

/// Where they lie.
pub(super) const DIRECTORY: &str = "upkeep";
/// The new version of a file, before it takes the old one's place.
const NEW: &str = "upkeep/new";
/// And its copy that shares its blocks.
const COPY: &str = "upkeep/copy-";
const FILES_PER_DIRECTORY: u64 = 100;
const BLOCK: usize = 1 << 20;
const PAGE: u64 = 4096;

/// One file.
#[derive(Debug, Clone, Copy)]
struct Held {
    number: u64,
    size: u64,
    /// How often it was replaced.
    version: u64,
}

/// All of them.
pub(super) struct Files {
    files: Vec<Held>,
    mean: u64,
    draw: Draw,
    contents: Contents,
    path: PathBuffer,
    /// Files and changes for which there was no room.
    pub(super) no_room: u64,
}

impl Files {
    pub(super) fn new(seed: Seed, mean: u64, filling: Filling) -> Files {
        Files {
            files: Vec::new(),
            mean,
            draw: seed.stream(DIRECTORY),
            contents: Contents::new(seed, DIRECTORY, BLOCK, filling),
            path: PathBuffer::new(),
            no_room: 0,
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.files.len() as u64
    }

    /// Makes files until their blocks come to `goal` bytes or there is no more room.
    pub(super) fn fill(
        &mut self,
        target: BorrowedFd<'_>,
        goal: u64,
        recorder: &mut Recorder<'_>,
        create: Op,
    ) -> Result<(), OpError> {
        self.make_directory(target, None)?;
        self.fill_below(target, goal, recorder, create)
    }

    /// As [`Files::fill`], in the directory that is there.
    fn fill_below(
        &mut self,
        target: BorrowedFd<'_>,
        goal: u64,
        recorder: &mut Recorder<'_>,
        create: Op,
    ) -> Result<(), OpError> {
        let mut held = 0;
        while held < goal {
            let number = self.count();
            if number.is_multiple_of(FILES_PER_DIRECTORY) {
                match self.make_directory(target, Some(number)) {
                    Err(error) if error.is_out_of_space() => {
                        self.no_room += 1;
                        break;
                    }
                    other => other?,
                }
            }
            let size = self.size();
            let file = Held { number, size, version: 0 };
            self.path_of(number);
            let path = self.path.clone();
            match self.write(target, &path, file) {
                Err(error) if error.is_out_of_space() => {
                    self.no_room += 1;
                    match rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty()) {
                        // Without an inode left there is no file to remove.
                        Ok(()) | Err(Errno::NOENT) => break,
                        Err(error) => return Err(path.failed("unlink")(error)),
                    }
                }
                other => other?,
            }
            recorder.wrote(size);
            recorder.done(create);
            self.files.push(file);
            held += size.next_multiple_of(PAGE);
        }
        Ok(())
    }

    /// Replaces this many randomly chosen files, each by a new one that is renamed over it. `each`
    /// is called after each with its size. Returns the places of those replaced.
    pub(super) fn change(
        &mut self,
        target: BorrowedFd<'_>,
        changes: u64,
        mut each: impl FnMut(u64),
    ) -> Result<Vec<usize>, OpError> {
        let mut new = PathBuffer::new();
        new.text(NEW);
        let mut places = Vec::new();
        let changes = if self.files.is_empty() { 0 } else { changes };
        for _ in 0..changes {
            let place = self.draw.below(self.count()) as usize;
            let held = self.files[place];
            let file = Held { size: self.size(), version: held.version + 1, ..held };
            match self.write(target, &new, file) {
                Err(error) if error.is_out_of_space() => {
                    self.no_room += 1;
                    match rustix::fs::unlinkat(target, new.c_str(), AtFlags::empty()) {
                        Ok(()) | Err(Errno::NOENT) => continue,
                        Err(error) => return Err(new.failed("unlink")(error)),
                    }
                }
                other => other?,
            }
            self.path_of(held.number);
            rustix::fs::renameat(target, new.c_str(), target, self.path.c_str())
                .map_err(new.failed("rename"))?;
            self.files[place] = file;
            places.push(place);
            each(file.size);
        }
        Ok(places)
    }

    /// Writes one file through to the disk.
    pub(super) fn fsync(&mut self, target: BorrowedFd<'_>, place: usize) -> Result<(), OpError> {
        self.path_of(self.files[place].number);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(target, self.path.c_str(), flags, Mode::empty())
            .map_err(self.path.failed("open"))?;
        rustix::fs::fsync(file).map_err(self.path.failed("fsync"))
    }

    /// Whether a file is there with its contents.
    pub(super) fn is_whole(&mut self, target: BorrowedFd<'_>, place: usize) -> bool {
        let file = self.files[place];
        let expected = self.whole(file);
        self.path_of(file.number);
        holds(target, self.path.c_str(), &expected).unwrap_or(false)
    }

    /// How many of the files that should exist are missing or not as they were written.
    pub(super) fn damaged(&mut self, target: BorrowedFd<'_>) -> usize {
        (0..self.files.len()).filter(|place| !self.is_whole(target, *place)).count()
    }

    /// Forgets the files at these places: their contents are no longer known.
    pub(super) fn forget(&mut self, mut places: Vec<usize>) {
        places.sort_unstable();
        places.dedup();
        for place in places.into_iter().rev() {
            self.files.swap_remove(place);
        }
    }

    /// Copies one of the first files so that it shares its blocks.
    pub(super) fn clone_file(&mut self, target: BorrowedFd<'_>, nth: u64) -> Result<(), OpError> {
        self.path_of(self.files[(nth % self.count()) as usize].number);
        let from = self.path.clone();
        self.copy_of(nth);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let source = rustix::fs::openat(target, from.c_str(), flags, Mode::empty())
            .map_err(from.failed("open"))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(target, self.path.c_str(), flags, Mode::from_raw_mode(0o644))
            .map_err(self.path.failed("create"))?;
        rustix::fs::ioctl_ficlone(copy, source).map_err(self.path.failed("clone"))
    }

    /// Removes such a copy; nothing there is no error.
    pub(super) fn remove_clone(&mut self, target: BorrowedFd<'_>, nth: u64) -> Result<(), OpError> {
        self.copy_of(nth);
        match rustix::fs::unlinkat(target, self.path.c_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.path.failed("unlink")(error)),
        }
    }

    /// From 1 to twice the mean.
    fn size(&mut self) -> u64 {
        1 + self.draw.below(2 * self.mean)
    }

    fn make_directory(
        &mut self,
        target: BorrowedFd<'_>,
        number: Option<u64>,
    ) -> Result<(), OpError> {
        match number {
            None => _ = self.path.clear().text(DIRECTORY),
            Some(number) => self.directory_of(number),
        }
        rustix::fs::mkdirat(target, self.path.c_str(), Mode::from_raw_mode(0o755))
            .map_err(self.path.failed("mkdir"))
    }

    fn write(
        &mut self,
        target: BorrowedFd<'_>,
        path: &PathBuffer,
        file: Held,
    ) -> Result<(), OpError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(target, path.c_str(), flags, Mode::from_raw_mode(0o644))
            .map_err(path.failed("create"))?;
        let mut done = 0;
        while done < file.size {
            let length = BLOCK.min((file.size - done) as usize);
            let piece = self.contents.at(place(file, done), length);
            write_all(&opened, piece).map_err(path.failed("write"))?;
            done += length as u64;
        }
        Ok(())
    }

    /// What was written into a file.
    fn whole(&mut self, file: Held) -> Vec<u8> {
        let mut whole = Vec::with_capacity(file.size as usize);
        while (whole.len() as u64) < file.size {
            let done = whole.len() as u64;
            let length = BLOCK.min((file.size - done) as usize);
            whole.extend_from_slice(self.contents.at(place(file, done), length));
        }
        whole
    }

    fn directory_of(&mut self, number: u64) {
        self.path.clear().text(DIRECTORY).text("/").number(number / FILES_PER_DIRECTORY, 5);
    }

    fn path_of(&mut self, number: u64) {
        self.directory_of(number);
        self.path.text("/f").number(number, 7);
    }

    fn copy_of(&mut self, nth: u64) {
        self.path.clear().text(COPY).number(nth, 5);
    }
}

/// Where a piece of a version of a file belongs in all contents.
fn place(file: Held, done: u64) -> u64 {
    file.number.wrapping_mul(1 << 40).wrapping_add(file.version.wrapping_mul(1 << 32) + done)
}

#[cfg(test)]
pub(super) mod tests;
