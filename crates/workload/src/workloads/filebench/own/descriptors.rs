//! A thread's open files, and what its flowops do with them.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::super::model::{Access, DESCRIPTORS, Does, FileSet, Flowop};
use super::behind::Behind;
use super::done::Done;
use super::files::{Files, Turns};
use crate::engine::contents::Marker;
use crate::engine::direct_io::Aligned;
use crate::engine::file_io::list;
use crate::engine::path_buffer::PathBuffer;
use crate::{Draw, OpError, Recorder};

/// An open file.
pub(super) struct Slot {
    /// Writes behind the thread hold it too.
    pub(super) file: Arc<OwnedFd>,
    pub(super) set: usize,
    pub(super) place: usize,
    /// Whether it was removed while it is open.
    is_gone: bool,
    /// Where a read or write that is not random begins.
    pub(super) position: u64,
}

/// The open files of one thread.
pub(super) struct Descriptors<'a> {
    pub(super) target: BorrowedFd<'a>,
    pub(super) model: &'a [FileSet],
    pub(super) sets: &'a [Files],
    pub(super) behind: &'a Behind,
    pub(super) slots: Vec<Option<Slot>>,
    /// Those between which `opennext` goes round, and which is next.
    rotating: Vec<Option<Slot>>,
    next: usize,
    /// The turns of a thread that goes round.
    turns: Vec<Turns>,
    pub(super) buffer: Aligned,
    pub(super) marker: Marker,
    path: PathBuffer,
}

/// Which descriptor a flowop works with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Numbered(usize),
    Rotating(usize),
}

impl<'a> Descriptors<'a> {
    pub(super) fn new(
        target: BorrowedFd<'a>,
        model: &'a [FileSet],
        sets: &'a [Files],
        behind: &'a Behind,
        buffer: Aligned,
        marker: Marker,
    ) -> Descriptors<'a> {
        Descriptors {
            target,
            model,
            sets,
            behind,
            slots: (0..DESCRIPTORS).map(|_| None).collect(),
            rotating: Vec::new(),
            next: 0,
            turns: vec![Turns::default(); sets.len()],
            buffer,
            marker,
            path: PathBuffer::new(),
        }
    }

    /// Does one flowop that concerns files.
    pub(super) fn perform(
        &mut self,
        flowop: &Flowop,
        draw: &mut Draw,
        recorder: &mut Recorder<'_>,
    ) -> Result<Done, OpError> {
        let set = flowop.set.unwrap_or(0);
        match flowop.does {
            Does::Open | Does::Create => {
                let opened = self.open(flowop, set, flowop.does == Does::Create)?;
                let Some(slot) = opened else { return Ok(Done::LeftOut) };
                self.slots[flowop.fd] = Some(slot);
                Ok(Done::Moved { bytes: 0, fact: 0 })
            }
            Does::Close => match self.slots[flowop.fd].take() {
                None => Ok(Done::LeftOut),
                Some(slot) => {
                    self.close(slot);
                    Ok(Done::Moved { bytes: 0, fact: 0 })
                }
            },
            Does::Delete => self.delete(flowop, set),
            Does::Stat => self.stat(flowop, set),
            Does::Fsync => {
                let Some(slot) = &self.slots[flowop.fd] else { return Ok(Done::LeftOut) };
                rustix::fs::fsync(&*slot.file)
                    .map_err(|error| self.failed("fsync", slot, error))?;
                Ok(Done::Moved { bytes: 0, fact: 0 })
            }
            Does::FsyncSet => {
                let open = self.slots.iter().chain(&self.rotating).flatten();
                for slot in open.filter(|slot| slot.set == set) {
                    rustix::fs::fsync(&*slot.file)
                        .map_err(|error| self.failed("fsync", slot, error))?;
                }
                Ok(Done::Moved { bytes: 0, fact: 0 })
            }
            Does::List => {
                let files = &self.sets[set];
                files.directory(files.next_directory(), &mut self.path);
                list(self.target, self.path.c_str(), |_| ()).map_err(self.path.failed("list"))?;
                Ok(Done::Moved { bytes: 0, fact: 0 })
            }
            Does::AioWait => {
                self.behind.wait_for_half().map_err(behind_failed)?;
                Ok(Done::Moved { bytes: 0, fact: 0 })
            }
            _ => self.move_data(flowop, draw, recorder),
        }
    }

    /// Opens the next file of a set, or makes the next one that is not there.
    fn open(&mut self, flowop: &Flowop, set: usize, make: bool) -> Result<Option<Slot>, OpError> {
        let files = &self.sets[set];
        let own = flowop.opennext.then_some(&mut self.turns[set]);
        let taken = if make { files.take(false) } else { files.share(own) };
        let Some(place) = taken else { return Ok(None) };
        files.path(place, &mut self.path);
        let mut flags = OFlags::CLOEXEC
            | match self.model[set].access {
                Access::ReadWrite => OFlags::RDWR,
                Access::ReadOnly => OFlags::RDONLY,
                Access::WriteOnly => OFlags::WRONLY,
            };
        for (is_on, flag) in [
            (make, OFlags::CREATE | OFlags::EXCL),
            (flowop.dsync, OFlags::SYNC),
            (flowop.direct, OFlags::DIRECT),
        ] {
            if is_on {
                flags |= flag;
            }
        }
        let mode = Mode::from_raw_mode(0o644);
        match rustix::fs::openat(self.target, self.path.c_str(), flags, mode) {
            Ok(file) => {
                if make {
                    files.size(place).store(0, Ordering::Relaxed);
                    files.give_back(place, true, 1);
                }
                if flowop.no_readahead {
                    rustix::fs::fadvise(&file, 0, None, Advice::Random)
                        .map_err(self.path.failed("fadvise"))?;
                }
                let file = Arc::new(file);
                Ok(Some(Slot { file, set, place, is_gone: false, position: 0 }))
            }
            Err(error) => {
                if make {
                    files.give_back(place, false, 0);
                } else {
                    files.closed(place);
                }
                Err(self.path.failed(if make { "create" } else { "open" })(error))
            }
        }
    }

    fn close(&self, slot: Slot) {
        let Slot { file, set, place, is_gone, .. } = slot;
        drop(file);
        if !is_gone {
            self.sets[set].closed(place);
        }
    }

    /// Closes everything.
    pub(super) fn close_all(&mut self) {
        let open: Vec<Slot> =
            self.slots.iter_mut().chain(&mut self.rotating).filter_map(Option::take).collect();
        for slot in open {
            self.close(slot);
        }
    }

    /// Removes the file of a descriptor, or the next one. One that others have open stays.
    fn delete(&mut self, flowop: &Flowop, set: usize) -> Result<Done, OpError> {
        let own = self.slots[flowop.fd].as_ref().filter(|slot| flowop.fd > 0 && !slot.is_gone);
        let own = own.map(|slot| (slot.set, slot.place));
        let (set, place) = match own {
            Some((set, place)) if self.sets[set].hold(place) => (set, place),
            Some(_) => return Ok(Done::LeftOut),
            None => match self.sets[set].take(true) {
                Some(place) => (set, place),
                None => return Ok(Done::LeftOut),
            },
        };
        let files = &self.sets[set];
        if files.opened(place) > u32::from(own.is_some()) {
            files.give_back(place, true, 0);
            return Ok(Done::LeftOut);
        }
        files.path(place, &mut self.path);
        let removed = rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty());
        let closed = if removed.is_ok() && own.is_some() { -1 } else { 0 };
        files.give_back(place, removed.is_err(), closed);
        removed.map_err(self.path.failed("unlink"))?;
        if let Some(slot) = self.slots[flowop.fd].as_mut().filter(|_| own.is_some()) {
            slot.is_gone = true;
        }
        Ok(Done::Moved { bytes: 0, fact: 0 })
    }

    fn stat(&mut self, flowop: &Flowop, set: usize) -> Result<Done, OpError> {
        if let Some(slot) = self.slots[flowop.fd].as_ref().filter(|_| flowop.fd > 0) {
            rustix::fs::fstat(&*slot.file).map_err(|error| self.failed("stat", slot, error))?;
            return Ok(Done::Moved { bytes: 0, fact: 0 });
        }
        let files = &self.sets[set];
        // It stays while it is counted as open.
        let Some(place) = files.share(None) else { return Ok(Done::LeftOut) };
        files.path(place, &mut self.path);
        let found = rustix::fs::statat(self.target, self.path.c_str(), AtFlags::empty());
        files.closed(place);
        found.map_err(self.path.failed("stat"))?;
        Ok(Done::Moved { bytes: 0, fact: 0 })
    }

    /// The descriptor of a flowop, which is opened if it is not.
    pub(super) fn which(
        &mut self,
        flowop: &Flowop,
        recorder: &mut Recorder<'_>,
    ) -> Result<Option<Which>, OpError> {
        let set = flowop.set.unwrap_or(0);
        let which = if flowop.opennext {
            let count = self.sets[set].len().clamp(1, DESCRIPTORS);
            if self.rotating.len() < count {
                self.rotating.resize_with(count, || None);
            }
            self.next = (self.next + 1) % count;
            Which::Rotating(self.next)
        } else {
            Which::Numbered(flowop.fd)
        };
        if self.slot(which).is_none() {
            let Some(slot) = self.open(flowop, set, false)? else { return Ok(None) };
            // That it had to be opened first is not part of reading or writing.
            recorder.restart();
            *self.slot(which) = Some(slot);
        }
        Ok(Some(which))
    }

    pub(super) fn slot(&mut self, which: Which) -> &mut Option<Slot> {
        match which {
            Which::Numbered(number) => &mut self.slots[number],
            Which::Rotating(number) => &mut self.rotating[number],
        }
    }

    /// Names the file of a slot.
    pub(super) fn failed(&self, op: &'static str, slot: &Slot, error: Errno) -> OpError {
        let mut path = PathBuffer::new();
        self.sets[slot.set].path(slot.place, &mut path);
        OpError::new(op, path.to_string(), error)
    }
}

/// A write behind a thread that failed.
pub(super) fn behind_failed(error: Errno) -> OpError {
    OpError::new("write", "a file, behind the thread", error)
}
