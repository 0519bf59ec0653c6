//! The one place where fstrial waits by the clock: each wait has an end and a reason. What can be
//! waited for by an event (a channel, a child, a lock) is waited for by that event.

use std::time::{Duration, Instant};

/// Waits for the whole time. `_why` is what is expected to happen meanwhile, for who reads the
/// code.
pub fn pause(time: Duration, _why: &'static str) {
    std::thread::sleep(time);
}

/// Looks now, and then every so often, whether something is so; false if it is not within `limit`.
pub fn until(limit: Duration, every: Duration, mut is: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(every);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_so_is_seen_at_once_and_what_never_is_ends_with_the_limit() {
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            looks == 3
        };
        assert!(until(Duration::from_secs(60), Duration::from_millis(1), &mut third));
        assert_eq!(looks, 3);
        assert!(!until(Duration::ZERO, Duration::from_secs(60), || false));
    }
}
