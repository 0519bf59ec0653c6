//! Memory withheld from a machine, so that it has as little for a trial's files as an old machine
//! had: today's kernel does not boot in 16 MB, but can be left with that much.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{
    Advice, MapFlags, MlockFlags, ProtFlags, madvise, mlock_with, mmap_anonymous, munmap,
};
use units::Bytes;

/// Withheld memory; released when dropped.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<(NonNull<c_void>, usize)>);

impl Drop for Held {
    fn drop(&mut self) {
        for (start, len) in self.0.drain(..) {
            // SAFETY: the mapping is this value's own, and nothing was ever made of its bytes.
            let _ = unsafe { munmap(start.as_ptr(), len) };
        }
    }
}

/// Withholds the available memory beyond `left`; nothing where less is available anyway.
///
/// # Errors
/// When the kernel does not report how much there is, or does not hand it out.
pub(crate) fn all_but(left: Bytes) -> io::Result<Held> {
    let mut held = Held::default();
    // In steps, since the page tables for each piece come out of what is to be left.
    for _ in 0..4 {
        let excess = available()?.0.saturating_sub(left.0) >> 12 << 12;
        if excess < 1 << 20 {
            break;
        }
        held.more(excess as usize)?;
    }
    Ok(held)
}

impl Held {
    fn more(&mut self, len: usize) -> io::Result<()> {
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory
        // of ours.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        self.0.extend(NonNull::new(start).map(|start| (start, len)));
        // SAFETY: advice on, and locking of, a mapping of this value's own. Programs started
        // from this process need not copy its tables.
        unsafe {
            madvise(start, len, Advice::LinuxDontFork)?;
            mlock_with(start, len, MlockFlags::empty())?;
        }
        Ok(())
    }
}

/// The kernel's limits for dirty memory: as shares, and in bytes.
const SHARES: [(&str, u64); 2] = [("dirty_background_ratio", 10), ("dirty_ratio", 20)];
const IN_BYTES: [&str; 2] = ["dirty_background_bytes", "dirty_bytes"];

/// Limits dirty memory to the amount that will apply once all but `left` is withheld. Without this
/// the kernel goes by the memory it had before: its limit rises at once but falls by only a
/// thirty-second per 200 ms (`update_dirty_limit`), so files written in the first seconds filled
/// all of a small memory with dirty pages that could not be dropped, and XFS ran out of memory.
///
/// # Errors
/// When the kernel does not take it.
pub(crate) fn limit_dirty(left: Bytes) -> io::Result<()> {
    SHARES.iter().zip(IN_BYTES).try_for_each(|((_, share), name)| set(name, left.0 * share / 100))
}

/// Limits it by share again, as a kernel does by default: of the memory that is present.
///
/// # Errors
/// When the kernel does not take it.
pub(crate) fn limit_dirty_by_share() -> io::Result<()> {
    SHARES.iter().try_for_each(|(name, share)| set(name, *share))
}

fn set(name: &str, value: u64) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/vm/{name}"), value.to_string())
}

/// What the kernel could give to programs and files without swapping.
fn available() -> io::Result<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok())
        .map(Bytes::from_kib)
        .ok_or_else(|| io::Error::other("/proc/meminfo has no MemAvailable"))
}
