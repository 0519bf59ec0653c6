//! What archives are read from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A stream of bytes that can be passed over.
pub(crate) trait Stream: BufRead {
    /// Goes on behind the next `bytes`.
    ///
    /// # Errors
    /// `UnexpectedEof` where there are fewer.
    fn pass_over(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let length = self.fill_buf()?.len();
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let length = length.min(usize::try_from(bytes).unwrap_or(length));
            self.consume(length);
            bytes -= length as u64;
        }
        Ok(())
    }
}

impl<R: Read + ?Sized> Stream for BufReader<Box<R>> {}
impl Stream for &[u8] {}

impl<S: Stream + ?Sized> Stream for &mut S {
    fn pass_over(&mut self, bytes: u64) -> io::Result<()> {
        (**self).pass_over(bytes)
    }
}

/// A file, of which nothing is read that is passed over.
pub(crate) struct PlainFile {
    reader: BufReader<File>,
    left: u64,
}

impl PlainFile {
    /// The file at `path`, from its beginning.
    pub(crate) fn open(path: &Path) -> io::Result<PlainFile> {
        let file = File::open(path)?;
        let left = file.metadata()?.len();
        Ok(PlainFile { reader: BufReader::with_capacity(64 << 10, file), left })
    }
}

impl Read for PlainFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(got as u64);
        Ok(got)
    }
}

impl BufRead for PlainFile {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes as u64);
        self.reader.consume(bytes);
    }
}

impl Stream for PlainFile {
    fn pass_over(&mut self, bytes: u64) -> io::Result<()> {
        let way = i64::try_from(bytes).ok().filter(|_| bytes <= self.left);
        self.reader.seek_relative(way.ok_or(io::ErrorKind::UnexpectedEof)?)?;
        self.left -= bytes;
        Ok(())
    }
}
