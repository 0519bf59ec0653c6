//! Bonnie's large file: by byte, by block, rewritten, at random places.

#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom};

use super::Manner;
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::engine::thread_group::ThreadGroup;
use crate::{Op, OpError, Recorder, Seed};

/// What the phases on the large file share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Large {
    pub(super) manner: Manner,
    pub(super) size: u64,
    pub(super) chunk: usize,
    pub(super) fsync: bool,
    /// Phases that write end with fsync, phases that read begin with an empty cache.
    pub(super) cold: bool,
}

/// 1.03 puts no more than this into one file.
const FILE_MAX: u64 = 1 << 30;
/// The buffer size of a stream of the C library.
const STREAM: usize = 4096;

/// The C library's `rand` stays below this.
const RANDOM_END: u64 = 1 << 31;
/// 2.00 rewrites the blocks of the tickets that are multiples of this.
const REWRITE: u64 = 10;

/// The large file: a single file, or several of at most 1 GiB, treated as one.
pub(super) struct Files {
    files: Vec<OwnedFd>,
    path: PathBuffer,
    each: u64,
    number: usize,
}

fn name(manner: Manner, number: usize, path: &mut PathBuffer) {
    path.clear().text(super::FILE);
    if manner == Manner::V103a {
        path.text(".").number(number as u64, 3);
    }
}

impl Large {
    fn each(self) -> u64 {
        let whole = (FILE_MAX / self.chunk as u64).max(1) * self.chunk as u64;
        if self.manner == Manner::V103a { whole } else { u64::MAX }
    }

    fn count(self) -> usize {
        self.size.div_ceil(self.each()).max(1) as usize
    }

    /// Opens the files; a new one must not exist.
    pub(super) fn open(self, target: BorrowedFd<'_>, new: bool) -> Result<Files, OpError> {
        let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
        if new {
            flags |= OFlags::CREATE | OFlags::EXCL;
        }
        let mut path = PathBuffer::new();
        let mut files = Vec::new();
        for number in 0..self.count() {
            name(self.manner, number, &mut path);
            let file = rustix::fs::openat(target, path.c_str(), flags, Mode::from_raw_mode(0o600))
                .map_err(path.failed("open"))?;
            files.push(file);
        }
        Ok(Files { files, path, each: self.each(), number: 0 })
    }

    /// Removes the files that are there.
    pub(super) fn remove(self, target: BorrowedFd<'_>) -> Result<(), OpError> {
        let mut path = PathBuffer::new();
        for number in 0..self.count() {
            name(self.manner, number, &mut path);
            match rustix::fs::unlinkat(target, path.c_str(), AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(path.failed("unlink")(error)),
            }
        }
        Ok(())
    }

    /// Bytes of the phases that go byte by byte.
    pub(super) fn bytes_by_char(self) -> u64 {
        if self.manner == Manner::V103a { self.size } else { self.size.min(3 << 20) }
    }

    fn chunks(self) -> u64 {
        self.size / self.chunk as u64
    }

    /// Where a block begins.
    fn start(self, chunk: u64) -> u64 {
        chunk * self.chunk as u64
    }

    /// Writes byte by byte: through a stream's buffer, or one system call each.
    pub(super) fn write_chars(
        self,
        mut files: Files,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut stream = [0u8; STREAM];
        let mut at = 0;
        let bytes = self.bytes_by_char();
        recorder.restart();
        while at < bytes {
            let length = STREAM.min((bytes - at) as usize);
            files.at_byte(at);
            let values = (at as usize..at as usize + length).map(|at| at as u8 & 0x7f);
            match self.manner {
                Manner::V103a => {
                    for (byte, value) in stream.iter_mut().zip(values) {
                        // Each byte is handled separately, as with putc.
                        *byte = std::hint::black_box(value);
                    }
                    files.write(&stream[..length])?;
                    recorder.done(Op(0));
                }
                Manner::V200a => {
                    for value in values {
                        files.write(&[value])?;
                    }
                    recorder.done_together(Op(0), length as u64);
                }
            }
            at += length as u64;
            recorder.wrote(length as u64);
        }
        recorder.digest(bytes);
        self.close(files, true, recorder)
    }

    /// Writes blocks; a byte more of each has been counted up.
    pub(super) fn write_blocks(
        self,
        mut files: Files,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        buffer.fill(0);
        recorder.restart();
        for chunk in 0..self.chunks() {
            self.bump(buffer, chunk);
            files.at_byte(self.start(chunk));
            files.write(buffer)?;
            recorder.wrote(self.chunk as u64);
            recorder.done(Op(0));
        }
        recorder.digest(self.chunks());
        self.close(files, true, recorder)
    }

    fn bump(self, buffer: &mut [u8], chunk: u64) {
        let byte = &mut buffer[(chunk % self.chunk as u64) as usize];
        *byte = byte.wrapping_add(1);
    }

    /// Reads each block, counts one byte up, goes back and writes it.
    pub(super) fn rewrite(
        self,
        mut files: Files,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        recorder.restart();
        for chunk in 0..self.chunks() {
            let at = self.start(chunk);
            files.at_byte(at);
            files.read(buffer)?;
            self.bump(buffer, chunk);
            files.seek(at)?;
            files.write(buffer)?;
            recorder.read(self.chunk as u64);
            recorder.wrote(self.chunk as u64);
            recorder.done(Op(0));
        }
        recorder.digest(self.chunks());
        self.close(files, true, recorder)
    }

    pub(super) fn read_chars(
        self,
        mut files: Files,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let mut stream = [0u8; STREAM];
        let mut at = 0;
        let mut sum = 0u64;
        let bytes = self.bytes_by_char();
        recorder.restart();
        while at < bytes {
            let length = STREAM.min((bytes - at) as usize);
            files.at_byte(at);
            match self.manner {
                Manner::V103a => {
                    files.read(&mut stream[..length])?;
                    for byte in &stream[..length] {
                        sum += u64::from(std::hint::black_box(*byte));
                    }
                    recorder.done(Op(0));
                }
                Manner::V200a => {
                    for _ in 0..length {
                        files.read(&mut stream[..1])?;
                        sum += u64::from(stream[0]);
                    }
                    recorder.done_together(Op(0), length as u64);
                }
            }
            at += length as u64;
            recorder.read(length as u64);
        }
        std::hint::black_box(sum);
        recorder.digest(bytes);
        self.close(files, false, recorder)
    }

    pub(super) fn read_blocks(
        self,
        mut files: Files,
        buffer: &mut [u8],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        recorder.restart();
        for chunk in 0..self.chunks() {
            files.at_byte(self.start(chunk));
            files.read(buffer)?;
            recorder.read(self.chunk as u64);
            recorder.done(Op(0));
        }
        recorder.digest(self.chunks());
        self.close(files, false, recorder)
    }

    /// fsync where the manner, `-b` or `cold` asks for it, then close. `wrote` says whether there
    /// is anything to wait for.
    fn close(self, files: Files, wrote: bool, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        if self.manner == Manner::V200a || self.fsync || self.cold && wrote {
            for file in &files.files {
                rustix::fs::fsync(file).map_err(files.path.failed("fsync"))?;
            }
            recorder.part(Op(1));
        }
        drop(files);
        Ok(())
    }

    /// Compares the file with what write, rewrite and seeks must have left.
    pub(super) fn verify(self, target: BorrowedFd<'_>) -> Result<(), String> {
        let shown = |error: OpError| format!("{error}: {}", error.source);
        let mut files = self.open(target, false).map_err(shown)?;
        let (mut expected, mut found) = (vec![0; self.chunk], vec![0; self.chunk]);
        for chunk in 0..self.chunks() {
            self.bump(&mut expected, chunk);
            files.at_byte(self.start(chunk));
            files.read(&mut found).map_err(shown)?;
            let mut rewritten = expected.clone();
            self.bump(&mut rewritten, chunk);
            // The seeks have counted up the first byte of some.
            if rewritten[1..] != found[1..] {
                return Err(format!("other contents than written in block {chunk}"));
            }
        }
        Ok(())
    }
}

impl Files {
    /// Goes on to the next file where `at` is its beginning.
    #[inline]
    fn at_byte(&mut self, at: u64) {
        self.number = (at / self.each) as usize;
    }

    fn seek(&mut self, at: u64) -> Result<(), OpError> {
        self.number = (at / self.each) as usize;
        rustix::fs::seek(&self.files[self.number], SeekFrom::Start(at % self.each))
            .map_err(self.path.failed("seek in"))?;
        Ok(())
    }

    #[inline]
    fn write(&self, bytes: &[u8]) -> Result<(), OpError> {
        write_all(&self.files[self.number], bytes).map_err(self.path.failed("write"))
    }

    #[inline]
    fn read(&self, buffer: &mut [u8]) -> Result<(), OpError> {
        let mut filled = 0;
        while filled < buffer.len() {
            let got = read(self.files[self.number].as_fd(), &mut buffer[filled..])
                .map_err(self.path.failed("read"))?;
            if got == 0 {
                let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(self.path.failed("read")(short));
            }
            filled += got;
        }
        Ok(())
    }
}

/// The seeks that all seekers share: the next free seeker takes the next one.
pub(super) struct Seeks {
    /// Block, and whether 2.00 rewrites it.
    places: Vec<(u64, bool)>,
    next: AtomicUsize,
    begun: AtomicBool,
    keep: bool,
}

impl Seeks {
    /// `keep`: the file is still needed afterwards, whereas the original's seekers remove it.
    pub(super) fn draw(seed: Seed, count: u64, large: Large, keep: bool) -> Seeks {
        let mut draw = seed.stream("bonnie seeks");
        let chunks = large.chunks().max(1);
        // One number decides both, like a ticket of the original: if the file has an even number
        // of blocks, two neighbouring blocks are never both rewritten, so write-back cannot merge
        // them into larger requests.
        let tickets = (0..count).map(|_| draw.below(RANDOM_END));
        let places = tickets.map(|ticket| (ticket % chunks, ticket % REWRITE == 0)).collect();
        Seeks { places, next: AtomicUsize::new(0), begun: AtomicBool::new(false), keep }
    }

    /// One seeker's share. Returns how many blocks it rewrote.
    pub(super) fn perform(
        &self,
        large: Large,
        target: BorrowedFd<'_>,
        mut files: Files,
        buffer: &mut [u8],
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, OpError> {
        let (mut own, mut rewritten) = (0, 0);
        // The parent of the seekers syncs the file, which is clean, when it starts them.
        if large.manner == Manner::V200a && !self.begun.swap(true, Ordering::Relaxed) {
            for file in &files.files {
                rustix::fs::fsync(file).map_err(files.path.failed("fsync"))?;
            }
            recorder.part(Op(2));
        }
        while !group.is_stopped() {
            let Some((chunk, drawn)) = self.places.get(self.next.fetch_add(1, Ordering::Relaxed))
            else {
                break;
            };
            let at = large.start(*chunk);
            files.seek(at)?;
            files.read(buffer)?;
            recorder.read(large.chunk as u64);
            let rewrite = match large.manner {
                Manner::V103a => own % 10 == 0,
                Manner::V200a => *drawn,
            };
            own += 1;
            if rewrite {
                buffer[0] = buffer[0].wrapping_add(1);
                files.seek(at)?;
                files.write(buffer)?;
                if large.fsync {
                    rustix::fs::fsync(&files.files[files.number])
                        .map_err(files.path.failed("fsync"))?;
                }
                rewritten += 1;
                recorder.wrote(large.chunk as u64);
            }
            recorder.done(Op(usize::from(rewrite)));
        }
        if large.manner == Manner::V200a || large.fsync || large.cold {
            for file in &files.files {
                rustix::fs::fsync(file).map_err(files.path.failed("fsync"))?;
            }
            recorder.part(Op(2));
        }
        drop(files);
        if large.manner == Manner::V200a && !self.keep {
            // Each seeker of the original removes the file once it has closed it. The last one to
            // close it then frees the file's blocks, still within the clock.
            large.remove(target)?;
        }
        Ok(rewritten)
    }

    /// Digest of the places, whichever seeker took them.
    pub(super) fn digest(&self, recorder: &mut Recorder<'_>) {
        self.places.iter().for_each(|(chunk, _)| recorder.digest(*chunk));
    }
}
