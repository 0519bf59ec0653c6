//! A clock for the emulator's cache of page tables that does not depend on the host.
//!
//! QEMU keeps what it found in a guest's page tables in a table of its own, and gives that
//! another size when it is flushed: a smaller one if it was little used for 100 ms of the host's
//! time. That is not only a matter of speed. What falls out of the table is looked up in the page
//! tables again, which marks the page as accessed, as a processor does. Linux takes these marks
//! away without a flush when it looks for memory to give back, so that which pages it keeps, and
//! so what it reads again, followed the host's load. Seen: `varmail` on ZFS with 1 GiB, of whose
//! request log there were two, one on a quiet host and the other on a busy one; with this clock
//! 24 of 24 were equal on each.
//!
//! So a small library that is loaded before the C library answers `gettimeofday`, which QEMU
//! asks at each flush, by the number of calls of its thread: the same in each run. The thread
//! that starts QEMU still gets the time of day. QEMU asks nothing else of it: the guest's clock
//! counts instructions, and the emulated hardware's clock follows the guest's.

use std::fs::File;
use std::io::{self, Write};

use rustix::fs::MemfdFlags;

/// The library.
static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flush_clock.so"));
/// What it is made from: all that figures depend on. Its bytes depend on the compiler as well.
pub(crate) const SOURCE: &str = include_str!("../../preload/flush_clock.rs");
/// What it is called among the files a process has mapped.
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
