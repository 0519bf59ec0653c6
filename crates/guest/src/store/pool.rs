//! The pages that hold something, of all disks of a guest.

use std::io;

use units::Bytes;

use super::{PAGE, PAGES_A_WINDOW, StoreError, WINDOW};
use crate::region::{Region, Window};

/// Pages in use and pages that were.
#[derive(Debug)]
pub(super) struct Pool {
    at: u64,
    windows: Vec<Window>,
    /// Pages ever used; those below it that are not in use are in `free`.
    reached: u32,
    free: Vec<u32>,
    limit: u32,
}

impl Pool {
    /// An empty one from `at` in the region, for at most `limit` pages.
    pub(super) fn new(at: u64, limit: u32) -> Pool {
        Pool { at, windows: Vec::new(), reached: 0, free: Vec::new(), limit }
    }

    pub(super) fn in_use(&self) -> u64 {
        u64::from(self.reached) - self.free.len() as u64
    }

    pub(super) fn allocate(&mut self) -> Result<u32, StoreError> {
        if let Some(page) = self.free.pop() {
            return Ok(page);
        }
        if self.reached >= self.limit {
            return Err(StoreError::Full(Bytes(u64::from(self.reached) * PAGE)));
        }
        self.reached += 1;
        Ok(self.reached - 1)
    }

    /// Takes the next page only if it is `wanted`.
    pub(super) fn allocate_if(&mut self, wanted: u32) -> Result<bool, StoreError> {
        let next = self.free.last().copied().unwrap_or(self.reached);
        if next != wanted {
            return Ok(false);
        }
        self.allocate().map(|_| true)
    }

    /// The next page to be taken is the one that was released last.
    pub(super) fn release(&mut self, page: u32) {
        self.free.push(page);
    }

    /// Pages side by side in one window.
    pub(super) fn bytes(
        &mut self,
        region: &Region,
        first: u32,
        count: u64,
    ) -> io::Result<&mut [u8]> {
        let window = (u64::from(first) / PAGES_A_WINDOW) as usize;
        while self.windows.len() <= window {
            let at = self.at + self.windows.len() as u64 * WINDOW;
            self.windows.push(region.map(at, WINDOW.min(region.len() - at))?);
        }
        let from = (u64::from(first) % PAGES_A_WINDOW * PAGE) as usize;
        Ok(&mut self.windows[window].bytes_mut()[from..][..(count * PAGE) as usize])
    }
}
