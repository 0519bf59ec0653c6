//! The flat directories of mails that are copied from and read: `write_src`, `read_src`.

#[cfg(test)]
mod tests;

use std::io::Read;
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::names::{EPOCH, scatter};
use crate::corpora::{MailCorpus, MailTar, TarEntries};
use crate::engine::file_io::{holds, list, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::{Failure, Op, OpError, Recorder};

/// A flat directory of mails. Entry `n` holds mail `n` of the corpus, from the start again
/// where the corpus is shorter; its name depends on `n` alone, so that any workload of a
/// sequence finds what another left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sources {
    pub(crate) directory: &'static str,
    pub(crate) count: u32,
}

impl Sources {
    /// The pool that deliveries copy from.
    pub(crate) fn write(count: u32) -> Sources {
        Sources { directory: "write_src", count }
    }

    /// The pool that the write test's reads take from.
    pub(crate) fn read(count: u32) -> Sources {
        Sources { directory: "read_src", count }
    }

    /// The path of an entry.
    #[inline]
    pub(crate) fn entry(self, number: u32, path: &mut PathBuffer) {
        let number = u64::from(number);
        path.clear()
            .text(self.directory)
            .text("/")
            .number(EPOCH - 40_000_000 + number * 37, 1)
            .text(".M")
            .number(scatter(number) % 1_000_000, 6)
            .text("P")
            .number(1000 + number % 29_989, 1)
            .text("Q")
            .number(number, 1)
            .text(".mail");
    }

    fn mail(self, number: u32, corpus: &MailCorpus) -> &[u8] {
        corpus.mail(number as usize % corpus.len())
    }

    /// Whether an earlier workload has left this directory.
    pub(crate) fn present(self, target: BorrowedFd<'_>) -> Result<bool, Failure> {
        let path = format!("{}\0", self.directory);
        let path = std::ffi::CStr::from_bytes_until_nul(path.as_bytes()).unwrap_or_default();
        match list(target, path, |_| {}) {
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(Failure::Input(format!("cannot list {}: {error}", self.directory))),
            Ok(found) if found == u64::from(self.count) => Ok(true),
            Ok(found) => Err(Failure::Input(format!(
                "{} holds {found} files and should hold {}: an earlier workload of the \
                 sequence was given another number of mails, or failed",
                self.directory, self.count
            ))),
        }
    }

    /// Unpacks the directory from a tar that is made on the fly, with the system calls of
    /// GNU tar 1.34 (traced): create exclusively, write up to the end of each 10 KiB record,
    /// set the time, as root also owner and mode, close.
    pub(crate) fn unpack(
        self,
        target: BorrowedFd<'_>,
        corpus: &MailCorpus,
        recorder: &mut Recorder<'_>,
        op: Op,
    ) -> Result<(), OpError> {
        let fail =
            |error: std::io::Error| OpError::new("read the archive of", self.directory, error);
        rustix::fs::mkdirat(target, self.directory, Mode::from_raw_mode(0o755))
            .map_err(|error| OpError::new("mkdir", self.directory, error))?;
        let as_root = rustix::process::geteuid().is_root();
        // As root tar creates the file for itself and widens the mode when it is complete.
        let mode = Mode::from_raw_mode(if as_root { 0o600 } else { 0o644 });
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOCTTY
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let mut archive = tar::Archive::new(MailTar::new(corpus, self));
        let mut buffer = vec![1; RECORD];
        let mut path = PathBuffer::new();
        recorder.restart();
        for entry in archive.entries().map_err(fail)? {
            let mut entry = entry.map_err(fail)?;
            path.clear().bytes(&entry.path_bytes());
            let size = entry.size();
            let file = rustix::fs::openat(target, path.c_str(), flags, mode)
                .map_err(path.failed("create"))?;
            let mut chunk = RECORD - entry.raw_file_position() as usize % RECORD;
            let mut left = size;
            while left > 0 {
                let want = chunk.min(usize::try_from(left).unwrap_or(chunk));
                entry.read_exact(&mut buffer[..want]).map_err(fail)?;
                write_all(&file, &buffer[..want]).map_err(path.failed("write"))?;
                left -= want as u64;
                chunk = RECORD;
            }
            let header = entry.header();
            let mtime = header.mtime().map_err(fail)?;
            let times = Timestamps {
                last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
                last_modification: Timespec { tv_sec: mtime as i64, tv_nsec: 0 },
            };
            rustix::fs::futimens(&file, &times).map_err(path.failed("set the time of"))?;
            if as_root {
                let uid = Uid::from_raw(header.uid().map_err(fail)? as u32);
                let gid = Gid::from_raw(header.gid().map_err(fail)? as u32);
                rustix::fs::fchown(&file, Some(uid), Some(gid)).map_err(path.failed("chown"))?;
                rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))
                    .map_err(path.failed("chmod"))?;
            }
            drop(file);
            recorder.digest(size);
            recorder.wrote(size);
            recorder.done(op);
        }
        Ok(())
    }

    /// Reads every file back and counts them.
    pub(crate) fn verify(self, target: BorrowedFd<'_>, corpus: &MailCorpus) -> Result<(), Failure> {
        let mut path = PathBuffer::new();
        for number in 0..self.count {
            self.entry(number, &mut path);
            match holds(target, path.c_str(), self.mail(number, corpus)) {
                Ok(true) => {}
                Ok(false) => {
                    return Err(Failure::Verify(format!("{path} has other contents than written")));
                }
                Err(error) => return Err(Failure::Verify(format!("{path}: {error}"))),
            }
        }
        // Every name was found; an equal count means that there is no other file.
        self.present(target).map_err(|failure| Failure::Verify(failure.to_string()))?;
        Ok(())
    }
}

const RECORD: usize = 10240;

impl TarEntries for Sources {
    fn count(&self) -> u64 {
        u64::from(self.count)
    }

    fn path(&self, number: u64, path: &mut String) {
        let mut buffer = PathBuffer::new();
        self.entry(number as u32, &mut buffer);
        // Letters, digits and marks of ASCII.
        path.push_str(std::str::from_utf8(buffer.as_bytes()).unwrap_or_default());
    }

    fn mtime(&self, number: u64) -> u64 {
        EPOCH - 40_000_000 + number * 37
    }
}
