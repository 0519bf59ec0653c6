//! Writing a tar file the way GNU tar does: records of 10 KiB, each one write.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::OpError;
use crate::engine::file_io::write_all;
use crate::engine::path_buffer::PathBuffer;

const BLOCK: usize = 512;
/// GNU tar's record: 20 blocks.
pub(super) const RECORD: usize = 10_240;

/// What a header says of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) kind: tar::EntryType,
    pub(super) bytes: u64,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) mtime: i64,
}

/// A tar file being written.
pub(super) struct Archive {
    file: OwnedFd,
    path: PathBuffer,
    record: Vec<u8>,
    pub(super) written: u64,
}

impl Archive {
    /// Makes the file, which must not exist.
    pub(super) fn create(target: BorrowedFd<'_>, path: &str) -> Result<Archive, OpError> {
        let mut buffer = PathBuffer::new();
        buffer.text(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(target, buffer.c_str(), flags, Mode::from_raw_mode(0o644))
            .map_err(buffer.failed("create"))?;
        Ok(Archive { file, path: buffer, record: Vec::with_capacity(RECORD), written: 0 })
    }

    /// Bytes until the record is full: what GNU tar reads next of a file.
    pub(super) fn room(&self) -> usize {
        RECORD - self.record.len()
    }

    /// Begins an entry; `link` is the target of a link.
    pub(super) fn entry(&mut self, path: &[u8], link: &[u8], facts: Facts) -> Result<(), OpError> {
        for (text, kind) in
            [(path, tar::EntryType::GNULongName), (link, tar::EntryType::GNULongLink)]
        {
            if text.len() > 99 {
                let long = Facts { kind, bytes: text.len() as u64 + 1, ..facts };
                self.header(b"././@LongLink", b"", long)?;
                self.add(text)?;
                self.add(&[0])?;
                self.pad()?;
            }
        }
        self.header(&path[..path.len().min(99)], &link[..link.len().min(99)], facts)
    }

    fn header(&mut self, path: &[u8], link: &[u8], facts: Facts) -> Result<(), OpError> {
        let mut header = tar::Header::new_gnu();
        {
            let old = header.as_old_mut();
            old.name[..path.len()].copy_from_slice(path);
            old.linkname[..link.len()].copy_from_slice(link);
        }
        header.set_entry_type(facts.kind);
        header.set_size(facts.bytes);
        header.set_mode(facts.mode & 0o7777);
        header.set_uid(u64::from(facts.owner.0));
        header.set_gid(u64::from(facts.owner.1));
        header.set_mtime(facts.mtime as u64);
        if facts.mtime < 0 {
            // As GNU tar does, in two's complement over the whole field.
            header.as_old_mut().mtime[..4].fill(0xff);
        }
        header.set_cksum();
        self.add(header.as_bytes())
    }

    /// Adds contents of the entry that was begun.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> Result<(), OpError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.room()));
            self.record.extend_from_slice(now);
            bytes = later;
            if self.room() == 0 {
                write_all(&self.file, &self.record).map_err(self.path.failed("write"))?;
                self.written += RECORD as u64;
                self.record.clear();
            }
        }
        Ok(())
    }

    /// Fills up the last block of the contents.
    pub(super) fn pad(&mut self) -> Result<(), OpError> {
        let over = self.record.len() % BLOCK;
        if over > 0 { self.add(&[0; BLOCK][over..]) } else { Ok(()) }
    }

    /// Ends the archive with two empty blocks and fills up the record. Returns its length.
    pub(super) fn finish(mut self) -> Result<u64, OpError> {
        self.add(&[0; 2 * BLOCK])?;
        if !self.record.is_empty() {
            let room = self.room();
            self.add(&vec![0; room])?;
        }
        Ok(self.written)
    }
}

/// An error in reading the archive at `path`.
pub(super) fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> OpError + '_ {
    move |error| OpError::new("read the archive", path, error)
}

#[cfg(test)]
mod tests;
