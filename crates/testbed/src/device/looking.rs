//! What the user is told while a device is read to see whether it is empty.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use ::device::Progress;

use crate::Stop;

/// What takes longer is told.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// How often.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Follows the reading of one device.
pub(super) struct Looking<'a> {
    path: &'a Path,
    stop: &'a Stop,
    tell: fn(&str),
    next: Cell<Duration>,
}

impl<'a> Looking<'a> {
    pub(super) fn new(path: &'a Path, stop: &'a Stop, tell: fn(&str)) -> Looking<'a> {
        Looking { path, stop, tell, next: Cell::new(TOLD_AFTER) }
    }

    /// Tells how far it is, now and then.
    pub(super) fn follow(&self, progress: Progress) -> ControlFlow<()> {
        if self.stop.asked() {
            return ControlFlow::Break(());
        }
        if progress.elapsed >= self.next.get() {
            self.next.set(progress.elapsed + TELL_EVERY);
            let left = progress.left().map_or(0, |left| left.as_secs().max(1));
            (self.tell)(&format!(
                "reading {} to see whether it is empty: {}, about {left} s left",
                self.path.display(),
                progress.share()
            ));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use units::Bytes;

    thread_local! {
        static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn what_takes_long_is_told_now_and_then_until_it_is_stopped() {
        let stop = Stop::new();
        let tell = |line: &str| TOLD.with_borrow_mut(|told| told.push(line.to_owned()));
        let looking = Looking::new(Path::new("/dev/sdz"), &stop, tell);
        for secs in [0, 1, 2, 3, 4, 6, 7, 8] {
            let elapsed = Duration::from_secs(secs);
            let progress = Progress { read: Bytes(secs * 100), whole: Bytes(2000), elapsed };
            assert!(looking.follow(progress).is_continue());
        }
        let line = "reading /dev/sdz to see whether it is empty: ";
        let expected = ["10.0 %, about 18 s left", "35.0 %, about 13 s left"];
        assert_eq!(TOLD.take(), expected.map(|rest| format!("{line}{rest}")));
        stop.ask();
        let progress = Progress { read: Bytes(1), whole: Bytes(2), elapsed: TELL_EVERY };
        assert!(looking.follow(progress).is_break());
    }
}
