//! Memory taken away from a machine, so that it has as little for a trial's files as an old
//! one had: today's kernel does not boot in 16 MB, but can be left with that much.

use std::io;

use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags, madvise, mlock_with, mmap_anonymous};
use units::Bytes;

/// Holds what is available beyond `left`, for as long as this process lives. Nothing where
/// less is available anyway.
///
/// # Errors
/// When the kernel does not tell how much there is, or does not give it away.
pub(crate) fn all_but(left: Bytes) -> io::Result<()> {
    // Page tables for a piece come out of what is to be left: in steps.
    for _ in 0..4 {
        let excess = available()?.0.saturating_sub(left.0) >> 12 << 12;
        if excess < 1 << 20 {
            break;
        }
        hold(excess as usize)?;
    }
    Ok(())
}

fn hold(len: usize) -> io::Result<()> {
    // SAFETY: a new private mapping at an address of the kernel's choice touches no memory
    // of ours; it is never unmapped.
    unsafe {
        let at = mmap_anonymous(
            std::ptr::null_mut(),
            len,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )?;
        // The process of the trial is a fork of this one and need not copy its tables.
        madvise(at, len, Advice::LinuxDontFork)?;
        mlock_with(at, len, MlockFlags::empty())?;
    }
    Ok(())
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
