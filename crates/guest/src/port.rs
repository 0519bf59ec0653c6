//! Two devices of the emulated machine, reached without any driver: one that takes a byte and
//! wakes the host, and a watchdog that stops the machine for a checkpoint.

use std::io;

/// QEMU's debug console.
const DEBUG_CONSOLE: u16 = 0xe9;
/// QEMU's iBASE 700 watchdog: a write starts it, the value is fifteen less half the seconds.
const WATCHDOG: u16 = 0x443;
const TWO_SECONDS: u8 = 14;

/// The byte that tells the host to look at the shared region.
pub const DOORBELL: u8 = 0x07;

/// Lets this process and its children use ports.
///
/// # Errors
/// When not root, or the kernel is locked down.
pub(crate) fn allow() -> io::Result<()> {
    // SAFETY: iopl changes this thread's privilege for port instructions and nothing else.
    match unsafe { libc::iopl(3) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn write(port: u16, value: u8) {
    // SAFETY: the two ports above belong to devices that take a byte and touch no memory;
    // PID 1 has called `allow` before anything here is reached.
    unsafe {
        std::arch::asm!("out dx, al", in("dx") port, in("al") value,
            options(nostack, preserves_flags));
    }
}

/// Tells the host to look at the region.
pub(crate) fn ring() {
    write(DEBUG_CONSOLE, DOORBELL);
}

/// Says something in plain text, for when the region is not there (yet).
pub(crate) fn say(text: &str) {
    text.bytes().filter(|&byte| byte != DOORBELL).for_each(|byte| write(DEBUG_CONSOLE, byte));
    write(DEBUG_CONSOLE, b'\n');
}

/// Has the machine stopped while it is idle, two seconds from now; returns when the host has
/// let it go on, from there or from a checkpoint.
///
/// A machine stopped by what its processor does may or may not have its idle time skipped
/// before it stands; one that is stopped by a timer while its processor is idle stands at
/// that timer, every time.
pub(crate) fn checkpoint() {
    write(WATCHDOG, TWO_SECONDS);
    let four = rustix::thread::Timespec { tv_sec: 4, tv_nsec: 0 };
    let _ = rustix::thread::nanosleep(&four);
}
