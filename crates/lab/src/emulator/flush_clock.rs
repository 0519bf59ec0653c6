//! A clock for the emulator's TLB that does not depend on the host.
//!
//! QEMU caches the guest's page table entries in a software TLB. At each flush it may resize the
//! TLB: it becomes smaller if it was little used for 100 ms of the host's time. That affects more
//! than speed. An entry that falls out of the TLB is looked up in the page tables again, and this
//! marks the page as accessed, as a processor does. When Linux reclaims memory, it clears these
//! marks without a TLB flush. So the host's load decided which pages Linux kept, and therefore what
//! it read again. `varmail` on ZFS with 1 GiB gave two different request logs, one on a quiet host
//! and one on a busy host; with this clock 24 of 24 were equal on each.
//!
//! A small library that is loaded before the C library replaces `gettimeofday`, which QEMU calls at
//! each flush. Its answer depends only on the number of calls that the thread has made, so it is
//! the same in each run. The thread that starts QEMU still gets the time of day. QEMU uses that
//! function for nothing else: the guest's clock counts instructions, and the emulated hardware's
//! clock follows the guest's.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::MemfdFlags;

/// The library.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flush_clock.so"));
/// The library's source code. Figures depend on it alone; the library's bytes also depend on the
/// compiler.
pub(crate) const SOURCE: &str = include_str!("../../preload/flush_clock.rs");
/// Its name in the list of files that a process has mapped.
const NAME: &str = "fstrial-flush-clock";

/// The library as a file in memory, to be named in `LD_PRELOAD`.
///
/// # Errors
/// When there is no memory.
pub(crate) fn library() -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create(NAME, MemfdFlags::CLOEXEC)?);
    file.write_all(LIBRARY)?;
    Ok(file)
}

/// Whether a process has loaded it.
pub(crate) fn is_loaded(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/maps"))
        .is_ok_and(|maps| maps.lines().any(|line| line.contains(NAME)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_loads_it_and_says_so() {
        let library = library().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), library.as_raw_fd());
        for (preload, loaded) in [(path.as_str(), true), ("", false)] {
            let mut child = Command::new("cat")
                .env("LD_PRELOAD", preload)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            // It runs once it answers.
            let mut byte = [0];
            child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
            assert_eq!(is_loaded(child.id()), loaded);
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
        }
    }
}
