//! The contents of a simulated disk: pages of 4 KiB in a [`Region`]. Memory grows with the data
//! that is really written; a page of one repeated byte is only an index entry and takes none.
//!
//! The layout in the region is fixed, so that the same writes give the same bytes, and a
//! host can open what a guest has written:
//!
//! ```text
//! frame 0          header
//! frames 1..=r     root: one u32 for each 1024 pages, the frame of their index, or 0
//! other frames     index frames (1024 × u32), data frames, freed frames in a list
//! ```
//!
//! An index entry is 0 for a page never written (zeros), `0x8000_0000 | byte` for a page of
//! one byte, else the number of its frame. All numbers are little-endian.

use units::{Bytes, Lba, SECTOR_BYTES};

use crate::region::Region;

/// Bytes of a page and of a frame.
const PAGE_BYTES: u64 = 4096;

const MAGIC: [u8; 8] = *b"fstpages";
const VERSION: u32 = 1;
const ENTRIES: u64 = PAGE_BYTES / 4;
const UNIFORM: u32 = 0x8000_0000;

/// Why the contents cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageStoreError {
    /// The region is full.
    #[error(
        "the disk's memory is full: {used} of {limit} are in use; give the lab a larger disk memory"
    )]
    Full {
        /// What is in use.
        used: Bytes,
        /// The region's size.
        limit: Bytes,
    },
    /// The range is not on the disk, or not whole sectors.
    #[error("{bytes} bytes at {lba} are not whole sectors of a disk of {sectors} sectors")]
    Range {
        /// First sector.
        lba: Lba,
        /// Bytes asked for.
        bytes: u64,
        /// The disk's size.
        sectors: u64,
    },
    /// The region holds something else.
    #[error("the memory holds no disk contents of version {VERSION}: {problem}")]
    Foreign {
        /// What was seen.
        problem: String,
    },
    /// The disk is too large to be addressed.
    #[error("a disk of {sectors} sectors does not fit: at most {most} in this memory")]
    TooLarge {
        /// The size asked for.
        sectors: u64,
        /// The largest possible.
        most: u64,
    },
}

/// How the memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageUse {
    /// Frames that hold data.
    pub data_frames: u64,
    /// Frames that hold the index, the root and the header.
    pub index_frames: u64,
    /// Freed frames that wait to be used again.
    pub free_frames: u64,
    /// Pages of one repeated byte other than zero.
    pub uniform_pages: u64,
}

impl PageUse {
    /// Bytes of the region that have been touched.
    pub fn bytes(&self) -> Bytes {
        Bytes((self.data_frames + self.index_frames + self.free_frames) * PAGE_BYTES)
    }
}

/// The contents of a disk.
#[derive(Debug)]
pub struct PageStore<R> {
    region: R,
    sectors: u64,
    /// Frames handed out so far, header and root included.
    frames: u64,
    free: u32,
    used: PageUse,
}

impl<R: Region> PageStore<R> {
    /// An empty disk of `sectors` in a region that is all zeros.
    ///
    /// # Errors
    /// When the region cannot hold even the root.
    pub fn create(region: R, sectors: u64) -> Result<PageStore<R>, PageStoreError> {
        let root = root_frames(sectors);
        let most =
            ((region.len() / PAGE_BYTES).saturating_sub(2) * ENTRIES * ENTRIES * 8).min(1 << 40);
        if sectors == 0 || sectors > most {
            return Err(PageStoreError::TooLarge { sectors, most });
        }
        let used = PageUse { index_frames: 1 + root, ..PageUse::default() };
        let mut store = PageStore { region, sectors, frames: 1 + root, free: 0, used };
        store.write_header();
        Ok(store)
    }

    /// The disk that a region holds.
    ///
    /// # Errors
    /// When it holds none.
    pub fn open(region: R) -> Result<PageStore<R>, PageStoreError> {
        let foreign = |problem: &str| PageStoreError::Foreign { problem: problem.to_owned() };
        if region.len() < PAGE_BYTES {
            return Err(foreign("it is smaller than a page"));
        }
        let mut header = [0u8; 72];
        region.read_at(0, &mut header);
        let number = |index: usize| {
            u64::from_le_bytes(header[index..index + 8].try_into().unwrap_or_default())
        };
        if header[..8] != MAGIC {
            return Err(foreign("it does not begin with the mark of one"));
        }
        if number(8) != u64::from(VERSION) {
            return Err(foreign(&format!("it is of version {}", number(8))));
        }
        let used = PageUse {
            data_frames: number(40),
            index_frames: number(48),
            free_frames: number(56),
            uniform_pages: number(64),
        };
        let (sectors, frames, free) = (number(16), number(24), number(32) as u32);
        if frames * PAGE_BYTES > region.len() || sectors == 0 {
            return Err(foreign("its header does not fit the memory's size"));
        }
        Ok(PageStore { region, sectors, frames, free, used })
    }

    /// The disk's size.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How the memory is used.
    pub fn usage(&self) -> PageUse {
        self.used
    }

    /// Gives the region back.
    pub fn into_region(self) -> R {
        self.region
    }

    /// Reads whole sectors from `lba`.
    ///
    /// # Errors
    /// When the range is not on the disk.
    pub fn read(&self, lba: Lba, out: &mut [u8]) -> Result<(), PageStoreError> {
        self.check(lba, out.len() as u64)?;
        let mut done = 0;
        for piece in pieces(lba, out.len() as u64) {
            let out = &mut out[done..done + piece.bytes];
            match self.entry(piece.page) {
                0 => out.fill(0),
                mark if mark & UNIFORM != 0 => out.fill(mark as u8),
                frame => self.region.read_at(u64::from(frame) * PAGE_BYTES + piece.within, out),
            }
            done += piece.bytes;
        }
        Ok(())
    }

    /// Writes whole sectors from `lba`.
    ///
    /// # Errors
    /// When the range is not on the disk, or the memory is full; what was written before the
    /// memory ran out stays written.
    pub fn write(&mut self, lba: Lba, data: &[u8]) -> Result<(), PageStoreError> {
        self.check(lba, data.len() as u64)?;
        let mut done = 0;
        for piece in pieces(lba, data.len() as u64) {
            let data = &data[done..done + piece.bytes];
            done += piece.bytes;
            let entry = self.entry(piece.page);
            let byte = uniform(data);
            if let Some(byte) = byte {
                let mark = mark_of(byte);
                let same = entry == mark;
                if same || piece.bytes as u64 == PAGE_BYTES {
                    if !same {
                        self.release(entry);
                        self.set_entry(piece.page, mark)?;
                        self.used.uniform_pages += u64::from(mark != 0);
                    }
                    continue;
                }
            }
            let frame = if entry == 0 || entry & UNIFORM != 0 {
                self.frame_for(&piece, entry)?
            } else {
                entry
            };
            self.region.write_at(u64::from(frame) * PAGE_BYTES + piece.within, data);
        }
        self.write_header();
        Ok(())
    }

    /// Forgets whole sectors from `lba`: they read as zeros, and whole pages give their
    /// memory back.
    ///
    /// # Errors
    /// As [`PageStore::write`].
    pub fn discard(&mut self, lba: Lba, sectors: u64) -> Result<(), PageStoreError> {
        self.check(lba, sectors.saturating_mul(SECTOR_BYTES))?;
        let zeros = [0u8; PAGE_BYTES as usize];
        for piece in pieces(lba, sectors * SECTOR_BYTES) {
            let entry = self.entry(piece.page);
            if entry == 0 {
                continue;
            }
            if piece.bytes as u64 == PAGE_BYTES {
                self.release(entry);
                self.set_entry(piece.page, 0)?;
                continue;
            }
            let frame = if entry & UNIFORM != 0 { self.frame_for(&piece, entry)? } else { entry };
            let at = u64::from(frame) * PAGE_BYTES + piece.within;
            self.region.write_at(at, &zeros[..piece.bytes]);
        }
        self.write_header();
        Ok(())
    }

    /// A frame for a page that had none; the bytes of the page that are not overwritten are kept.
    fn frame_for(&mut self, piece: &Piece, entry: u32) -> Result<u32, PageStoreError> {
        let frame = self.allocate()?;
        if piece.bytes as u64 != PAGE_BYTES {
            // The contents that the rest of the page has read as so far.
            let rest = [entry as u8; PAGE_BYTES as usize];
            self.region.write_at(u64::from(frame) * PAGE_BYTES, &rest);
        }
        self.used.data_frames += 1;
        if let Err(full) = self.set_entry(piece.page, frame) {
            self.release(frame);
            return Err(full);
        }
        self.used.uniform_pages -= u64::from(entry != 0);
        Ok(frame)
    }

    fn check(&self, lba: Lba, bytes: u64) -> Result<(), PageStoreError> {
        let end = lba.0.checked_add(bytes / SECTOR_BYTES);
        if !bytes.is_multiple_of(SECTOR_BYTES) || end.is_none_or(|end| end > self.sectors) {
            return Err(PageStoreError::Range { lba, bytes, sectors: self.sectors });
        }
        Ok(())
    }

    fn number(&self, offset: u64) -> u32 {
        let mut bytes = [0u8; 4];
        self.region.read_at(offset, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn entry(&self, page: u64) -> u32 {
        match self.number(PAGE_BYTES + page / ENTRIES * 4) {
            0 => 0,
            index => self.number(u64::from(index) * PAGE_BYTES + page % ENTRIES * 4),
        }
    }

    fn set_entry(&mut self, page: u64, entry: u32) -> Result<(), PageStoreError> {
        let root = PAGE_BYTES + page / ENTRIES * 4;
        let mut index = self.number(root);
        if index == 0 {
            index = self.allocate()?;
            self.used.index_frames += 1;
            self.region.write_at(u64::from(index) * PAGE_BYTES, &[0u8; PAGE_BYTES as usize]);
            self.region.write_at(root, &index.to_le_bytes());
        }
        let at = u64::from(index) * PAGE_BYTES + page % ENTRIES * 4;
        self.region.write_at(at, &entry.to_le_bytes());
        Ok(())
    }

    /// Takes a frame: the one freed last, or a fresh one. Its contents are undefined.
    fn allocate(&mut self) -> Result<u32, PageStoreError> {
        if self.free != 0 {
            let frame = self.free;
            self.free = self.number(u64::from(frame) * PAGE_BYTES);
            self.used.free_frames -= 1;
            return Ok(frame);
        }
        let limit = (self.region.len() / PAGE_BYTES).min(u64::from(UNIFORM));
        if self.frames >= limit {
            let (used, limit) = (self.used.bytes(), Bytes(self.region.len()));
            return Err(PageStoreError::Full { used, limit });
        }
        self.frames += 1;
        Ok((self.frames - 1) as u32)
    }

    /// Frees the frame of an index entry, if it has one.
    fn release(&mut self, entry: u32) {
        if entry & UNIFORM != 0 {
            self.used.uniform_pages -= 1;
        } else if entry != 0 {
            self.region.write_at(u64::from(entry) * PAGE_BYTES, &self.free.to_le_bytes());
            self.free = entry;
            self.used.free_frames += 1;
            self.used.data_frames -= 1;
        }
    }

    fn write_header(&mut self) {
        let PageUse { data_frames, index_frames, free_frames, uniform_pages } = self.used;
        let numbers = [
            u64::from(VERSION),
            self.sectors,
            self.frames,
            u64::from(self.free),
            data_frames,
            index_frames,
            free_frames,
            uniform_pages,
        ];
        let mut header = [0u8; 72];
        header[..8].copy_from_slice(&MAGIC);
        for (place, number) in header[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        self.region.write_at(0, &header);
    }
}

fn root_frames(sectors: u64) -> u64 {
    let pages = (sectors * SECTOR_BYTES).div_ceil(PAGE_BYTES);
    pages.div_ceil(ENTRIES).div_ceil(ENTRIES)
}

/// The part of a range that lies in one page.
struct Piece {
    page: u64,
    within: u64,
    bytes: usize,
}

fn pieces(lba: Lba, bytes: u64) -> impl Iterator<Item = Piece> {
    let start = lba.0 * SECTOR_BYTES;
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < bytes).then(|| {
            let within = (start + done) % PAGE_BYTES;
            let here = (PAGE_BYTES - within).min(bytes - done);
            let piece = Piece { page: (start + done) / PAGE_BYTES, within, bytes: here as usize };
            done += here;
            piece
        })
    })
}

fn mark_of(byte: u8) -> u32 {
    if byte == 0 { 0 } else { UNIFORM | u32::from(byte) }
}

/// The byte that all of `data` is, if it is. Looks at eight at a time and stops at the first
/// that differs: ordinary data costs nothing.
fn uniform(data: &[u8]) -> Option<u8> {
    let first = *data.first()?;
    let all = u64::from_ne_bytes([first; 8]);
    let (words, rest) = data.as_chunks::<8>();
    let same = words.iter().all(|word| u64::from_ne_bytes(*word) == all)
        && rest.iter().all(|byte| *byte == first);
    same.then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::region::MemoryRegion;

    const SECTORS: u64 = 20_000;

    fn store() -> PageStore<MemoryRegion> {
        PageStore::create(MemoryRegion::new(64 << 20), SECTORS).unwrap()
    }

    #[test]
    fn a_page_of_one_byte_is_free() {
        let mut store = store();
        let empty = store.usage();
        store.write(Lba(8000), &[0x5a; 4096]).unwrap();
        let used = store.usage();
        assert_eq!((used.data_frames, used.uniform_pages), (0, 1));
        assert_eq!(used.index_frames, empty.index_frames + 1);
        let mut read = [0u8; 4096];
        store.read(Lba(8000), &mut read).unwrap();
        assert_eq!(read, [0x5a; 4096]);
        // Zeros over it are as if nothing had been written.
        store.write(Lba(8000), &[0; 4096]).unwrap();
        assert_eq!(store.usage().uniform_pages, 0);
    }

    #[test]
    fn a_full_memory_says_so_and_a_discard_helps() {
        // Header, root, one index frame and two data frames.
        let mut store = PageStore::create(MemoryRegion::new(5 * 4096), SECTORS).unwrap();
        let data: Vec<u8> = (0..4096u32).map(|index| index as u8).collect();
        store.write(Lba(0), &data).unwrap();
        store.write(Lba(8), &data).unwrap();
        let full = store.write(Lba(16), &data).unwrap_err();
        assert!(matches!(full, PageStoreError::Full { .. }), "{full}");
        store.discard(Lba(0), 8).unwrap();
        store.write(Lba(16), &data).unwrap();
        let mut read = vec![1; 4096];
        store.read(Lba(0), &mut read).unwrap();
        assert_eq!(read, vec![0; 4096]);
    }

    #[test]
    fn a_range_beyond_the_end_is_refused() {
        let mut store = store();
        assert!(store.write(Lba(SECTORS), &[1; 512]).is_err());
        assert!(store.write(Lba(0), &[1; 100]).is_err());
        assert!(store.read(Lba(u64::MAX), &mut [0; 512]).is_err());
        assert!(store.discard(Lba(0), u64::MAX).is_err());
    }

    #[test]
    fn what_is_not_a_store_is_not_opened() {
        let error = PageStore::open(MemoryRegion::new(8192)).unwrap_err();
        assert!(error.to_string().contains("does not begin with"), "{error}");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, u64, u8, bool),
        Discard(u64, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let range = || (0u64..600, 1u64..40);
        prop_oneof![
            3 => (range(), any::<u8>(), any::<bool>())
                .prop_map(|((lba, sectors), byte, mixed)| Step::Write(lba, sectors, byte, mixed)),
            1 => range().prop_map(|(lba, sectors)| Step::Discard(lba, sectors)),
        ]
    }

    proptest! {
        /// Against a plain array, at any alignment; reopened it is the same; the same steps
        /// give the same bytes of memory.
        #[test]
        fn the_store_is_an_array(steps in prop::collection::vec(step(), 1..80)) {
            let mut stores = [store(), store()];
            let mut array = vec![0u8; 640 * 512];
            for step in &steps {
                match step {
                    Step::Write(lba, sectors, byte, mixed) => {
                        let mut data = vec![*byte; (*sectors * 512) as usize];
                        if *mixed {
                            data[7] ^= 0xff;
                        }
                        for store in &mut stores {
                            store.write(Lba(*lba), &data).unwrap();
                        }
                        let at = (*lba * 512) as usize;
                        array[at..at + data.len()].copy_from_slice(&data);
                    }
                    Step::Discard(lba, sectors) => {
                        for store in &mut stores {
                            store.discard(Lba(*lba), *sectors).unwrap();
                        }
                        let at = (*lba * 512) as usize;
                        array[at..at + (*sectors * 512) as usize].fill(0);
                    }
                }
            }
            let [first, second] = stores;
            let used = first.usage();
            let region = first.into_region();
            prop_assert_eq!(&region, &second.into_region());
            let store = PageStore::open(region).unwrap();
            prop_assert_eq!(store.usage(), used);
            let mut read = vec![1u8; array.len()];
            store.read(Lba(0), &mut read).unwrap();
            prop_assert!(read == array);
            // No page of the range holds more than one frame.
            prop_assert!(used.data_frames <= 640 / 8);
        }
    }
}
