//! One thread: its I/Os, and how long each took.

#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;

use units::Nanos;

use super::draws::{Drawn, Shared};
use super::tally::Tally;
use crate::engine::direct_io::Aligned;
use crate::engine::thread_group::ThreadGroup;
use crate::{Op, OpError, Recorder};

const READ: Op = Op(0);
const WRITE: Op = Op(1);
/// What a written block holds after its place.
pub(super) const FILL: u8 = 0xa5;

/// A thread in phase `random`.
pub(super) struct Worker {
    buffer: Aligned,
    written: Aligned,
    tally: Tally,
}

impl Worker {
    /// For I/Os of this many bytes, during this time if it ends the phase.
    pub(super) fn new(io: usize, time: Option<Nanos>) -> Worker {
        Worker {
            buffer: Aligned::new(io, 0),
            written: Aligned::new(io, FILL),
            tally: Tally::new(time),
        }
    }

    pub(super) fn work(
        mut self,
        file: &OwnedFd,
        path: &'static str,
        shared: &Shared,
        time: Option<Nanos>,
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<Tally, OpError> {
        let start = group.start();
        let io = self.buffer.len() as u64;
        loop {
            let begun = recorder.lap();
            if group.is_stopped() || time.is_some_and(|time| begun - start >= time) {
                break;
            }
            let Some(Drawn { offset, write, fsync }) = shared.next() else { break };
            if write {
                self.written[..8].copy_from_slice(&offset.to_le_bytes());
                let wrote = rustix::io::pwrite(file, &self.written, offset)
                    .map_err(|error| OpError::new("write", path, error))?;
                complete(wrote, io, "write", path)?;
                if fsync {
                    rustix::fs::fsync(file).map_err(|e| OpError::new("fsync", path, e))?;
                }
                recorder.wrote(io);
                recorder.done(WRITE);
                self.tally.write.add(recorder.lap() - begun);
            } else {
                let got = rustix::io::pread(file, &mut *self.buffer, offset)
                    .map_err(|error| OpError::new("read", path, error))?;
                complete(got, io, "read", path)?;
                recorder.read(io);
                recorder.done(READ);
                self.tally.read.add(recorder.lap() - begun);
            }
            let second = ((recorder.lap() - start).0 / 1_000_000_000) as usize;
            if let Some(second) = self.tally.seconds.get_mut(second) {
                *second += 1;
            }
        }
        Ok(self.tally)
    }
}

fn complete(did: usize, io: u64, op: &'static str, path: &'static str) -> Result<(), OpError> {
    if did as u64 == io {
        return Ok(());
    }
    let short = std::io::Error::other(format!("{did} bytes of {io}"));
    Err(OpError::new(op, path, short))
}
