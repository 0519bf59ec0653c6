//! The steps as system calls.

#[cfg(test)]
mod tests;

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom};

use super::description::{BUFFERED, READ_BLOCK, WRITE_BLOCK};
use super::plan::{File, Plan, Step};
use crate::engine::file_io::{read, write_all};
use crate::engine::path_buffer::PathBuffer;
use crate::typed::SizeParameter;
use crate::{Op, OpError, Parameters, Recorder};

/// Performs steps.
pub(super) struct Runner<'a> {
    target: BorrowedFd<'a>,
    text: &'a [u8],
    in_subdirectories: bool,
    buffered: bool,
    read_block: usize,
    write_block: usize,
    buffer: Vec<u8>,
    path: PathBuffer,
    bytes_read: u64,
    bytes_written: u64,
}

/// Largest buffer of a glibc stream.
const STREAM_MAX: usize = 8192;

impl<'a> Runner<'a> {
    pub(super) fn new(
        parameters: &Parameters,
        plan: &'a Plan,
        target: BorrowedFd<'a>,
        in_subdirectories: bool,
    ) -> Runner<'a> {
        let block =
            |size: &SizeParameter| (parameters.get(size).0 as usize).clamp(1, plan.text.len());
        let read_block = block(&READ_BLOCK);
        Runner {
            target,
            text: &plan.text,
            in_subdirectories,
            buffered: parameters.get(&BUFFERED),
            read_block,
            write_block: block(&WRITE_BLOCK),
            buffer: vec![1; read_block.max(STREAM_MAX)],
            path: PathBuffer::new(),
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    /// Bytes read and written so far.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.bytes_read, self.bytes_written)
    }

    /// Performs one step; `kinds` are its ops for create, read, append and delete.
    pub(super) fn perform(
        &mut self,
        step: Step,
        kinds: [Op; 4],
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let (fact, kind) = match step {
            Step::Create { file, bytes } => {
                self.write(file, bytes, false)?;
                recorder.wrote(u64::from(bytes));
                (bytes, 0)
            }
            Step::Read { file, bytes } => {
                self.read(file, bytes)?;
                recorder.read(u64::from(bytes));
                (file.number, 1)
            }
            Step::Append { file, bytes } => {
                self.write(file, bytes, true)?;
                recorder.wrote(u64::from(bytes));
                (bytes, 2)
            }
            Step::Delete { file } => {
                name(file, self.in_subdirectories, &mut self.path);
                rustix::fs::unlinkat(self.target, self.path.c_str(), AtFlags::empty())
                    .map_err(self.path.failed("unlink"))?;
                (file.number, 3)
            }
        };
        recorder.digest(u64::from(fact) << 2 | kind as u64);
        recorder.done(kinds[kind]);
        Ok(())
    }

    /// Writes the first `bytes` of the text to a new file or to the end of an old one.
    fn write(&mut self, file: File, bytes: u32, append: bool) -> Result<(), OpError> {
        name(file, self.in_subdirectories, &mut self.path);
        let flags = match (self.buffered, append) {
            (true, false) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            (true, true) => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
            (false, false) => OFlags::RDWR | OFlags::CREATE,
            (false, true) => OFlags::RDWR | OFlags::APPEND,
        };
        let mode = Mode::from_raw_mode(if self.buffered { 0o666 } else { 0o644 });
        let opened = rustix::fs::openat(self.target, self.path.c_str(), flags, mode)
            .map_err(self.path.failed("open"))?;
        if self.buffered && append {
            rustix::fs::seek(&opened, SeekFrom::End(0)).map_err(self.path.failed("seek"))?;
        }
        let piece = self.piece(&opened, self.write_block)?;
        let text = &self.text[..bytes as usize];
        for piece in text.chunks(piece) {
            write_all(&opened, piece).map_err(self.path.failed("write"))?;
        }
        if !self.buffered && text.len().is_multiple_of(piece) {
            // The original writes what is left after whole blocks, even if that is nothing.
            rustix::io::write(&opened, &[]).map_err(self.path.failed("write"))?;
        }
        self.bytes_written += u64::from(bytes);
        Ok(())
    }

    fn read(&mut self, file: File, bytes: u32) -> Result<(), OpError> {
        name(file, self.in_subdirectories, &mut self.path);
        let opened =
            rustix::fs::openat(self.target, self.path.c_str(), OFlags::RDONLY, Mode::empty())
                .map_err(self.path.failed("open"))?;
        let piece = self.piece(&opened, self.read_block)?;
        let mut left = bytes as usize;
        while left > 0 {
            // A stream reads its whole buffer; the unbuffered original reads what is left.
            let want = if self.buffered { piece } else { piece.min(left) };
            let got = read(&opened, &mut self.buffer[..want]).map_err(self.path.failed("read"))?;
            if got == 0 {
                let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
                return Err(self.path.failed("read")(short));
            }
            left = left.saturating_sub(got);
        }
        if !self.buffered && (bytes as usize).is_multiple_of(piece) {
            // Likewise for a read of zero bytes.
            read(&opened, &mut []).map_err(self.path.failed("read"))?;
        }
        self.bytes_read += u64::from(bytes);
        Ok(())
    }

    /// Size of one read or write: that of the stream's buffer, for which glibc asks fstat
    /// when the stream is first used, or the block asked for.
    fn piece(&self, opened: &OwnedFd, block: usize) -> Result<usize, OpError> {
        if !self.buffered {
            return Ok(block);
        }
        let stat = rustix::fs::fstat(opened).map_err(self.path.failed("stat"))?;
        Ok(usize::try_from(stat.st_blksize).unwrap_or(STREAM_MAX).clamp(512, STREAM_MAX))
    }
}

/// `s3/17`, or `17` without subdirectories.
pub(super) fn name(file: File, in_subdirectories: bool, path: &mut PathBuffer) {
    path.clear();
    if in_subdirectories {
        path.text("s").number(u64::from(file.subdirectory), 1).text("/");
    }
    path.number(u64::from(file.number), 1);
}
