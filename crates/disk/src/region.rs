//! A range of bytes provided by the caller, which holds a simulated disk's contents and its request
//! log. In a guest it is memory outside the guest's own RAM; in a test it is a vector. This crate
//! never touches memory that it was not given.

/// Bytes at offsets. Reads of what was never written yield zeros.
pub trait Region {
    /// How many bytes there are at most.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies out the bytes at `offset`. The caller stays within [`Region::len`].
    fn read_at(&self, offset: u64, out: &mut [u8]);

    /// Copies in the bytes at `offset`. The caller stays within [`Region::len`].
    fn write_at(&mut self, offset: u64, data: &[u8]);
}

/// A region in the process's own memory that grows as it is written, up to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRegion {
    bytes: Vec<u8>,
    limit: u64,
}

impl MemoryRegion {
    /// At most `limit` bytes.
    pub fn new(limit: u64) -> MemoryRegion {
        MemoryRegion { bytes: Vec::new(), limit }
    }

    /// What has been written so far, from the start.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Region for MemoryRegion {
    fn len(&self) -> u64 {
        self.limit
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) {
        let start = (offset as usize).min(self.bytes.len());
        let there = &self.bytes[start..(start + out.len()).min(self.bytes.len())];
        out[..there.len()].copy_from_slice(there);
        out[there.len()..].fill(0);
    }

    fn write_at(&mut self, offset: u64, data: &[u8]) {
        let end = offset as usize + data.len();
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset as usize..end].copy_from_slice(data);
    }
}

impl<R: Region + ?Sized> Region for &mut R {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) {
        (**self).read_at(offset, out);
    }

    fn write_at(&mut self, offset: u64, data: &[u8]) {
        (**self).write_at(offset, data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(region: &impl Region, offset: u64) -> [u8; 4] {
        let mut bytes = [0xff; 4];
        region.read_at(offset, &mut bytes);
        bytes
    }

    #[test]
    fn a_region_is_empty_only_without_any_room() {
        assert!(MemoryRegion::new(0).is_empty());
        assert!(!MemoryRegion::new(1).is_empty(), "it has room, though nothing is written");
    }

    #[test]
    fn a_region_is_the_same_through_a_reference() {
        let mut region = MemoryRegion::new(16);
        region.write_at(2, b"log");
        assert_eq!(four(&region, 1), *b"\0log");
        assert_eq!(four(&&mut region, 1), *b"\0log");
    }
}
