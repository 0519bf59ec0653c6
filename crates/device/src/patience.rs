//! Waits for short uses of a device by others: udev examines a disk after every close, losetup
//! tries loop devices, and a child that was just forked shares our descriptors until it executes
//! its program. Each of these ends with a close of the device node, so the wait is for that.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// A use that lasts longer is not a short one.
const PATIENCE: Duration = Duration::from_millis(400);

/// Calls `look`, and again after each close of the node that `busy` returns, until `busy` returns
/// none or [`PATIENCE`] has passed. Returns the last result of `look`.
pub(crate) fn patiently<T>(mut look: impl FnMut() -> T, busy: impl Fn(&T) -> Option<PathBuf>) -> T {
    let mut seen = look();
    let deadline = Instant::now() + PATIENCE;
    while let Some(node) = busy(&seen) {
        let Some(closes) = watch(&node) else { return seen };
        // Once more after the watch was set: the close may have happened before.
        seen = look();
        if busy(&seen).is_none() {
            return seen;
        }
        // `look` may itself have closed the node. If another process's close is drained together
        // with ours, the final call at the deadline makes up for it.
        drain(&closes);
        let left = deadline.saturating_duration_since(Instant::now());
        wait(&closes, left);
        seen = look();
        if left.is_zero() {
            return seen;
        }
    }
    seen
}

fn watch(node: &Path) -> Option<OwnedFd> {
    let closes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    inotify::add_watch(&closes, node, WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE).ok()?;
    Some(closes)
}

fn drain(closes: &OwnedFd) {
    let mut buffer = [0u8; 4096];
    while rustix::io::read(closes, &mut buffer).is_ok_and(|length| length > 0) {}
}

fn wait(closes: &OwnedFd, most: Duration) {
    let timeout =
        Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
    // If poll is interrupted or fails, the wait just ends early.
    let _ = poll(&mut [PollFd::new(closes, PollFlags::IN)], Some(&timeout));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::fs::File;

    #[test]
    fn a_close_ends_the_wait_and_nobody_is_waited_for_forever() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path();
        assert_eq!(patiently(|| 1, |_| None), 1);

        let held = Cell::new(Some(File::open(path).unwrap()));
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            // The holder goes away after it was seen for the second time.
            if looks.get() == 3 {
                held.take();
            }
            let file = held.take();
            let is_held = file.is_some();
            held.set(file);
            is_held
        };
        assert!(!patiently(look, |held| held.then(|| path.to_owned())));

        let stays = patiently(|| "held", |_| Some(path.to_owned()));
        assert_eq!(stays, "held");
    }
}
