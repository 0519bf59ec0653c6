//! The only clock of a trial.

use std::sync::atomic::{AtomicU64, Ordering};

use units::Nanos;

/// Time that was taken out of the clock, in nanoseconds.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);

/// Time since an arbitrary start; it never goes back (`CLOCK_MONOTONIC`). In the lab's guest
/// this is virtual time, in which the code that serves the simulated disks takes no time. Reading
/// it costs 20–40 ns on today's machines (vDSO, no system call); `fstrial self bench` measures it.
#[inline]
pub fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let time = Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
    time - time_outside()
}

/// Takes the time since `began` out of this process's clock: when this returns, the clock shows
/// `began`. Use it only on a machine with a single processor, in a thread that no other can
/// interrupt meanwhile: then no reader of the clock sees it go back.
pub fn exclude_since(began: Nanos) {
    OUTSIDE.fetch_add((now() - began).0, Ordering::Relaxed);
}

/// How much was taken out of the clock so far.
#[inline]
pub fn time_outside() -> Nanos {
    Nanos(OUTSIDE.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outside_is_no_time() {
        let began = now();
        // Ends only because the clock goes on meanwhile.
        while now() < began + Nanos::from_millis(3) {}
        let outside = time_outside();
        exclude_since(began);
        assert!(time_outside() - outside >= Nanos::from_millis(3));
        assert!(now() >= began);
    }
}
