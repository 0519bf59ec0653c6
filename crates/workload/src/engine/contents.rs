//! The contents of files, where no original prescribes them: how well they compress and what share
//! is duplicate, by the same parameters for all workloads. By default they neither compress nor
//! repeat.

use crate::typed::FractionParameter;
use crate::{Draw, Parameters, Seed};

/// How well contents compress.
pub(crate) const COMPRESSIBLE: FractionParameter = FractionParameter::new(
    "compressible",
    "How much of every 4 KiB of contents is zeros; the rest is random.",
    "0",
);
/// What share of them is duplicate.
pub(crate) const DUPLICATE: FractionParameter = FractionParameter::new(
    "duplicate",
    "Share of the 4 KiB pages that are duplicates: equal to other duplicates at the same position \
     in a block of contents.",
    "0",
);

/// Distance of marks, and the unit that is compressible or duplicate.
const PAGE: usize = 4096;
/// The mark of pages that are duplicates of each other.
const DUPLICATE_MARK: u64 = 0x6564_6174_7369_6874;

/// What contents are like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filling {
    compressible: f64,
    duplicate: f64,
}

impl Filling {
    /// Neither compresses nor repeats.
    pub(crate) const RANDOM: Filling = Filling { compressible: 0.0, duplicate: 0.0 };

    /// As asked for by a workload that declares [`COMPRESSIBLE`] and [`DUPLICATE`].
    pub(crate) fn of(parameters: &Parameters) -> Filling {
        Filling {
            compressible: parameters.get(&COMPRESSIBLE),
            duplicate: parameters.get(&DUPLICATE),
        }
    }

    /// As asked for by one that declares [`COMPRESSIBLE`] alone, since it marks its records.
    pub(crate) fn compressible(parameters: &Parameters) -> Filling {
        Filling { compressible: parameters.get(&COMPRESSIBLE), duplicate: 0.0 }
    }

    /// Fills a block with random bytes, and the end of each page with its share of zeros.
    pub(crate) fn fill(self, draw: &mut Draw, block: &mut [u8]) {
        draw.fill(block);
        for page in block.chunks_mut(PAGE) {
            let random = (page.len() as f64 * (1.0 - self.compressible)).round() as usize;
            page[random..].fill(0);
        }
    }

    /// Marks each page of `bytes`, of which the first has this number: as its own, or as a
    /// duplicate.
    #[inline]
    fn mark(self, first: u64, step: u64, bytes: &mut [u8]) {
        let mut place = first;
        for page in bytes.chunks_mut(PAGE) {
            let mark = if self.duplicate > 0.0 && self.is_duplicate(place) {
                DUPLICATE_MARK
            } else {
                place
            };
            let mark = mark.to_le_bytes();
            let fits = mark.len().min(page.len());
            page[..fits].copy_from_slice(&mark[..fits]);
            place = place.wrapping_add(step);
        }
    }

    /// Decided by the place alone, so that a file can be checked without keeping it.
    fn is_duplicate(self, place: u64) -> bool {
        let mut mixed = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) as f64) < self.duplicate * 2f64.powi(64)
    }
}

/// A block of one file. In a file every 4 KiB begin with their own offset, so that no two are
/// equal unless they are meant to be.
pub(crate) struct Contents {
    block: Vec<u8>,
    mark: u64,
    filling: Filling,
}

impl Contents {
    /// A block of this length for one file; touched, so that no clock sees its page faults.
    pub(crate) fn new(seed: Seed, file: &str, length: usize, filling: Filling) -> Contents {
        let mut block = vec![0; length];
        filling.fill(&mut seed.stream("file contents"), &mut block);
        Contents { block, mark: seed.stream(file).bits(), filling }
    }

    /// The first `length` bytes of what belongs at `offset`, a multiple of the block.
    #[inline]
    pub(crate) fn at(&mut self, offset: u64, length: usize) -> &[u8] {
        let length = length.min(self.block.len());
        let first = self.mark.wrapping_add(offset);
        self.filling.mark(first, PAGE as u64, &mut self.block[..length]);
        &self.block[..length]
    }

    /// Fills `piece` with what belongs at any `offset`. Not for use within a clock.
    pub(crate) fn copy(&mut self, offset: u64, piece: &mut [u8]) {
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
    pub(crate) fn block(&self) -> usize {
        self.block.len()
    }
}

/// Marks what a thread writes again and again out of one buffer.
pub(crate) struct Marker {
    filling: Filling,
    next: u64,
}

impl Marker {
    /// For one thread, by its name.
    pub(crate) fn new(seed: Seed, thread: &str, filling: Filling) -> Marker {
        Marker { filling, next: seed.stream(thread).bits() }
    }

    /// Makes the pages of `bytes` unique, except for the share of duplicates.
    #[inline]
    pub(crate) fn mark(&mut self, bytes: &mut [u8]) {
        self.filling.mark(self.next, 1, bytes);
        self.next = self.next.wrapping_add(bytes.len().div_ceil(PAGE) as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Write;

    use super::*;

    fn filling(compressible: f64, duplicate: f64) -> Filling {
        Filling { compressible, duplicate }
    }

    /// Share of pages that were there before, and size after compression as a share.
    fn measured(filling: Filling) -> (f64, f64) {
        let mut contents = Contents::new(Seed(1), "f", 64 << 10, filling);
        let mut whole = Vec::new();
        for block in 0..32u64 {
            whole.extend_from_slice(contents.at(block * (64 << 10), 64 << 10));
        }
        let pages: HashSet<&[u8]> = whole.chunks(PAGE).collect();
        let again = 1.0 - pages.len() as f64 / (whole.len() / PAGE) as f64;
        // Page by page, since a filesystem compresses in small units too.
        let compressed: usize = whole
            .chunks(PAGE)
            .map(|page| {
                let mut encoder =
                    flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(page).unwrap();
                encoder.finish().unwrap().len().min(PAGE)
            })
            .sum();
        (again, compressed as f64 / whole.len() as f64)
    }

    #[test]
    fn contents_compress_and_repeat_as_asked_for() {
        assert_eq!(measured(filling(0.0, 0.0)), (0.0, 1.0));
        let (again, size) = measured(filling(0.75, 0.0));
        assert!(again == 0.0 && (0.24..0.29).contains(&size), "{again} {size}");
        let (again, _) = measured(filling(0.0, 0.5));
        assert!((0.35..0.6).contains(&again), "{again}");
        assert_eq!(measured(filling(0.0, 1.0)).0, 1.0 - 16.0 / 512.0, "one block, again and again");
    }

    /// A page is a duplicate when its hash, as a fraction of 2^64, is below the share. The hashes
    /// are what SplitMix64 is published to give: four numbers from each of two states.
    #[test]
    fn the_same_pages_are_duplicates_for_ever() {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let zero = [
            0xe220_a839_7b1d_cdaf_u64,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
            0xf88b_b8a8_724c_81ec,
        ];
        let other: [u64; 4] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ];
        for (state, hashes) in [(0_u64, zero), (1_234_567, other)] {
            for (number, hash) in (0_u64..).zip(hashes) {
                let place = state.wrapping_add(STEP.wrapping_mul(number));
                let share = hash as f64 / 2f64.powi(64);
                assert!(!filling(0.0, share).is_duplicate(place), "{place}");
                assert!(filling(0.0, share + f64::EPSILON).is_duplicate(place), "{place}");
            }
        }
    }

    #[test]
    fn a_piece_from_anywhere_is_what_whole_blocks_have_there() {
        let mut contents = Contents::new(Seed(1), "f", 8192, filling(0.25, 0.5));
        let mut whole = Vec::new();
        for block in 0..4u64 {
            whole.extend_from_slice(contents.at(block * 8192, 8192));
        }
        // Within a block, from one to its end, and over parts of four.
        for (offset, length) in [(100_usize, 50), (8000, 192), (5000, 20_000), (8192, 24_576)] {
            let mut piece = vec![0; length];
            contents.copy(offset as u64, &mut piece);
            assert!(piece == whole[offset..offset + length], "{length} bytes at {offset}");
        }
    }

    #[test]
    fn what_a_thread_writes_is_new_each_time() {
        let mut marker = Marker::new(Seed(1), "thread 0", filling(0.0, 0.0));
        let mut buffer = vec![7; 10_000];
        let mut seen = HashSet::new();
        for _ in 0..50 {
            marker.mark(&mut buffer);
            assert!(buffer.chunks(PAGE).all(|page| seen.insert(page.to_vec())));
        }
    }
}
