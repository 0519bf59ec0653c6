//! A layer over the contents: what lies below is kept, whatever is written.

use std::collections::HashMap;
use std::io;

use super::{Entry, PAGE, PageStore, StoreError, repeated_byte};

/// A part of a page as it was once written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept(Entry);

/// Pages that differ from those below.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pages: HashMap<(usize, u64), Entry>,
    /// Pages of the pool that are free again when the layer is emptied.
    own: Vec<u32>,
}

impl Layer {
    pub(super) fn get(&self, disk: usize, page: u64) -> Option<Entry> {
        self.pages.get(&(disk, page)).copied()
    }

    pub(super) fn set(&mut self, disk: usize, page: u64, entry: Entry) {
        self.pages.insert((disk, page), entry);
    }
}

impl PageStore {
    /// From now on nothing that is stored is overwritten: every write takes new pages.
    pub(crate) fn begin_layer(&mut self) {
        self.layer.get_or_insert_default();
    }

    /// Keeps the layer's pages for [`PageStore::put`].
    pub(crate) fn keep_layer(&mut self) {
        self.layer.iter_mut().for_each(|layer| layer.own.clear());
    }

    /// Back to what lies below the layer.
    pub(crate) fn empty_layer(&mut self) {
        if let Some(layer) = &mut self.layer {
            layer.pages.clear();
            layer.own.drain(..).rev().for_each(|page| self.pool.release(page));
        }
    }

    /// What a page holds now. It stays valid as long as the layer's pages are kept.
    ///
    /// # Errors
    /// When the page cannot be mapped.
    pub(crate) fn kept(&mut self, disk: usize, page: u64) -> io::Result<Kept> {
        self.entry(disk, page).map(Kept)
    }

    /// The bytes of it.
    ///
    /// # Errors
    /// When the page cannot be mapped.
    pub(crate) fn bytes_of(&mut self, kept: Kept) -> io::Result<Vec<u8>> {
        match kept.0 {
            Entry::Filled(byte) => Ok(vec![byte; PAGE as usize]),
            Entry::At(page) => self.page_bytes(page).map(|bytes| bytes.to_vec()),
        }
    }

    /// Puts these bytes of what was kept onto a page.
    ///
    /// # Errors
    /// When there is no room, or the page cannot be mapped.
    pub(crate) fn put(
        &mut self,
        disk: usize,
        page: u64,
        kept: Kept,
        range: std::ops::Range<usize>,
    ) -> Result<(), StoreError> {
        if range == (0..PAGE as usize) {
            return Ok(self.set_entry(disk, page, kept.0)?);
        }
        let part = self.bytes_of(kept)?;
        let own = self.own_page(disk, page)?;
        let bytes = self.page_bytes(own)?;
        bytes[range.clone()].copy_from_slice(&part[range]);
        if let Some(byte) = repeated_byte(bytes) {
            self.set_entry(disk, page, Entry::Filled(byte))?;
        }
        Ok(())
    }

    /// A page of the pool, the layer's own where there is one.
    pub(super) fn take_page(&mut self) -> Result<u32, StoreError> {
        let page = self.pool.allocate()?;
        self.layer.iter_mut().for_each(|layer| layer.own.push(page));
        Ok(page)
    }

    /// The page that was taken last is not needed after all.
    pub(super) fn give_page_back(&mut self, page: u32) {
        self.layer.iter_mut().for_each(|layer| {
            layer.own.pop_if(|own| *own == page);
        });
        self.pool.release(page);
    }
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
