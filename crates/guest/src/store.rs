//! Contents of the simulated disks: sparse, in the shared region.
//!
//! Each disk has an index of one number a page; pages that hold something lie in a pool all
//! disks of a guest share. A page never written, discarded, or of one repeated byte costs no
//! page of the pool. Parts are mapped as they come into use, since page tables for all of a
//! large disk would take tens of megabytes of the guest's RAM.

mod index;
mod pool;

use std::io;

use units::Bytes;

use self::index::{Entry, Index};
use self::pool::Pool;
use crate::region::{Region, STORE_AT};

/// Bytes in a page.
pub const PAGE: u64 = 4096;
/// Bytes mapped at once.
const WINDOW: u64 = 4 << 20;
const PAGES_A_WINDOW: u64 = WINDOW / PAGE;

/// Why a request's data could not be stored or brought back.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The pages admitted for this guest are all in use.
    #[error("the disks hold {0}, which is all the memory this guest was admitted with")]
    Full(Bytes),
    /// Outside the disk.
    #[error("bytes {offset}+{len} are outside the disk")]
    Outside {
        /// First byte.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// Mapping or copying failed.
    #[error("contents of the simulated disks: {0}")]
    Io(#[from] io::Error),
}

/// The contents of all disks of a guest.
#[derive(Debug)]
pub struct PageStore {
    region: Region,
    disks: Vec<Index>,
    pool: Pool,
}

impl PageStore {
    /// An empty store for disks of these sizes; at most `limit` of contents, or what fits
    /// the region.
    ///
    /// # Errors
    /// When the indices alone do not fit the region.
    pub fn new(region: Region, capacities: &[Bytes], limit: Bytes) -> io::Result<PageStore> {
        let mut at = STORE_AT;
        let mut disks = Vec::new();
        for capacity in capacities {
            let index = Index::new(*capacity, at);
            at = index.end();
            disks.push(index);
        }
        if at >= region.len() {
            return Err(io::Error::other("the disks are too large for the shared region"));
        }
        let room = (region.len() - at) / PAGE;
        let limit = u32::try_from((limit.0 / PAGE).min(room)).unwrap_or(u32::MAX - 256);
        Ok(PageStore { region, disks, pool: Pool::new(at, limit) })
    }

    /// Pages that hold something.
    pub fn pages_in_use(&self) -> u64 {
        self.pool.in_use()
    }

    /// Writes `len` bytes at `offset`; `fetch` is called with each piece to fill and the
    /// piece's place within the request.
    ///
    /// # Errors
    /// When there is no room, the place is outside, or `fetch` fails. Pieces before the
    /// failing one are written.
    pub fn write(
        &mut self,
        disk: usize,
        offset: u64,
        len: u64,
        fetch: &mut dyn FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        self.check(disk, offset, len)?;
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let page = at / PAGE;
            let within = at % PAGE;
            if within != 0 || end - at < PAGE {
                let piece = (PAGE - within).min(end - at);
                let target = self.own_page(disk, page)?;
                let bytes = &mut self.page_bytes(target)?[within as usize..][..piece as usize];
                fetch(bytes, at - offset)?;
                at += piece;
            } else {
                at += self.write_run(disk, page, (end - at) / PAGE, at - offset, fetch)? * PAGE;
            }
        }
        Ok(())
    }

    /// Writes whole pages that lie side by side in the pool; returns how many.
    fn write_run(
        &mut self,
        disk: usize,
        page: u64,
        wanted: u64,
        place: u64,
        fetch: &mut dyn FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> Result<u64, StoreError> {
        let first = match self.entry(disk, page)? {
            Entry::At(existing) => existing,
            Entry::Filled(_) => self.pool.allocate()?,
        };
        self.set_entry(disk, page, Entry::At(first))?;
        let mut count = 1;
        while count < wanted {
            let next = first + count as u32;
            if u64::from(next).is_multiple_of(PAGES_A_WINDOW) {
                break;
            }
            match self.entry(disk, page + count)? {
                Entry::At(existing) if existing == next => {}
                Entry::Filled(_) if self.pool.allocate_if(next)? => {
                    self.set_entry(disk, page + count, Entry::At(next))?;
                }
                _ => break,
            }
            count += 1;
        }
        let bytes = self.run_bytes(first, count)?;
        fetch(bytes, place)?;
        // Freed from the last to the first, so that the next write gets them side by side.
        for nth in (0..count).rev() {
            let bytes = self.run_bytes(first + nth as u32, 1)?;
            if let Some(byte) = repeated_byte(bytes) {
                self.pool.release(first + nth as u32);
                self.set_entry(disk, page + nth, Entry::Filled(byte))?;
            }
        }
        Ok(count)
    }

    /// Reads `len` bytes at `offset`; `emit` is called with each piece and its place within
    /// the request.
    ///
    /// # Errors
    /// When the place is outside or `emit` fails.
    pub fn read(
        &mut self,
        disk: usize,
        offset: u64,
        len: u64,
        emit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        const FILL: usize = 64 << 10;
        static ZEROES: [u8; FILL] = [0; FILL];
        self.check(disk, offset, len)?;
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let first = self.entry(disk, at / PAGE)?;
            let mut upto = (at / PAGE + 1) * PAGE;
            let mut count = 1;
            while upto < end {
                let next = self.entry(disk, upto / PAGE)?;
                let joins = match (first, next) {
                    (Entry::Filled(a), Entry::Filled(b)) => a == b && count < FILL as u64 / PAGE,
                    (Entry::At(a), Entry::At(b)) => {
                        u64::from(a) + count == u64::from(b)
                            && !u64::from(b).is_multiple_of(PAGES_A_WINDOW)
                    }
                    _ => false,
                };
                if !joins {
                    break;
                }
                upto += PAGE;
                count += 1;
            }
            let within = (at % PAGE) as usize;
            let piece = (upto.min(end) - at) as usize;
            match first {
                Entry::Filled(0) => emit(&ZEROES[..piece], at - offset)?,
                Entry::Filled(byte) => emit(&vec![byte; piece], at - offset)?,
                Entry::At(page) => {
                    emit(&self.run_bytes(page, count)?[within..][..piece], at - offset)?;
                }
            }
            at += piece as u64;
        }
        Ok(())
    }

    /// Forgets contents; they read as zeroes then. Parts of a page are kept, as a drive may.
    ///
    /// # Errors
    /// When the place is outside.
    pub fn discard(&mut self, disk: usize, offset: u64, len: u64) -> Result<(), StoreError> {
        self.check(disk, offset, len)?;
        let pages = offset.div_ceil(PAGE)..(offset + len) / PAGE;
        for page in pages.rev() {
            match self.entry(disk, page)? {
                Entry::Filled(0) => continue,
                Entry::Filled(_) => {}
                Entry::At(at) => self.pool.release(at),
            }
            self.set_entry(disk, page, Entry::Filled(0))?;
        }
        Ok(())
    }

    fn check(&self, disk: usize, offset: u64, len: u64) -> Result<(), StoreError> {
        let inside = self.disks.get(disk).is_some_and(|index| {
            offset.checked_add(len).is_some_and(|end| end <= index.pages() * PAGE)
        });
        if inside { Ok(()) } else { Err(StoreError::Outside { offset, len }) }
    }

    /// The pool page of `page`, filled as it was, for a write to a part of it.
    fn own_page(&mut self, disk: usize, page: u64) -> Result<u32, StoreError> {
        match self.entry(disk, page)? {
            Entry::At(existing) => Ok(existing),
            Entry::Filled(byte) => {
                let new = self.pool.allocate()?;
                self.page_bytes(new)?.fill(byte);
                self.set_entry(disk, page, Entry::At(new))?;
                Ok(new)
            }
        }
    }

    fn page_bytes(&mut self, page: u32) -> io::Result<&mut [u8]> {
        self.run_bytes(page, 1)
    }

    fn run_bytes(&mut self, first: u32, count: u64) -> io::Result<&mut [u8]> {
        self.pool.bytes(&self.region, first, count)
    }

    fn entry(&mut self, disk: usize, page: u64) -> io::Result<Entry> {
        self.disks[disk].get(&self.region, page)
    }

    fn set_entry(&mut self, disk: usize, page: u64, entry: Entry) -> io::Result<()> {
        self.disks[disk].set(&self.region, page, entry)
    }
}

/// The byte all of `page` consists of, if it does. Ends at the first that differs.
fn repeated_byte(page: &[u8]) -> Option<u8> {
    let first = *page.first()?;
    // Equal to itself moved by one byte: one comparison, which the library does in words.
    (page[1..] == page[..page.len() - 1]).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 64 * PAGE;

    fn store(limit: u64) -> PageStore {
        let region = Region::in_memory(STORE_AT + (64 << 20)).unwrap();
        PageStore::new(region, &[Bytes(SIZE), Bytes(SIZE)], Bytes(limit)).unwrap()
    }

    fn write(store: &mut PageStore, disk: usize, offset: u64, data: &[u8]) {
        store
            .write(disk, offset, data.len() as u64, &mut |piece, place| {
                piece.copy_from_slice(&data[place as usize..][..piece.len()]);
                Ok(())
            })
            .unwrap();
    }

    fn read(store: &mut PageStore, disk: usize, offset: u64, len: u64) -> Vec<u8> {
        let mut data = vec![0xaa; len as usize];
        store
            .read(disk, offset, len, &mut |piece, place| {
                data[place as usize..][..piece.len()].copy_from_slice(piece);
                Ok(())
            })
            .unwrap();
        data
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write { disk: usize, sector: u64, sectors: u64, byte: u8, plain: bool },
        Discard { disk: usize, sector: u64, sectors: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        let place = (0usize..2, 0u64..SIZE / 512, 1u64..100);
        (place, any::<u8>(), 0u8..4).prop_map(|((disk, sector, sectors), byte, kind)| {
            let sectors = sectors.min(SIZE / 512 - sector);
            match kind {
                0 => Step::Discard { disk, sector, sectors },
                _ => Step::Write { disk, sector, sectors, byte, plain: kind == 1 },
            }
        })
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_array_holds(steps in prop::collection::vec(step(), 1..60)) {
            let mut store = store(2 * SIZE);
            let mut plain = [vec![0u8; SIZE as usize], vec![0u8; SIZE as usize]];
            for (nth, step) in steps.iter().enumerate() {
                match *step {
                    Step::Write { disk, sector, sectors, byte, plain: same } => {
                        let data: Vec<u8> = (0..sectors * 512)
                            .map(|at| if same { byte } else { byte.wrapping_add((at / 7) as u8) })
                            .collect();
                        write(&mut store, disk, sector * 512, &data);
                        plain[disk][(sector * 512) as usize..][..data.len()].copy_from_slice(&data);
                    }
                    Step::Discard { disk, sector, sectors } => {
                        store.discard(disk, sector * 512, sectors * 512).unwrap();
                        let pages = (sector * 512).div_ceil(PAGE)..(sector + sectors) * 512 / PAGE;
                        for page in pages {
                            plain[disk][(page * PAGE) as usize..][..PAGE as usize].fill(0);
                        }
                    }
                }
                if nth % 8 == 0 {
                    prop_assert_eq!(read(&mut store, 1, 512, SIZE - 1024), &plain[1][512..][..SIZE as usize - 1024]);
                }
            }
            for (disk, plain) in plain.iter().enumerate() {
                prop_assert_eq!(&read(&mut store, disk, 0, SIZE), plain);
            }
            let holding = plain.iter().flat_map(|disk| disk.chunks(PAGE as usize));
            let varied = holding.filter(|page| repeated_byte(page).is_none()).count() as u64;
            prop_assert!(store.pages_in_use() >= varied);
        }
    }

    #[test]
    fn pages_of_one_byte_cost_nothing() {
        let mut store = store(2 * SIZE);
        write(&mut store, 0, 0, &vec![0u8; SIZE as usize]);
        write(&mut store, 1, 0, &vec![0xf6u8; SIZE as usize]);
        assert_eq!(store.pages_in_use(), 0);
        assert_eq!(read(&mut store, 1, PAGE - 3, 6), [0xf6; 6]);
    }

    #[test]
    fn the_limit_is_an_error_with_its_figure() {
        let mut store = store(4 * PAGE);
        let data: Vec<u8> = (0..5 * PAGE).map(|at| (at % 251) as u8).collect();
        let error = store
            .write(0, 0, 5 * PAGE, &mut |piece, place| {
                piece.copy_from_slice(&data[place as usize..][..piece.len()]);
                Ok(())
            })
            .unwrap_err();
        assert!(
            error.to_string().contains("16.0 KiB") || error.to_string().contains("16 KiB"),
            "{error}"
        );
        assert!(store.discard(0, 0, SIZE + 512).is_err());
    }
}
