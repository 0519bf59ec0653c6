//! Reads what is on a device's medium, past the page cache.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// The most that is read at once.
pub(crate) const CHUNK: u64 = 4 << 20;
/// Direct reads go to memory aligned to this. No drive has a larger logical block.
const MEMORY: usize = 64 << 10;
/// Direct reads start and end at multiples of this: nearly every drive's logical block divides it.
const SECTOR: u64 = 4096;

/// A device, open for direct reads.
pub(crate) struct Medium<'a> {
    node: &'a str,
    cached: &'a File,
    direct: File,
    memory: Vec<u8>,
    size: u64,
}

/// A place that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{node} cannot be read at byte {offset}: {source}")]
pub(crate) struct ReadError {
    node: String,
    offset: u64,
    source: io::Error,
}

impl<'a> Medium<'a> {
    /// The device of `size` bytes that `file` has open.
    pub(crate) fn open(node: &'a str, file: &'a File, size: u64) -> Result<Medium<'a>, ReadError> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let open = |flags| std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let direct = open(libc::O_DIRECT).or_else(|_| open(0)).map_err(|source| ReadError {
            node: node.to_owned(),
            offset: 0,
            source,
        })?;
        let memory = vec![0; CHUNK as usize + MEMORY];
        Ok(Medium { node, cached: file, direct, memory, size })
    }

    /// The device's size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The smallest range of whole sectors around `range` that lies on the device.
    pub(crate) fn around(&self, range: Range<u64>) -> Range<u64> {
        let end = range.end.min(self.size).next_multiple_of(SECTOR).min(self.size);
        (range.start / SECTOR * SECTOR).min(end)..end
    }

    /// The bytes of a range of at most [`CHUNK`] bytes.
    pub(crate) fn read(&mut self, range: Range<u64>) -> Result<&[u8], ReadError> {
        let start = self.memory.as_ptr().align_offset(MEMORY);
        let buffer = &mut self.memory[start..start + (range.end - range.start) as usize];
        match self.direct.read_exact_at(buffer, range.start) {
            // What is no multiple of the drive's logical block is read through the cache.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.cached.read_exact_at(buffer, range.start)
            }
            other => other,
        }
        .map_err(|source| ReadError {
            node: self.node.to_owned(),
            offset: range.start,
            source,
        })?;
        Ok(buffer)
    }

    /// The place of the first byte in a range of at most [`CHUNK`] bytes that is not zero.
    pub(crate) fn first_data(&mut self, range: Range<u64>) -> Result<Option<u64>, ReadError> {
        let start = range.start;
        Ok(first_data(self.read(range)?).map(|place| start + place))
    }
}

/// The place of the first byte that is not zero.
pub(crate) fn first_data(bytes: &[u8]) -> Option<u64> {
    // Blocks are compared as a whole, which keeps up with any disk.
    const BLOCK: usize = 4096;
    const ZEROS: [u8; BLOCK] = [0; BLOCK];
    let block = bytes.chunks(BLOCK).position(|block| block != &ZEROS[..block.len()])?;
    let inside = bytes[block * BLOCK..].iter().position(|byte| *byte != 0)?;
    Some((block * BLOCK + inside) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_first_byte_is_found(length in 1usize..20_000, place in 0usize..20_000, byte in 1u8..) {
            let mut bytes = vec![0; length];
            proptest::prop_assert_eq!(first_data(&bytes), None);
            if let Some(found) = bytes.get_mut(place) {
                *found = byte;
                proptest::prop_assert_eq!(first_data(&bytes), Some(place as u64));
            }
        }
    }

    #[test]
    fn what_is_around_a_range_is_whole_sectors_of_the_device() {
        let file = tempfile::tempfile().unwrap();
        let size = (1 << 20) + 512;
        file.set_len(size).unwrap();
        let mut medium = Medium::open("disk", &file, size).unwrap();
        assert_eq!(medium.around(5000..5010), 4096..8192);
        assert_eq!(medium.around(4096..8192), 4096..8192);
        assert_eq!(medium.around(1 << 20..size), 1 << 20..size);
        assert_eq!(medium.read((1 << 20)..size).unwrap(), [0; 512]);
        let beyond = medium.read(size - 512..size + 512).unwrap_err().to_string();
        assert!(beyond.starts_with("disk cannot be read at byte 1048576: "), "{beyond}");
    }
}
