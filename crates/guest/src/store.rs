//! Contents of the simulated disks: sparse, in the shared region.
//!
//! Each disk has an index of one number a page; pages that hold something lie in a pool all
//! disks of a guest share. A page never written, discarded, or of one repeated byte costs no
//! page of the pool. Parts are mapped as they come into use, since page tables for all of a
//! large disk would take tens of megabytes of the guest's RAM.

mod index;
mod layer;
mod pool;

use std::io;

use units::Bytes;

use self::index::{Entry, Index};
pub(crate) use self::layer::Kept;
use self::layer::Layer;
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
    layer: Option<Layer>,
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
        Ok(PageStore { region, disks, pool: Pool::new(at, limit), layer: None })
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
            Entry::At(existing) if self.layer.is_none() => existing,
            Entry::At(_) | Entry::Filled(_) => self.take_page()?,
        };
        self.set_entry(disk, page, Entry::At(first))?;
        let mut count = 1;
        while count < wanted {
            let next = first + count as u32;
            if u64::from(next).is_multiple_of(PAGES_A_WINDOW) {
                break;
            }
            match self.entry(disk, page + count)? {
                Entry::At(existing) if existing == next && self.layer.is_none() => {}
                Entry::Filled(_) if self.layer.is_none() && self.pool.allocate_if(next)? => {
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
                self.give_page_back(first + nth as u32);
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
                Entry::At(at) if self.layer.is_none() => self.pool.release(at),
                Entry::Filled(_) | Entry::At(_) => {}
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
        let old = self.entry(disk, page)?;
        if let (Entry::At(existing), None) = (old, &self.layer) {
            return Ok(existing);
        }
        let new = self.take_page()?;
        match old {
            Entry::Filled(byte) => self.page_bytes(new)?.fill(byte),
            Entry::At(existing) => {
                let bytes = self.page_bytes(existing)?.to_vec();
                self.page_bytes(new)?.copy_from_slice(&bytes);
            }
        }
        self.set_entry(disk, page, Entry::At(new))?;
        Ok(new)
    }

    fn page_bytes(&mut self, page: u32) -> io::Result<&mut [u8]> {
        self.run_bytes(page, 1)
    }

    fn run_bytes(&mut self, first: u32, count: u64) -> io::Result<&mut [u8]> {
        self.pool.bytes(&self.region, first, count)
    }

    fn entry(&mut self, disk: usize, page: u64) -> io::Result<Entry> {
        if let Some(entry) = self.layer.as_ref().and_then(|layer| layer.get(disk, page)) {
            return Ok(entry);
        }
        self.disks[disk].get(&self.region, page)
    }

    fn set_entry(&mut self, disk: usize, page: u64, entry: Entry) -> io::Result<()> {
        if let Some(layer) = &mut self.layer {
            layer.set(disk, page, entry);
            return Ok(());
        }
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
mod tests;
