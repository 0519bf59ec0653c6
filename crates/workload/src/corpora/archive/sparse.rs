//! Where the contents of a sparse file lie: GNU's old format, and the versions 0.0, 0.1 and 1.0 of
//! pax.

use tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

use super::{ArchiveError, BLOCK, Member, Reader, Stream};

/// Most pieces of one file, whose list is held in memory.
const PIECES_MAX: usize = 4_000_000;

impl<S: Stream> Reader<S> {
    /// Takes the map of a sparse file, in the headers or before the contents.
    pub(super) fn take_holes(
        &mut self,
        header: &Header,
        member: &mut Member,
    ) -> Result<(), ArchiveError> {
        let old = header.entry_type().is_gnu_sparse();
        let map = match (&mut self.extended.sparse.map, self.extended.sparse.major) {
            _ if old => self.old_map(header, member)?,
            (Some(map), _) => std::mem::take(map),
            (None, Some(1)) => self.map_before_contents()?,
            (None, Some(_)) => {
                return Err(self.refuse("its map of holes is of a version not known"));
            }
            (None, None) => return Ok(()),
        };
        if !old {
            let size = self.extended.sparse.size;
            member.size = size.ok_or_else(|| self.refuse("a sparse file without its size"))?;
        }
        member.sparse = true;
        let (pairs, rest) = map.as_chunks::<2>();
        let mut end = 0;
        let mut contents = 0u64;
        let mut fits = rest.is_empty();
        for &[offset, length] in pairs {
            let behind = offset.checked_add(length);
            fits &= offset >= end && behind.is_some_and(|behind| behind <= member.size);
            (end, contents) = (behind.unwrap_or(u64::MAX), contents.saturating_add(length));
            if length > 0 {
                member.pieces.push((offset, length));
            }
        }
        match fits && contents == self.left {
            true => Ok(()),
            false => Err(self.refuse("its map of holes does not fit its contents")),
        }
    }

    /// Four pieces are in the header, 21 in each block that follows it.
    fn old_map(&mut self, header: &Header, member: &mut Member) -> Result<Vec<u64>, ArchiveError> {
        let Some(gnu) = header.as_gnu() else {
            return Err(self.refuse("it is sparse in a format other than GNU's"));
        };
        let mut map = Vec::new();
        self.add(&gnu.sparse, &mut map)?;
        let mut more = gnu.is_extended();
        while more {
            if !self.read_block()? {
                return Err(self.cut_off());
            }
            let mut block = GnuExtSparseHeader::new();
            block.as_mut_bytes().copy_from_slice(&self.block);
            self.add(&block.sparse, &mut map)?;
            more = block.is_extended();
        }
        member.size = self.number(gnu.real_size(), "size of a sparse file")?;
        Ok(map)
    }

    fn add(&self, pieces: &[GnuSparseHeader], map: &mut Vec<u64>) -> Result<(), ArchiveError> {
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            map.push(self.number(piece.offset(), "map of holes")?);
            map.push(self.number(piece.length(), "map of holes")?);
        }
        self.at_most(map.len())
    }

    fn at_most(&self, numbers: usize) -> Result<(), ArchiveError> {
        match numbers / 2 > PIECES_MAX {
            true => Err(self.refuse(format!("it has more than {PIECES_MAX} holes"))),
            false => Ok(()),
        }
    }

    /// Version 1.0: how many pieces, then their offsets and lengths, each on a line of its own, in
    /// blocks before the contents.
    fn map_before_contents(&mut self) -> Result<Vec<u64>, ArchiveError> {
        let mut map = Vec::new();
        let mut wanted: Option<usize> = None;
        let mut digits = Vec::new();
        while wanted.is_none_or(|wanted| map.len() < wanted) {
            self.left = match self.left.checked_sub(BLOCK as u64) {
                Some(left) if self.read_block()? => left,
                _ => return Err(self.refuse("its map of holes is cut off")),
            };
            for byte in self.block {
                if byte != b'\n' {
                    digits.push(byte);
                    continue;
                }
                let number = std::str::from_utf8(&digits).ok().and_then(|text| text.parse().ok());
                let number: u64 = number.ok_or_else(|| self.refuse("its map of holes is none"))?;
                digits.clear();
                match wanted {
                    None => {
                        let pieces = usize::try_from(number).unwrap_or(usize::MAX);
                        self.at_most(pieces.saturating_mul(2))?;
                        wanted = Some(2 * pieces);
                    }
                    Some(_) => map.push(number),
                }
                if wanted == Some(map.len()) {
                    break;
                }
            }
        }
        Ok(map)
    }
}
