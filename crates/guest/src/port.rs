//! Two ports of the emulated machine, reached without any driver: a byte that wakes the
//! host, and the one at which the host takes a checkpoint.

use std::io;

/// QEMU's debug console.
const DEBUG_CONSOLE: u16 = 0xe9;
/// QEMU's pvpanic device: a write of [`PANICKED`] stops the machine.
const PVPANIC: u16 = 0x505;
const PANICKED: u8 = 1;

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

/// Stops the machine; returns when the host lets it go on, from here or from a checkpoint.
pub(crate) fn checkpoint() {
    write(PVPANIC, PANICKED);
}
