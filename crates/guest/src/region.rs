//! The memory that host and guest share: a file of the host's, placed by QEMU above the
//! guest's own RAM, so that a machine of 512 MB has 512 MB whatever its disks hold.
//!
//! It carries the order (host to guest), events, the request log, the kernel's last messages and
//! the contents of the simulated disks (guest to host). The guest reaches it through `/dev/mem`,
//! the host through the file. It is sparse: an area takes memory only where it was touched.
//!
//! | from | what |
//! |---|---|
//! | 0 | [`Word`]s |
//! | [`ORDER_AT`] | the order, JSON |
//! | [`PLAN_AT`] | which states are tried after a power cut, JSON |
//! | [`KERNEL_LOG_AT`] | the kernel's log at an oops or panic, written by `ramoops` |
//! | [`EVENTS_AT`] | events of the trial protocol, JSON lines |
//! | [`REQUESTS_AT`] | the request log, see [`crate::requests`] |
//! | [`INPUTS_AT`] | input files, one after the other |
//! | [`STORE_AT`] | contents of the disks, see [`crate::store`] |

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

/// First word of a region: distinguishes a region of this version from anything else.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fstrial1");
/// Where the order begins.
pub const ORDER_AT: u64 = 4 << 10;
/// Room for an order.
pub const ORDER_BYTES: u64 = PLAN_AT - ORDER_AT;
/// Where the plan for the states after a power cut begins.
pub const PLAN_AT: u64 = 768 << 10;
/// Room for it.
pub const PLAN_BYTES: u64 = (1 << 20) - PLAN_AT;
/// Where `ramoops` writes.
pub const KERNEL_LOG_AT: u64 = 1 << 20;
/// Room for it.
pub const KERNEL_LOG_BYTES: u64 = 1 << 20;
/// Where events begin.
pub const EVENTS_AT: u64 = 4 << 20;
/// Room for events.
pub const EVENTS_BYTES: u64 = 60 << 20;
/// Where the request log begins.
pub const REQUESTS_AT: u64 = 64 << 20;
/// Room for it: 44 million requests.
pub const REQUESTS_BYTES: u64 = (2 << 30) - REQUESTS_AT;
/// Where input files begin.
pub const INPUTS_AT: u64 = 2 << 30;
/// Room for input files.
pub const INPUTS_BYTES: u64 = 2 << 30;
/// Where the disks' contents begin.
pub const STORE_AT: u64 = 4 << 30;
/// Size of every region: part of the machine, so the same in every checkpoint.
pub const REGION_BYTES: u64 = 64 << 30;

/// The words at a region's start, eight bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Word {
    /// [`MAGIC`], written by the host with the order.
    Magic,
    /// Length of the order in bytes.
    OrderBytes,
    /// How many bytes the disks may hold together. A word and not part of the order, because it
    /// depends on the memory the host has left and must cost the guest no time.
    StoreLimit,
    /// Events written so far, in bytes; written last, after the events.
    EventBytes,
    /// Records in the request log.
    Requests,
    /// Records that found no room in it.
    RequestsLost,
    /// Number of the phase that runs, 0 outside any.
    Phase,
    /// What serves requests: see [`crate::server::Service`].
    Service,
    /// How much earlier than the model's time a completion is delivered, in nanoseconds.
    Lead,
    /// Time a request takes through the guest if the disk takes none, in nanoseconds.
    Floor,
    /// Nanoseconds during which at least one request was later than its model says.
    Excess,
    /// Pages of the store in use.
    StorePages,
    /// Set when the store had no room for a write.
    StoreFull,
    /// Requests that were answered wrongly or not at all: 0 unless there is a defect.
    Defects,
    /// Disks that fill a new member of their array.
    Rebuilding,
    /// Length of the requested result, from [`STORE_AT`]; written last.
    OutputBytes,
    /// Processor time a small request takes on its round trip to the server, in
    /// nanoseconds.
    RoundTrip,
    /// Set while the disks have no power and accept no write.
    PowerLost,
    /// Counts virtual seconds while the guest's first process is being scheduled.
    Heartbeat,
    /// Number of the thread that serves the disks; 0 while there is none.
    DiskServer,
    /// Length of the plan for the states after a power cut.
    PlanBytes,
}

/// A region, seen from either side.
#[derive(Debug)]
pub struct Region {
    file: File,
    base: u64,
    len: u64,
}

impl Region {
    /// The region in `file` from byte `base`: 0 for the host's file, the physical address
    /// for `/dev/mem`.
    pub fn new(file: File, base: u64, len: u64) -> Region {
        Region { file, base, len }
    }

    /// A new, empty, sparse region in memory.
    ///
    /// # Errors
    /// When the kernel has no memory files.
    pub fn in_memory(len: u64) -> io::Result<Region> {
        let file = File::from(rustix::fs::memfd_create(
            c"fstrial region",
            rustix::fs::MemfdFlags::CLOEXEC,
        )?);
        file.set_len(len)?;
        Ok(Region { file, base: 0, len })
    }

    /// The file it lies in.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its size.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether its size is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Maps a part; `at` and `len` are multiples of a page.
    ///
    /// # Errors
    /// When it lies outside, or the kernel refuses: `/dev/mem` needs root and a place that
    /// is no RAM of the kernel's.
    pub fn map(&self, at: u64, len: u64) -> io::Result<Window> {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(io::Error::other(format!("region: {at}+{len} is outside")));
        }
        let len = usize::try_from(len).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of
        // this process; the window owns it.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &self.file,
                self.base + at,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Window { start, len })
    }

    /// The words at its start.
    ///
    /// # Errors
    /// As [`Region::map`].
    pub fn words(&self) -> io::Result<Words> {
        Ok(Words(self.map(0, ORDER_AT)?))
    }
}

/// A mapped part of a region; unmapped when dropped.
#[derive(Debug)]
pub struct Window {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a window is memory that belongs to no thread; shared access goes through atomics
// or through `&mut self`.
unsafe impl Send for Window {}

impl Window {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping spans `len` bytes and lives as long as `self`. The other side
        // writes an area only before it hands it over (order, events below the written
        // count, contents after the guest has stopped), so nothing changes under a reader.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `bytes`; each area has one writer, which holds the only window on it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is this window's own and no reference into it outlives it.
        // A failure leaves it mapped, which harms nothing.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The words of a region.
#[derive(Debug)]
pub struct Words(Window);

// SAFETY: words are only reached as atomics.
unsafe impl Sync for Words {}

impl Words {
    fn word(&self, word: Word) -> &AtomicU64 {
        let cells: NonNull<AtomicU64> = self.0.start.cast();
        // SAFETY: the window spans a page, which holds all words; it is aligned to a page;
        // both sides reach words only as atomics.
        unsafe { &*cells.as_ptr().add(word as usize) }
    }

    /// Reads one.
    pub fn get(&self, word: Word) -> u64 {
        self.word(word).load(Ordering::Acquire)
    }

    /// Writes one, with release ordering: a reader that sees it also sees everything written
    /// before it.
    pub fn set(&self, word: Word, value: u64) {
        self.word(word).store(value, Ordering::Release);
    }

    /// Adds to one.
    pub fn add(&self, word: Word, value: u64) {
        self.word(word).fetch_add(value, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_one_memory() {
        let region = Region::in_memory(REGION_BYTES).unwrap();
        let words = region.words().unwrap();
        words.set(Word::Phase, 7);
        words.add(Word::Phase, 1);
        let other = Region::new(region.file().try_clone().unwrap(), 0, REGION_BYTES);
        assert_eq!(other.words().unwrap().get(Word::Phase), 8);
        let mut window = region.map(STORE_AT, 4096).unwrap();
        window.bytes_mut()[5] = 9;
        assert_eq!(other.map(STORE_AT, 4096).unwrap().bytes()[5], 9);
        assert!(region.map(REGION_BYTES, 4096).is_err());
    }
}
