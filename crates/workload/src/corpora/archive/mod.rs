//! Reads tar archives as GNU tar does: sparse files of all its formats, extended headers, names
//! with `.` and empty parts, labels and lists of directories.
//!
//! The fields of a header are read by the crate `tar`. Its own reader fills the holes of some
//! sparse files, takes others for plain files and does not tell where holes are, so the order of
//! headers is read here. Names and links are bytes throughout.

mod cursor;
mod error;
mod extended;
mod formats;
mod member;
mod sparse;
#[cfg(test)]
mod tests;

use std::io::Write;

use tar::Header;

pub(crate) use self::cursor::{PlainFile, Stream};
pub(crate) use self::error::ArchiveError;
use self::extended::Extended;
pub(crate) use self::formats::{Program, name_of, program_for};
use self::member::inside;
pub(crate) use self::member::{Kind, Member};

pub(crate) const BLOCK: usize = 512;
/// Longest text of an extended header, which is held in memory.
const TEXT_MAX: u64 = 16 << 20;

/// An archive that is being read, one member after the other.
pub(crate) struct Reader<S> {
    stream: S,
    block: [u8; BLOCK],
    /// Contents of the present member that are not read yet, and what fills up their last block.
    left: u64,
    padding: u64,
    global: Extended,
    extended: Extended,
    /// The long name and the long target of the next member, in GNU's own format.
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    /// The name last read, for messages.
    last: Vec<u8>,
    headers: Option<Headers>,
}

/// Headers as they stand in the archive, to copy a part of it.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// Those for all members that follow.
    pub(crate) global: Vec<u8>,
    /// Those of the present member.
    pub(crate) own: Vec<u8>,
}

impl<S: Stream> Reader<S> {
    /// At the beginning of an archive.
    pub(crate) fn new(stream: S) -> Reader<S> {
        Reader {
            stream,
            block: [0; BLOCK],
            left: 0,
            padding: 0,
            global: Extended::default(),
            extended: Extended::default(),
            long_name: None,
            long_link: None,
            last: Vec::new(),
            headers: None,
        }
    }

    /// The same, which keeps the headers.
    pub(crate) fn keeping_headers(self) -> Reader<S> {
        Reader { headers: Some(Headers::default()), ..self }
    }

    /// The headers since they were last taken.
    pub(crate) fn take_headers(&mut self) -> Headers {
        self.headers.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Goes on to the next member; false at the end of the archive.
    ///
    /// # Errors
    /// When the archive is cut off or damaged, or GNU tar would not unpack the member.
    pub(crate) fn next(&mut self, member: &mut Member) -> Result<bool, ArchiveError> {
        self.pass_over()?;
        self.extended.clear();
        (self.long_name, self.long_link) = (None, None);
        let mut described = false;
        while self.header()? {
            let header = Header::from_byte_slice(&self.block).clone();
            match header.entry_type().as_byte() {
                b'L' => self.long_name = Some(self.name(&header)?),
                b'K' => self.long_link = Some(self.name(&header)?),
                b'x' | b'X' => {
                    let text = self.text(&header)?;
                    self.extended.read(&text).map_err(|why| self.damaged(why))?;
                }
                b'g' => {
                    let text = self.text(&header)?;
                    self.global.read(&text).map_err(|why| self.damaged(why))?;
                    if let Some(headers) = &mut self.headers {
                        headers.global.append(&mut headers.own);
                    }
                    continue;
                }
                // The label of a volume.
                b'V' => {
                    // GNU tar leaves the size out.
                    self.begin_contents(header.entry_size().unwrap_or(0));
                    self.pass_over()?;
                    if let Some(headers) = &mut self.headers {
                        headers.own.clear();
                    }
                    continue;
                }
                _ => return self.member(&header, member).map(|()| true),
            }
            described = true;
        }
        match described {
            true => Err(self.cut_off()),
            false => Ok(false),
        }
    }

    /// The next piece of the member's contents, as long as the stream has at once; empty at their
    /// end. Of a sparse file only what is no hole.
    pub(crate) fn piece(&mut self) -> Result<&[u8], ArchiveError> {
        if self.left == 0 {
            return Ok(&[]);
        }
        let length = self.stream.fill_buf()?.len();
        if length == 0 {
            return Err(self.cut_off());
        }
        let length = length.min(usize::try_from(self.left).unwrap_or(length));
        Ok(&self.stream.fill_buf()?[..length])
    }

    /// `bytes` of the last piece are done with.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.stream.consume(bytes);
        self.left -= bytes as u64;
    }

    /// Copies the contents with what fills up their last block. The inner error is that of `to`.
    pub(crate) fn copy_contents(
        &mut self,
        to: &mut impl Write,
    ) -> Result<std::io::Result<()>, ArchiveError> {
        loop {
            let piece = self.piece()?;
            if piece.is_empty() {
                return Ok(to.write_all(&[0; BLOCK][..self.padding as usize]));
            }
            let written = to.write_all(piece);
            let length = piece.len();
            self.consume(length);
            if written.is_err() {
                return Ok(written);
            }
        }
    }

    /// An error in the present member.
    pub(crate) fn refuse(&self, why: impl Into<String>) -> ArchiveError {
        ArchiveError::Member { member: text::name(&self.last), why: why.into() }
    }

    fn cut_off(&self) -> ArchiveError {
        ArchiveError::CutOff { after: (!self.last.is_empty()).then(|| text::name(&self.last)) }
    }

    fn damaged(&self, why: impl Into<String>) -> ArchiveError {
        let after = (!self.last.is_empty()).then(|| text::name(&self.last));
        ArchiveError::Damaged { after, why: why.into() }
    }

    fn begin_contents(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    /// To the end of the present member.
    fn pass_over(&mut self) -> Result<(), ArchiveError> {
        let bytes = self.left.checked_add(self.padding).ok_or_else(|| self.cut_off())?;
        (self.left, self.padding) = (0, 0);
        self.stream.pass_over(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.cut_off(),
            _ => error.into(),
        })
    }

    /// Reads a block that is part of the archive; false where the stream ends before it.
    fn read_block(&mut self) -> Result<bool, ArchiveError> {
        let mut read = 0;
        while read < BLOCK {
            let piece = self.stream.fill_buf()?;
            let length = piece.len().min(BLOCK - read);
            self.block[read..read + length].copy_from_slice(&piece[..length]);
            self.stream.consume(length);
            read += length;
            if length == 0 {
                return if read == 0 { Ok(false) } else { Err(self.cut_off()) };
            }
        }
        if let Some(headers) = &mut self.headers {
            headers.own.extend_from_slice(&self.block);
        }
        Ok(true)
    }

    /// Reads the next header; false at the end of the archive. As with GNU tar one empty block
    /// ends it, and so does the end of the file.
    fn header(&mut self) -> Result<bool, ArchiveError> {
        let read = self.read_block().map_err(|error| match error {
            ArchiveError::CutOff { after: None } => self.no_tar(),
            error => error,
        })?;
        if !read || self.block.iter().all(|byte| *byte == 0) {
            return Ok(false);
        }
        let header = Header::from_byte_slice(&self.block);
        // The field of the sum counts as spaces.
        let others = self.block[..148].iter().chain(&self.block[156..]);
        let sum = others.fold(8 * u32::from(b' '), |sum, byte| sum + u32::from(*byte));
        match header.cksum() {
            Ok(expected) if expected == sum => Ok(true),
            _ if self.last.is_empty() => Err(self.no_tar()),
            _ => Err(self.damaged("no header is where the next one should be")),
        }
    }

    fn no_tar(&self) -> ArchiveError {
        ArchiveError::NoTar { format: name_of(&self.block) }
    }

    /// A number of a header.
    fn number<T>(&self, read: std::io::Result<T>, field: &str) -> Result<T, ArchiveError> {
        read.map_err(|_| self.damaged(format!("the {field} in a header is no number")))
    }

    fn size(&self, header: &Header) -> Result<u64, ArchiveError> {
        self.number(header.entry_size(), "size")
    }

    /// The text that a header announces.
    fn text(&mut self, header: &Header) -> Result<Vec<u8>, ArchiveError> {
        let size = self.size(header)?;
        if size > TEXT_MAX {
            return Err(self.damaged(format!("an extended header of {size} bytes")));
        }
        let mut text = Vec::new();
        for _ in 0..size.div_ceil(BLOCK as u64) {
            if !self.read_block()? {
                return Err(self.cut_off());
            }
            text.extend_from_slice(&self.block);
        }
        text.truncate(size as usize);
        Ok(text)
    }

    /// A long name, which ends with a NUL.
    fn name(&mut self, header: &Header) -> Result<Vec<u8>, ArchiveError> {
        let mut text = self.text(header)?;
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        Ok(text)
    }

    fn member(&mut self, header: &Header, member: &mut Member) -> Result<(), ArchiveError> {
        let written = self.take_name(header);
        self.last.clone_from(&written);
        let kind = header.entry_type().as_byte();
        member.kind = Kind::of(kind, written.ends_with(b"/")).map_err(|why| self.refuse(why))?;
        member.path.clear();
        inside(&written, &mut member.path).map_err(|why| self.refuse(why))?;
        self.take_link(header, member)?;
        member.mode = self.number(header.mode(), "mode")? & 0o7777;
        let (own, all) = (&self.extended, &self.global);
        let (uid, gid) = (own.uid.or(all.uid), own.gid.or(all.gid));
        let (time, archived) = (own.mtime.or(all.mtime), own.size.or(all.size));
        member.owner = (
            uid.map_or_else(|| self.number(header.uid(), "owner"), Ok)?,
            gid.map_or_else(|| self.number(header.gid(), "group"), Ok)?,
        );
        let seconds = |time: u64| (time as i64, 0);
        member.mtime = time.map_or_else(|| self.number(header.mtime(), "time").map(seconds), Ok)?;
        let archived = match member.kind {
            // As with GNU tar: old archives have the size of the file here, and no contents.
            Kind::HardLink => 0,
            _ => archived.map_or_else(|| self.size(header), Ok)?,
        };
        self.begin_contents(archived);
        member.size = archived;
        member.pieces.clear();
        member.sparse = false;
        if member.kind == Kind::File {
            self.take_holes(header, member)?;
        }
        match i64::try_from(member.size) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.refuse("no file can be that large")),
        }
    }

    fn take_name(&mut self, header: &Header) -> Vec<u8> {
        let extended = &mut self.extended;
        let names = [extended.sparse.name.take(), extended.path.take(), self.long_name.take()];
        let given = names.into_iter().flatten().next();
        given.or_else(|| self.global.path.clone()).unwrap_or_else(|| header.path_bytes().into())
    }

    fn take_link(&mut self, header: &Header, member: &mut Member) -> Result<(), ArchiveError> {
        member.link.clear();
        if !matches!(member.kind, Kind::HardLink | Kind::Symlink) {
            return Ok(());
        }
        let given = self.extended.link.take().or_else(|| self.long_link.take());
        let target =
            given.unwrap_or_else(|| header.link_name_bytes().unwrap_or_default().into_owned());
        if target.is_empty() {
            return Err(self.refuse("the link has no target"));
        }
        match member.kind {
            Kind::Symlink => member.link = target,
            _ => inside(&target, &mut member.link).map_err(|_| {
                self.refuse(format!("it is a link to {} outside", text::name(&target)))
            })?,
        }
        match member.link.contains(&0) {
            true => Err(self.refuse("the link's target has a NUL byte")),
            false => Ok(()),
        }
    }
}
