//! Delivering one mail.

#[cfg(test)]
mod tests;

use std::io::BufRead;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::names::{Names, Tree};
use super::parameters::{self, Delivery, Durable, Flush};
use super::sources::Sources;
use crate::corpora::MailCorpus;
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::{OpError, Parameters};

/// The buffer of Perl's I/O layer before 5.14: size of its reads and buffered writes.
pub(crate) const BUFFER: usize = 4096;

/// Where a mail comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A file on the filesystem under test.
    Files(Sources),
    /// Memory.
    Memory(&'a MailCorpus),
}

/// How a mail is delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    delivery: Delivery,
    per_line: bool,
    fsync_file: bool,
    fsync_dir: bool,
}

impl Manner {
    pub(crate) fn of(parameters: &Parameters) -> Manner {
        let durable = parameters.get(&parameters::FSYNC);
        Manner {
            delivery: parameters.get(&parameters::DELIVERY),
            per_line: parameters.get(&parameters::FLUSH) == Flush::PerLine,
            fsync_file: durable != Durable::Nothing,
            fsync_dir: durable == Durable::FileAndDirectory,
        }
    }

    /// For mails that must exist beforehand, delivered outside the measurement.
    pub(crate) const PLAIN: Manner =
        Manner { delivery: Delivery::Rename, per_line: false, fsync_file: false, fsync_dir: false };
}

/// Bytes moved by one delivery.
pub(crate) struct Moved {
    pub(crate) read: u64,
    pub(crate) wrote: u64,
}

/// Delivers mails into maildirs, with buffers of its own.
pub(crate) struct Courier<'a> {
    target: BorrowedFd<'a>,
    tree: Tree,
    names: Names,
    source: Source<'a>,
    manner: Manner,
    buffer: Box<[u8; BUFFER]>,
    line: Vec<u8>,
    from: PathBuffer,
    tmp: PathBuffer,
    new: PathBuffer,
}

impl<'a> Courier<'a> {
    pub(crate) fn new(
        target: BorrowedFd<'a>,
        tree: Tree,
        names: Names,
        source: Source<'a>,
        manner: Manner,
    ) -> Courier<'a> {
        Courier {
            target,
            tree,
            names,
            source,
            manner,
            buffer: Box::new([1; BUFFER]),
            line: vec![1; 64 << 10],
            from: PathBuffer::new(),
            tmp: PathBuffer::new(),
            new: PathBuffer::new(),
        }
    }

    /// Delivery `number`: copies `mail` into `maildir`.
    pub(crate) fn deliver(
        &mut self,
        number: u64,
        mail: u32,
        maildir: u32,
    ) -> Result<Moved, OpError> {
        self.tree.maildir(maildir, &mut self.tmp);
        self.new.clear().bytes(self.tmp.as_bytes()).text("/new");
        let new_dir_len = self.new.len();
        self.tmp.text("/tmp/");
        self.names.delivered(number, &mut self.tmp);
        self.new.text("/");
        self.names.delivered(number, &mut self.new);

        // The original opens its source first. With mail from memory there is none.
        let source = match self.source {
            Source::Memory(_) => None,
            Source::Files(sources) => {
                sources.entry(mail, &mut self.from);
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let opened =
                    rustix::fs::openat(self.target, self.from.c_str(), flags, Mode::empty());
                Some(opened.map_err(self.from.failed("open"))?)
            }
        };
        let file = self.create()?;
        let moved = match (source, self.source) {
            (Some(source), _) => self.copy_file(source, &file)?,
            (None, Source::Memory(corpus)) => {
                let mail = corpus.mail(mail as usize % corpus.len());
                self.write_mail(mail, &file)?;
                Moved { read: 0, wrote: mail.len() as u64 }
            }
            (None, Source::Files(_)) => Moved { read: 0, wrote: 0 },
        };
        if self.manner.fsync_file {
            rustix::fs::fsync(&file).map_err(self.tmp.failed("fsync"))?;
        }
        drop(file);
        self.publish(new_dir_len)?;
        Ok(moved)
    }

    fn create(&self) -> Result<OwnedFd, OpError> {
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let (flags, mode) = if self.manner.delivery == Delivery::Simple {
            (create | OFlags::TRUNC, 0o666)
        } else {
            match rustix::fs::statat(self.target, self.tmp.c_str(), AtFlags::empty()) {
                Err(Errno::NOENT) => {}
                // The specification waits two seconds and takes another name. Our names are
                // unique, so this is a leftover file, for which waiting is useless.
                Ok(_) => return Err(self.tmp.failed("create")(Errno::EXIST)),
                Err(error) => return Err(self.tmp.failed("stat")(error)),
            }
            (create | OFlags::EXCL, 0o644)
        };
        rustix::fs::openat(self.target, self.tmp.c_str(), flags, Mode::from_raw_mode(mode))
            .map_err(self.tmp.failed("create"))
    }

    /// Moves the complete mail from `tmp` to `new`.
    fn publish(&mut self, new_dir_len: usize) -> Result<(), OpError> {
        let (target, tmp, new) = (self.target, self.tmp.c_str(), self.new.c_str());
        if self.manner.delivery == Delivery::Classic {
            rustix::fs::linkat(target, tmp, target, new, AtFlags::empty())
                .map_err(self.new.failed("link"))?;
            rustix::fs::unlinkat(target, tmp, AtFlags::empty())
                .map_err(self.tmp.failed("unlink"))?;
        } else {
            rustix::fs::renameat(target, tmp, target, new).map_err(self.new.failed("rename"))?;
        }
        if self.manner.fsync_dir {
            self.new.truncate(new_dir_len);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = rustix::fs::openat(target, self.new.c_str(), flags, Mode::empty())
                .map_err(self.new.failed("open"))?;
            rustix::fs::fsync(&dir).map_err(self.new.failed("fsync"))?;
        }
        Ok(())
    }

    fn write_mail(&self, mail: &[u8], file: &OwnedFd) -> Result<(), OpError> {
        if self.manner.per_line {
            let mut rest = mail;
            while !rest.is_empty() {
                write_all(file, next_line(&mut rest)).map_err(self.tmp.failed("write"))?;
            }
        } else {
            for piece in mail.chunks(BUFFER) {
                write_all(file, piece).map_err(self.tmp.failed("write"))?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, source: OwnedFd, file: &OwnedFd) -> Result<Moved, OpError> {
        let mut total = 0;
        self.line.clear();
        loop {
            let got = read(&source, &mut self.buffer[..]).map_err(self.from.failed("read"))?;
            if got == 0 {
                break;
            }
            total += got as u64;
            let mut rest = &self.buffer[..got];
            if !self.manner.per_line {
                // Read and write buffers have one size and fill alike.
                write_all(file, rest).map_err(self.tmp.failed("write"))?;
                continue;
            }
            while !rest.is_empty() {
                let line = next_line(&mut rest);
                if line.ends_with(b"\n") && self.line.is_empty() {
                    write_all(file, line).map_err(self.tmp.failed("write"))?;
                    continue;
                }
                self.line.extend_from_slice(line);
                if line.ends_with(b"\n") {
                    write_all(file, &self.line).map_err(self.tmp.failed("write"))?;
                    self.line.clear();
                }
            }
        }
        write_all(file, &self.line).map_err(self.tmp.failed("write"))?;
        Ok(Moved { read: total, wrote: total })
    }
}

/// Takes a line with its newline, or what is left.
fn next_line<'t>(rest: &mut &'t [u8]) -> &'t [u8] {
    let all = *rest;
    // Reading from memory does not fail; `skip_until` is the standard library's memchr.
    let len = rest.skip_until(b'\n').unwrap_or(all.len());
    &all[..len]
}
