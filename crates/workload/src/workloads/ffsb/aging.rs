//! Ages the filesystem before the ops are measured, as FFSB does: creates, appends and deletes
//! until it is as full as requested. The files stay.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::super::age::fill_state;
use super::files::DIRECTORY;
use crate::engine::contents::Contents;
use crate::engine::file_io::write_all;
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Op, OpError, Recorder};

/// Weights of create, append and delete: those of the original's example.
const WEIGHTS: [u64; 3] = [10, 10, 1];
const SMALLEST: u64 = 4 << 10;
const LARGEST: u64 = 1 << 20;
const FILES_PER_DIRECTORY: u64 = 100;

pub(super) struct Aging<'t> {
    target: BorrowedFd<'t>,
    draw: Draw,
    contents: Contents,
    files: Vec<u64>,
    next: u64,
    path: PathBuffer,
}

impl<'t> Aging<'t> {
    pub(super) fn new(target: BorrowedFd<'t>, draw: Draw, contents: Contents) -> Aging<'t> {
        Aging { target, draw, contents, files: Vec::new(), next: 0, path: PathBuffer::new() }
    }

    /// Until `fullness` of the filesystem is in use, or nothing fits any more. Returns what
    /// is then in use.
    pub(super) fn until(
        &mut self,
        fullness: f64,
        recorder: &mut Recorder<'_>,
    ) -> Result<f64, OpError> {
        self.mkdir("")?;
        loop {
            let (size, used) = fill_state(self.target)?;
            let full = used as f64 / size.max(1) as f64;
            if full >= fullness {
                return Ok(full);
            }
            match self.perform(recorder) {
                Err(error) if error.is_out_of_space() => return Ok(full),
                done => done?,
            }
        }
    }

    fn perform(&mut self, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let drawn = self.draw.below(WEIGHTS.iter().sum());
        let bytes = SMALLEST + self.draw.below(LARGEST - SMALLEST + 1);
        if drawn < WEIGHTS[0] || self.files.is_empty() {
            let number = self.next;
            self.next += 1;
            if number.is_multiple_of(FILES_PER_DIRECTORY) {
                self.mkdir(&format!("/d{:06}", number / FILES_PER_DIRECTORY))?;
            }
            self.write(number, bytes, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, recorder)?;
            self.files.push(number);
            recorder.done(Op(0));
            return Ok(());
        }
        let at = self.draw.below(self.files.len() as u64) as usize;
        if drawn < WEIGHTS[0] + WEIGHTS[1] {
            self.write(self.files[at], bytes, OFlags::WRONLY | OFlags::APPEND, recorder)?;
            recorder.done(Op(1));
        } else {
            let number = self.files.swap_remove(at);
            self.name(number);
            rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())
                .map_err(self.path.failed("unlink"))?;
            recorder.done(Op(2));
        }
        Ok(())
    }

    fn mkdir(&mut self, below: &str) -> Result<(), OpError> {
        self.path.clear().text(DIRECTORY).text("/aged").text(below);
        rustix::fs::mkdirat(self.target, self.path.c_str(), Mode::from_raw_mode(0o755))
            .map_err(self.path.failed("mkdir"))
    }

    fn name(&mut self, number: u64) {
        self.path.clear().text(DIRECTORY).text("/aged/d").number(number / FILES_PER_DIRECTORY, 6);
        self.path.text("/f").number(number, 8);
    }

    fn write(
        &mut self,
        number: u64,
        bytes: u64,
        flags: OFlags,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        self.name(number);
        let mode = Mode::from_raw_mode(0o644);
        let file =
            rustix::fs::openat(self.target, self.path.c_str(), flags | OFlags::CLOEXEC, mode)
                .map_err(self.path.failed("open"))?;
        let place = self.draw.bits() & !(LARGEST - 1);
        let (mut done, whole) = (0, self.contents.block() as u64);
        while done < bytes {
            let piece = self.contents.at(place + done, whole.min(bytes - done) as usize);
            write_all(file.as_fd(), piece).map_err(self.path.failed("write"))?;
            done += piece.len() as u64;
        }
        recorder.wrote(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
