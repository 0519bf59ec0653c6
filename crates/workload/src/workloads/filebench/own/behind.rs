//! Writes that a thread hands over and goes on: POSIX aio as the C library does it, by threads of
//! its own. Those to one descriptor are done one after the other, others at the same time.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::engine::contents::Marker;
use crate::engine::direct_io::Aligned;

/// Most threads that write behind one, as glibc has them by default.
pub(super) const MOST: usize = 20;

/// One write.
pub(super) struct Write {
    pub(super) file: Arc<OwnedFd>,
    pub(super) offset: u64,
    pub(super) length: usize,
}

/// What waits and what failed.
#[derive(Default)]
struct State {
    queues: Vec<VecDeque<Write>>,
    /// Handed over and not done.
    outstanding: usize,
    is_closed: bool,
    failed: Option<Errno>,
}

/// The writes behind one thread.
#[derive(Default)]
pub(super) struct Behind {
    state: Mutex<State>,
    changed: Condvar,
}

impl Behind {
    pub(super) fn new(threads: usize) -> Behind {
        let queues = (0..threads).map(|_| VecDeque::new()).collect();
        Behind { state: Mutex::new(State { queues, ..State::default() }), ..Behind::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a write over to the thread of its descriptor.
    pub(super) fn hand_over(&self, descriptor: usize, write: Write) -> Result<(), Errno> {
        let mut state = self.state();
        if let Some(failed) = state.failed {
            return Err(failed);
        }
        let queue = descriptor % state.queues.len().max(1);
        state.queues[queue].push_back(write);
        state.outstanding += 1;
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until half of those that are not done now are done, at least one.
    pub(super) fn wait_for_half(&self) -> Result<(), Errno> {
        let mut state = self.state();
        let enough = state.outstanding - (state.outstanding / 2).max(1).min(state.outstanding);
        while state.outstanding > enough && state.failed.is_none() {
            state = self.wait(state);
        }
        state.failed.map_or(Ok(()), Err)
    }

    /// Lets its threads end when all is done.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Why a write failed, if one did.
    pub(super) fn failure(&self) -> Option<Errno> {
        self.state().failed
    }

    /// Does the writes of one queue until it is closed and empty.
    pub(super) fn serve(&self, queue: usize, mut buffer: Aligned, mut marker: Marker) {
        let mut state = self.state();
        loop {
            if let Some(write) = state.queues[queue].pop_front() {
                let is_lost = state.failed.is_some();
                drop(state);
                let piece = &mut buffer[..write.length];
                marker.mark(piece);
                let done = if is_lost { Ok(()) } else { write_at(&write, piece) };
                state = self.state();
                state.outstanding -= 1;
                if let Err(error) = done {
                    state.failed.get_or_insert(error);
                }
                self.changed.notify_all();
            } else if state.is_closed {
                return;
            } else {
                state = self.wait(state);
            }
        }
    }
}

fn write_at(write: &Write, bytes: &[u8]) -> Result<(), Errno> {
    match rustix::io::pwrite(&*write.file, bytes, write.offset)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(Errno::IO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::engine::contents::Filling;

    #[test]
    fn writes_are_done_behind_and_a_failure_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = Arc::new(OwnedFd::from(std::fs::File::create(&path).unwrap()));
        let behind = Behind::new(2);
        std::thread::scope(|scope| {
            for queue in 0..2 {
                let behind = &behind;
                let marker = Marker::new(Seed(1), "m", Filling::RANDOM);
                scope.spawn(move || behind.serve(queue, Aligned::new(4096, 1), marker));
            }
            for number in 0..10 {
                let write = Write { file: file.clone(), offset: number * 4096, length: 4096 };
                behind.hand_over(number as usize, write).unwrap();
            }
            behind.wait_for_half().unwrap();
            assert!(behind.state().outstanding <= 5);
            behind.close();
        });
        assert_eq!((behind.failure(), std::fs::metadata(&path).unwrap().len()), (None, 40_960));

        let closed = Arc::new(OwnedFd::from(std::fs::File::open(&path).unwrap()));
        let behind = Behind::new(1);
        let marker = Marker::new(Seed(1), "m", Filling::RANDOM);
        behind.hand_over(0, Write { file: closed, offset: 0, length: 512 }).unwrap();
        behind.close();
        behind.serve(0, Aligned::new(4096, 1), marker);
        assert_eq!(behind.failure(), Some(Errno::BADF));
        assert_eq!(behind.wait_for_half(), Err(Errno::BADF));
    }
}
