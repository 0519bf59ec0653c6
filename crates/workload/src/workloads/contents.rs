//! What large files are filled with: blocks that neither compress nor repeat, checked later
//! without keeping them.

use crate::Seed;

/// A block of random bytes. In a file every 4 KiB begin with their own place, so that no two
/// are equal.
pub(super) struct Contents {
    block: Vec<u8>,
    mark: u64,
}

/// Distance of marks.
const PAGE: usize = 4096;

impl Contents {
    /// A block of this length for one file; touched, so that no clock sees its page faults.
    pub(super) fn new(seed: Seed, file: &str, length: usize) -> Contents {
        let mut block = vec![0; length];
        let mut draw = seed.stream("file contents");
        draw.fill(&mut block);
        Contents { block, mark: seed.stream(file).bits() }
    }

    /// The first `length` bytes of what belongs at `offset`, a multiple of the block.
    #[inline]
    pub(super) fn at(&mut self, offset: u64, length: usize) -> &[u8] {
        let length = length.min(self.block.len());
        for (page, bytes) in self.block[..length].chunks_mut(PAGE).enumerate() {
            let place = self.mark.wrapping_add(offset + (page * PAGE) as u64).to_le_bytes();
            let fits = place.len().min(bytes.len());
            bytes[..fits].copy_from_slice(&place[..fits]);
        }
        &self.block[..length]
    }

    /// Fills `piece` with what belongs at any `offset`. Not for use within a clock.
    pub(super) fn copy(&mut self, offset: u64, piece: &mut [u8]) {
        let block = self.block.len();
        let mut done = 0;
        while done < piece.len() {
            let at = offset + done as u64;
            let within = (at % block as u64) as usize;
            let length = (block - within).min(piece.len() - done);
            let whole = self.at(at - within as u64, block);
            piece[done..done + length].copy_from_slice(&whole[within..within + length]);
            done += length;
        }
    }

    /// Length of a whole block.
    pub(super) fn block(&self) -> usize {
        self.block.len()
    }
}
