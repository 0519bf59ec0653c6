//! A `gettimeofday` that counts its calls, loaded into the emulator before the C library: see
//! `src/emulator/flush_clock.rs`, which says what for.
//!
//! The thread that starts the emulator gets the time of day, every other one a clock of its own
//! that goes on by a fixed amount at each call. No libraries: the emulator may be linked against
//! any C library.

#![no_std]

use core::arch::asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

/// Microseconds from one call to the next. The emulator looks back on 100 ms: on 781 calls.
const STEP: i64 = 128;
/// Threads with a clock. An emulator of one processor has one that asks.
const THREADS: usize = 32;

/// `struct timeval`.
#[repr(C)]
struct TimeOfDay {
    seconds: i64,
    microseconds: i64,
}

struct Clock {
    thread: AtomicUsize,
    calls: AtomicI64,
}

static STARTER: AtomicUsize = AtomicUsize::new(0);
static CLOCKS: [Clock; THREADS] =
    [const { Clock { thread: AtomicUsize::new(0), calls: AtomicI64::new(0) } }; THREADS];

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Runs in the starting thread, before the program.
extern "C" fn begin() {
    STARTER.store(this_thread(), Relaxed);
}

/// What tells one thread from another: the address of its control block.
fn this_thread() -> usize {
    let address;
    // SAFETY: reads the word that the ABI keeps at the start of each thread's control block.
    unsafe { asm!("mov {}, fs:0", out(reg) address, options(nostack, pure, readonly)) };
    address
}

/// This thread's clock, taken at its first call. `None` for the starting thread, and where more
/// threads ask than there are clocks.
fn clock() -> Option<&'static Clock> {
    let this = this_thread();
    if this == STARTER.load(Relaxed) {
        return None;
    }
    CLOCKS.iter().find(|clock| match clock.thread.load(Relaxed) {
        0 => clock.thread.compare_exchange(0, this, Relaxed, Relaxed).is_ok(),
        thread => thread == this,
    })
}

/// # Safety
///
/// `time` is null or has room for a [`TimeOfDay`].
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut TimeOfDay, zone: *mut c_void) -> c_int {
    const NUMBER: isize = 96;
    match clock() {
        Some(clock) if !time.is_null() => {
            let microseconds = clock.calls.fetch_add(1, Relaxed) * STEP;
            let (seconds, microseconds) = (microseconds / 1_000_000, microseconds % 1_000_000);
            // SAFETY: the caller's promise.
            unsafe { time.write(TimeOfDay { seconds, microseconds }) };
            0
        }
        _ => {
            let result: isize;
            // SAFETY: the system call writes where the caller has room.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") NUMBER => result,
                    in("rdi") time,
                    in("rsi") zone,
                    lateout("rcx") _,
                    lateout("r11") _,
                    options(nostack),
                );
            }
            if result == 0 { 0 } else { -1 }
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
