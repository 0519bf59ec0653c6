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

/// Sends plain text, for when the region is not (yet) available.
pub(crate) fn say(text: &str) {
    text.bytes().filter(|&byte| byte != DOORBELL).for_each(|byte| write(DEBUG_CONSOLE, byte));
    write(DEBUG_CONSOLE, b'\n');
}

/// Makes the host stop the machine while it is idle, two seconds from now. Returns when the host
/// has resumed it, from there or from a checkpoint.
///
/// If an action of its processor stopped the machine, its idle time might or might not be skipped
/// before it stops. If a timer stops it while its processor is idle, it always stops at the time
/// of that timer.
pub(crate) fn checkpoint() {
    write(WATCHDOG, TWO_SECONDS);
    waiting::pause(std::time::Duration::from_secs(4), "the host stops the machine and resumes it");
}
