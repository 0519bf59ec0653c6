//! The index of a disk: one number for each of its pages.

use std::io;

use units::Bytes;

use super::{PAGE, WINDOW};
use crate::region::{Region, Window};

const ENTRIES_A_WINDOW: u64 = WINDOW / 4;

/// What the index says of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// All bytes are this one.
    Filled(u8),
    /// Its number in the pool.
    At(u32),
}

impl Entry {
    fn decode(number: u32) -> Entry {
        match number {
            0 => Entry::Filled(0),
            1..=255 => Entry::Filled(number as u8),
            _ => Entry::At(number - 256),
        }
    }

    fn encode(self) -> u32 {
        match self {
            Entry::Filled(byte) => u32::from(byte),
            Entry::At(page) => page + 256,
        }
    }
}

/// Where each page of a disk lies.
#[derive(Debug)]
pub(super) struct Index {
    pages: u64,
    at: u64,
    windows: Vec<Option<Window>>,
}

impl Index {
    /// That of an empty disk of this size, from `at` in the region.
    pub(super) fn new(capacity: Bytes, at: u64) -> Index {
        let pages = capacity.0.div_ceil(PAGE);
        let windows = pages.div_ceil(ENTRIES_A_WINDOW);
        Index { pages, at, windows: (0..windows).map(|_| None).collect() }
    }

    /// Where it ends in the region.
    pub(super) fn end(&self) -> u64 {
        self.at + self.windows.len() as u64 * WINDOW
    }

    /// Pages of the disk.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    fn window(&mut self, region: &Region, page: u64) -> io::Result<&mut Window> {
        let window = (page / ENTRIES_A_WINDOW) as usize;
        let slot = &mut self.windows[window];
        match slot {
            Some(window) => Ok(window),
            None => Ok(slot.insert(region.map(self.at + window as u64 * WINDOW, WINDOW)?)),
        }
    }

    pub(super) fn get(&mut self, region: &Region, page: u64) -> io::Result<Entry> {
        let from = (page % ENTRIES_A_WINDOW * 4) as usize;
        let bytes = &self.window(region, page)?.bytes()[from..][..4];
        Ok(Entry::decode(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
    }

    pub(super) fn set(&mut self, region: &Region, page: u64, entry: Entry) -> io::Result<()> {
        let from = (page % ENTRIES_A_WINDOW * 4) as usize;
        let number = entry.encode().to_le_bytes();
        self.window(region, page)?.bytes_mut()[from..][..4].copy_from_slice(&number);
        Ok(())
    }
}
