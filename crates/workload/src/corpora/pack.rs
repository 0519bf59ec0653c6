//! A pack of mails: one file with index and contents, mapped read-only.
//!
//! Numbers are little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic `FSTRMAIL` |
//! | 8..12, 12..16 | version, flags (bit 0: the text is masked) |
//! | 16..24, 24..32, 32..40 | number of mails, place of the index, length of the file |
//! | 40..72 | fingerprint of the source: which input and which method made it |
//! | 72..104 | SHA-256 of the contents |
//! | 104..108, 108..112 | length of the label, zero |
//! | 112..144 | SHA-256 of bytes 0..112, the index and the label |
//! | 144.. | the mails, one after the other |
//! | index | place of each mail and, last, of their end: 8 bytes each; then the label |
//!
//! A pack is written by [`super::PackWriter`] under another name and renamed when complete,
//! and never changed afterwards.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};
use sha2::{Digest, Sha256};
use units::Bytes;

use super::CorpusError;

pub(super) const MAGIC: &[u8; 8] = b"FSTRMAIL";
pub(super) const VERSION: u32 = 1;
pub(super) const FLAG_MASKED: u32 = 1;
pub(super) const HEADER_LEN: usize = 144;
/// Where the header's checksum starts: what precedes it is covered by it.
pub(super) const SUMMED_LEN: usize = 112;
/// Longer labels are refused when writing, and count as damage when reading.
pub(super) const LABEL_MAX: usize = 4096;

/// Identifies a pack's source and method: equal fingerprints, equal contents (but for the
/// mask's draws).
pub type Fingerprint = [u8; 32];

/// Mails of a pack file, in memory by mapping. Cheap to open: 100,000 mails cost no memory
/// but page cache.
#[derive(Debug)]
pub struct MailCorpus {
    path: PathBuf,
    map: Map,
    count: usize,
    index_at: usize,
    label_at: usize,
}

impl MailCorpus {
    /// Maps a pack and checks its header, index and length. Contents are covered by a
    /// checksum of their own, see [`MailCorpus::check_contents`].
    ///
    /// # Errors
    /// When the file cannot be read, is truncated, damaged, of another version or no pack.
    pub fn open(path: &Path) -> Result<MailCorpus, CorpusError> {
        let bad = |why: &str| CorpusError::not_a_pack(path, why);
        let file = File::open(path).map_err(CorpusError::at("open", path))?;
        let len = file.metadata().map_err(CorpusError::at("stat", path))?.len();
        let len = usize::try_from(len).map_err(|_| bad("too large for this machine"))?;
        if len < HEADER_LEN {
            return Err(bad("shorter than a header"));
        }
        let map = Map::new(&file, len).map_err(CorpusError::at("map", path))?;
        let bytes = map.bytes();
        if &bytes[..8] != MAGIC {
            return Err(bad("it does not begin like one"));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(bad(&format!("format version {version}, this program reads {VERSION}")));
        }
        if u64_at(bytes, 32) != len as u64 {
            return Err(bad("it was cut off or added to"));
        }
        let end_of =
            |start: u64, count: u64, size: u64| start.checked_add(count.checked_mul(size)?);
        let (count, index_at) = (u64_at(bytes, 16), u64_at(bytes, 24));
        let label_len = u64::from(u32_at(bytes, 104));
        let label_at = end_of(index_at, count.saturating_add(1), 8)
            .filter(|&at| {
                index_at >= HEADER_LEN as u64 && at.checked_add(label_len) == Some(len as u64)
            })
            .ok_or_else(|| bad("its index does not fit its length"))?;
        let (index_at, label_at) = (index_at as usize, label_at as usize);

        let mut sum = Sha256::new();
        sum.update(&bytes[..SUMMED_LEN]);
        sum.update(&bytes[index_at..]);
        if sum.finalize()[..] != bytes[SUMMED_LEN..HEADER_LEN] {
            return Err(bad("the checksum of its index is wrong"));
        }
        let corpus =
            MailCorpus { path: path.to_owned(), count: count as usize, index_at, label_at, map };
        let ordered = (0..corpus.count).all(|i| corpus.place(i) <= corpus.place(i + 1));
        if !ordered || corpus.place(0) != HEADER_LEN || corpus.place(corpus.count) != index_at {
            return Err(bad("its index is out of order"));
        }
        Ok(corpus)
    }

    /// How many mails there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One mail.
    ///
    /// # Panics
    /// When `index` is not below [`MailCorpus::len`], as slices do.
    #[inline]
    pub fn mail(&self, index: usize) -> &[u8] {
        assert!(index < self.count, "mail {index} of {}", self.count);
        &self.map.bytes()[self.place(index)..self.place(index + 1)]
    }

    /// All mails together.
    pub fn total_size(&self) -> Bytes {
        Bytes((self.index_at - HEADER_LEN) as u64)
    }

    /// Mean size of a mail; 0 of an empty corpus.
    pub fn mean_size(&self) -> Bytes {
        Bytes(self.total_size().0.checked_div(self.count as u64).unwrap_or(0))
    }

    /// What it is, in words for a table: `SpamAssassin public corpus, 6,046 mails`.
    pub fn label(&self) -> String {
        text::line(std::str::from_utf8(&self.map.bytes()[self.label_at..]).unwrap_or_default())
    }

    /// Whether the text was masked when the pack was built.
    pub fn is_masked(&self) -> bool {
        u32_at(self.map.bytes(), 12) & FLAG_MASKED != 0
    }

    /// Sixteen hexadecimal digits that two packs share only when all their mails are equal.
    pub fn identity(&self) -> String {
        let sum = &self.map.bytes()[SUMMED_LEN..SUMMED_LEN + 8];
        sum.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Where the pack lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which input and method made it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.map.bytes()[40..72].try_into().unwrap_or_default()
    }

    /// Brings every page into memory and maps it, so that taking a mail costs no I/O inside
    /// a clock. Mapped pages survive a drop of the page cache.
    pub fn prefault(&self) {
        let bytes = self.map.bytes();
        // Older kernels (before 5.14) do not know the advice; touching does the same, slower.
        // SAFETY: the range is this mapping; populating it for reading changes no content.
        let populated = unsafe {
            rustix::mm::madvise(
                self.map.start.as_ptr().cast(),
                bytes.len(),
                Advice::LinuxPopulateRead,
            )
        };
        if populated.is_err() {
            let touched: u64 = bytes.iter().step_by(4096).map(|byte| u64::from(*byte)).sum();
            std::hint::black_box(touched);
        }
    }

    /// Reads every mail and compares with the checksum of the contents.
    ///
    /// # Errors
    /// When they differ: the medium or another program has changed the file.
    pub fn check_contents(&self) -> Result<(), CorpusError> {
        let bytes = self.map.bytes();
        let sum = Sha256::digest(&bytes[HEADER_LEN..self.index_at]);
        if sum[..] != bytes[72..104] {
            return Err(CorpusError::not_a_pack(
                &self.path,
                "its mails do not match their checksum",
            ));
        }
        Ok(())
    }

    /// Where mail `index` begins; for `index == len`, where the last ends.
    #[inline]
    fn place(&self, index: usize) -> usize {
        u64_at(self.map.bytes(), self.index_at + index * 8) as usize
    }
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(value)
}

/// A whole file, mapped read-only.
#[derive(Debug)]
struct Map {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is read-only for its whole life; sharing it is sharing a `&[u8]`.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// `len` must not be zero.
    fn new(file: &File, len: usize) -> std::io::Result<Map> {
        // SAFETY: the kernel chooses the address, so no other mapping is touched.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                file.as_fd(),
                0,
            )
        }?;
        let start = NonNull::new(start.cast())
            .ok_or_else(|| std::io::Error::other("the kernel mapped at address 0"))?;
        Ok(Map { start, len })
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping covers `len` readable bytes until `self` is dropped. Packs are
        // complete before they get their name and are replaced by rename, never changed in
        // place, so the bytes stay what they are while this inode is mapped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`; slices of it cannot outlive `self`.
        // Nothing can be done about a failure, and unmapping a whole mapping does not fail.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
