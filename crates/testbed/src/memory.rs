//! Prepares this machine's memory for a run.

use rustix::process::{Resource, getrlimit};

/// Most memory touched before a run.
const TOUCH_BYTES_MAX: u64 = 512 << 20;

/// Touches memory and frees it again, so that the pages that a workload's cache will use are
/// really there. A virtual machine gives idle pages to its host, and getting one back costs more
/// than ten times as much as writing a page of a file. Does nothing if this process has a memory
/// limit.
pub(crate) fn touch() {
    if getrlimit(Resource::As).current.is_some() {
        return;
    }
    let available = measure::memory_left().map_or(0, |left| left.0);
    let bytes = (available / 4).min(TOUCH_BYTES_MAX) as usize;
    let mut pages = vec![0u8; bytes];
    for page in pages.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&pages);
}
