//! Reading one mail.

#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags};

use super::deliver::BUFFER;
use super::inventory::Inventory;
use super::names::{Names, SEEN, Tree};
use super::sources::Sources;
use crate::OpError;
use crate::engine::file_io::read;
use crate::engine::path_buffer::PathBuffer;

/// Stored mails: those found at the start, then deliveries in their order.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) tree: Tree,
    pub(crate) names: Names,
    pub(crate) found: &'a Inventory,
    pub(crate) deliveries: &'a [(u32, u32)],
}

impl Stored<'_> {
    pub(crate) fn maildir(&self, stored: u32) -> u32 {
        match stored.checked_sub(self.found.len()) {
            None => self.found.maildir(stored),
            Some(delivery) => self.deliveries[delivery as usize].1,
        }
    }

    /// Where a stored mail lies; `seen` when this workload has moved it to `cur`.
    pub(crate) fn path(&self, stored: u32, seen: bool, path: &mut PathBuffer) {
        self.tree.maildir(self.maildir(stored), path);
        let in_cur = match stored.checked_sub(self.found.len()) {
            None => self.found.is_in_cur(stored),
            Some(_) => false,
        };
        path.text(if seen || in_cur { "/cur/" } else { "/new/" });
        match stored.checked_sub(self.found.len()) {
            None => {
                path.bytes(self.found.name(stored));
            }
            Some(delivery) => self.names.delivered(u64::from(delivery), path),
        }
        if seen && !in_cur {
            path.text(SEEN);
        }
    }

    /// Whether reading it for the first time moves it.
    pub(crate) fn is_new(&self, stored: u32) -> bool {
        stored >= self.found.len() || !self.found.is_in_cur(stored)
    }
}

/// Reads mails to their end, with a buffer of its own.
pub(crate) struct Reader<'a> {
    target: BorrowedFd<'a>,
    buffer: Box<[u8; BUFFER]>,
    path: PathBuffer,
    moved: PathBuffer,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(target: BorrowedFd<'a>) -> Reader<'a> {
        Reader {
            target,
            buffer: Box::new([1; BUFFER]),
            path: PathBuffer::new(),
            moved: PathBuffer::new(),
        }
    }

    /// Reads an entry of a flat pool; returns its size.
    pub(crate) fn entry(&mut self, pool: Sources, mail: u32) -> Result<u64, OpError> {
        pool.entry(mail, &mut self.path);
        self.read()
    }

    /// Reads a stored mail; returns its size.
    pub(crate) fn stored(
        &mut self,
        stored: Stored<'_>,
        mail: u32,
        seen: bool,
    ) -> Result<u64, OpError> {
        stored.path(mail, seen, &mut self.path);
        self.read()
    }

    /// Moves a stored mail from `new` to `cur`, seen.
    pub(crate) fn mark(&mut self, stored: Stored<'_>, mail: u32) -> Result<(), OpError> {
        stored.path(mail, false, &mut self.path);
        stored.path(mail, true, &mut self.moved);
        rustix::fs::renameat(self.target, self.path.c_str(), self.target, self.moved.c_str())
            .map_err(self.path.failed("rename"))
    }

    fn read(&mut self) -> Result<u64, OpError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.target, self.path.c_str(), flags, Mode::empty())
            .map_err(self.path.failed("open"))?;
        let mut total = 0;
        loop {
            match read(&file, &mut self.buffer[..]).map_err(self.path.failed("read"))? {
                0 => return Ok(total),
                got => total += got as u64,
            }
        }
    }
}
