//! One thread of a personality.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};

use super::Action;
use super::set::{Place, Set};
use crate::engine::contents::Marker;
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, Op, OpError, Recorder};

pub(super) struct Actor<'a> {
    pub(super) target: BorrowedFd<'a>,
    pub(super) set: &'a Set,
    pub(super) log: BorrowedFd<'a>,
    pub(super) draw: Draw,
    /// One `io_size` of contents, and where reads go.
    pub(super) buffer: Vec<u8>,
    pub(super) marker: Marker,
    pub(super) append: u64,
    pub(super) path: PathBuffer,
    pub(super) open: Option<(usize, Place, OwnedFd)>,
    /// Actions left out, since no file or no empty place was free.
    pub(super) left_out: u64,
    pub(super) logged: u64,
}

impl Actor<'_> {
    /// Does one action; `digest` where the sequence is fixed.
    pub(super) fn act(
        &mut self,
        action: Action,
        recorder: &mut Recorder<'_>,
        digest: bool,
    ) -> Result<(), OpError> {
        let mut fact = 0;
        let done = match action {
            Action::Delete | Action::Stat | Action::Open | Action::Create => {
                // If a list opens another file without closing the first, the first is released.
                self.close();
                let (first, taken) = self.set.take(&mut self.draw, action != Action::Create);
                fact = first;
                match taken {
                    None => false,
                    Some((number, place)) => {
                        let ended = self.on_file(action, number, place);
                        if ended.is_err() {
                            self.set.give_back(number, place);
                        }
                        ended?;
                        true
                    }
                }
            }
            Action::Log => {
                let bytes = 1 + self.draw.below(self.append);
                fact = bytes;
                let length = (bytes as usize).min(self.buffer.len());
                let piece = &mut self.buffer[..length];
                self.marker.mark(piece);
                write_all(self.log, piece)
                    .map_err(|error| OpError::new("append to", "the log", error))?;
                recorder.wrote(piece.len() as u64);
                self.logged += piece.len() as u64;
                true
            }
            Action::Close => self.close(),
            Action::Append => {
                let bytes = 1 + self.draw.below(self.append);
                fact = bytes;
                self.append_to_open(bytes, recorder)?
            }
            Action::WriteWhole => {
                let bytes = self.open.as_ref().map_or(0, |(_, place, _)| place.planned);
                self.append_to_open(bytes, recorder)?
            }
            Action::Fsync => match &self.open {
                None => false,
                Some((_, _, file)) => {
                    rustix::fs::fsync(file).map_err(self.path.failed("fsync"))?;
                    true
                }
            },
            Action::ReadWhole => self.read_open(recorder)?,
        };
        if digest {
            recorder.digest(fact << 4 | action as u64);
        }
        if done {
            recorder.done(Op(action as usize));
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn on_file(&mut self, action: Action, number: usize, place: Place) -> Result<(), OpError> {
        self.set.path(number, &mut self.path);
        match action {
            Action::Delete => {
                rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())
                    .map_err(self.path.failed("unlink"))?;
                self.set.give_back(number, Place { exists: false, size: 0, ..place });
            }
            Action::Stat => {
                rustix::fs::statat(self.target, self.path.c_str(), AtFlags::empty())
                    .map_err(self.path.failed("stat"))?;
                self.set.give_back(number, place);
            }
            _ => {
                // O_APPEND makes each write go to the end, wherever reads have been.
                let mut flags = OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC;
                if action == Action::Create {
                    flags |= OFlags::CREATE | OFlags::EXCL;
                }
                let mode = Mode::from_raw_mode(0o644);
                let file = rustix::fs::openat(self.target, self.path.c_str(), flags, mode)
                    .map_err(self.path.failed("open"))?;
                self.open = Some((number, Place { exists: true, ..place }, file));
            }
        }
        Ok(())
    }

    fn append_to_open(&mut self, bytes: u64, recorder: &mut Recorder<'_>) -> Result<bool, OpError> {
        let Some((_, place, file)) = &mut self.open else { return Ok(false) };
        let mut left = bytes;
        while left > 0 {
            let piece = (self.buffer.len() as u64).min(left) as usize;
            self.marker.mark(&mut self.buffer[..piece]);
            write_all(&*file, &self.buffer[..piece]).map_err(self.path.failed("write"))?;
            place.size += piece as u64;
            left -= piece as u64;
        }
        recorder.wrote(bytes);
        Ok(true)
    }

    fn read_open(&mut self, recorder: &mut Recorder<'_>) -> Result<bool, OpError> {
        let Some((_, _, file)) = &self.open else { return Ok(false) };
        loop {
            let got = read(file, &mut self.buffer).map_err(self.path.failed("read"))?;
            if got == 0 {
                return Ok(true);
            }
            recorder.read(got as u64);
        }
    }

    /// Closes the open file; returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        let Some((number, place, file)) = self.open.take() else { return false };
        drop(file);
        self.set.give_back(number, place);
        true
    }
}

#[cfg(test)]
mod tests;
