//! Stores in files compressed with xz: a quarter of the size, and only read.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::FileExt;

use lzma_rust2::{XzOptions, XzReader, XzWriter};

/// How a file in this format begins.
const MAGIC: &[u8; 6] = b"\xfd7zXZ\0";

/// The largest store that is read from a compressed file. The results of the largest study are 20
/// MB.
const STORE_MAX: u64 = 1 << 30;

/// The most memory that decompressing may take; `xz -9` asks for 65 MiB.
const MEMORY_MAX_KIB: u32 = 128 << 10;

/// As of `xz`. A higher one makes no difference below 8 MB, and little above.
const LEVEL: u32 = 9;

pub(crate) fn is_compressed(file: &File) -> bool {
    let mut first = [0; MAGIC.len()];
    file.read_exact_at(&mut first, 0).is_ok() && first == *MAGIC
}

/// The store that the file holds, or what is wrong with it.
pub(crate) fn decompress(file: &File) -> Result<Vec<u8>, String> {
    at_most(STORE_MAX, file)
}

fn at_most(limit: u64, file: impl Read) -> Result<Vec<u8>, String> {
    let reader = XzReader::new_mem_limit(BufReader::new(file), true, MEMORY_MAX_KIB);
    let mut store = Vec::new();
    reader.take(limit + 1).read_to_end(&mut store).map_err(|error| error.to_string())?;
    if store.len() as u64 > limit {
        return Err(format!("decompressed it is larger than {} MiB", limit >> 20));
    }
    Ok(store)
}

/// The bytes of a store as those of a compressed file.
///
/// # Errors
/// When there is no memory for it.
pub fn compress(store: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(LEVEL))?;
    writer.write_all(store)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size is counted while it is read, whatever the file declares; and so is the memory that
    /// it asks for.
    #[test]
    fn what_becomes_too_large_is_refused() {
        let small = compress(&vec![0; 3 << 20]).unwrap();
        assert_eq!(at_most(3 << 20, &small[..]).unwrap().len(), 3 << 20);
        let error = at_most((3 << 20) - 1, &small[..]).unwrap_err();
        assert!(error.contains("larger than 2 MiB"), "{error}");
        let mut options = XzOptions::with_preset(0);
        options.lzma_options.dict_size = 1 << 30;
        let mut hungry = XzWriter::new(Vec::new(), options).unwrap();
        hungry.write_all(b"little").unwrap();
        let hungry = hungry.finish().unwrap();
        assert!(at_most(STORE_MAX, &hungry[..]).is_err());
    }
}
