//! The one clock of a trial.

use units::Nanos;

/// Time since an arbitrary start, never going back: `CLOCK_MONOTONIC`. In the lab's guest
/// this is virtual time. Reading it costs 20–40 ns on today's machines (vDSO, no system
/// call); `fstrial bench` measures it.
#[inline]
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
