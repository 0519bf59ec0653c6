//! One boot, watched from outside: the login target by a word in a pipe, windows by the
//! display's own events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::path::Path;

use measure::now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use units::Nanos;

use super::display::Display;
use super::machine::Machine;
use crate::{Op, OpError, Recorder};

/// The display that the system opens.
const DISPLAY: &str = ":0";
/// Words of the system: the login target is reached, the display is there.
const SAYS_LOGIN: &str = "login";
const SAYS_DISPLAY: &str = "display";

/// The times of events, from the start of the boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Seen {
    /// The login target was reached.
    pub(super) login: Nanos,
    /// The first window of each program was mapped.
    pub(super) windows: BTreeMap<String, Nanos>,
}

/// Boots the tree at `root` and waits for the windows of these classes.
///
/// # Errors
/// When the system does not start, ends, or is not ready after `limit`.
pub(super) fn boot(
    root: &Path,
    programs: &[&str],
    limit: Nanos,
    recorder: &mut Recorder<'_>,
    login: Op,
    window: Op,
) -> Result<Seen, OpError> {
    let fail = |error| OpError::new("boot", root, error);
    let start = now();
    let machine = Machine::start(root).map_err(fail)?;
    let times = (start, limit);
    let ready = until_ready(&System::of(&machine), programs, times, recorder, (login, window));
    machine.end();
    ready.map_err(fail)
}

/// Watches a system that was started at `start`, and records what was waited for.
fn until_ready(
    system: &System<'_>,
    programs: &[&str],
    (start, limit): (Nanos, Nanos),
    recorder: &mut Recorder<'_>,
    (login, window): (Op, Op),
) -> io::Result<Seen> {
    system.watch(programs, start + limit, &mut |seen, what| {
        let at = now() - start;
        match what {
            What::Login => {
                seen.login = at;
                recorder.done(login);
            }
            What::Window(class) => {
                if programs.contains(&class.as_str()) && !seen.windows.contains_key(&class) {
                    seen.windows.insert(class, at);
                    recorder.done(window);
                }
            }
        }
    })
}

/// Something that was waited for.
pub(super) enum What {
    Login,
    Window(String),
}

/// A system as it is seen from outside.
pub(super) struct System<'a> {
    /// Readable once its first process has ended.
    ended: BorrowedFd<'a>,
    /// Its words. Reading never waits.
    events: &'a File,
    /// The display that it opens.
    display: &'a str,
}

impl System<'_> {
    /// What runs in a machine.
    pub(super) fn of(machine: &Machine) -> System<'_> {
        System { ended: machine.ended(), events: machine.events(), display: DISPLAY }
    }

    /// Watches until login was reached and all windows are there.
    ///
    /// # Errors
    /// As [`boot`].
    pub(super) fn watch(
        &self,
        programs: &[&str],
        end: Nanos,
        told: &mut dyn FnMut(&mut Seen, What),
    ) -> io::Result<Seen> {
        let mut seen = Seen::default();
        let mut display: Option<Display> = None;
        let mut logged_in = false;
        loop {
            let missing: Vec<_> =
                programs.iter().filter(|program| !seen.windows.contains_key(**program)).collect();
            if logged_in && missing.is_empty() {
                return Ok(seen);
            }
            let left = end.saturating_sub(now());
            let mut files = vec![
                PollFd::new(&self.ended, PollFlags::IN),
                PollFd::new(self.events, PollFlags::IN),
            ];
            let news = display.as_ref().map(Display::news);
            files.extend(news.as_ref().map(|news| PollFd::new(news, PollFlags::IN)));
            match poll(&mut files, Some(&timespec(left))) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => {
                    let state = match (logged_in, &display) {
                        (false, _) => "the login target was not reached".to_owned(),
                        (true, None) => "the display did not come up".to_owned(),
                        (true, Some(display)) => without_windows(&missing, &display.windows()),
                    };
                    return Err(io::Error::new(io::ErrorKind::TimedOut, state));
                }
                Ok(_) => {}
            }
            if !files[0].revents().is_empty() {
                return Err(io::Error::other("the system's first process ended"));
            }
            if !files[1].revents().is_empty() {
                for word in words(self.events)? {
                    match word.as_str() {
                        SAYS_LOGIN => {
                            logged_in = true;
                            told(&mut seen, What::Login);
                        }
                        SAYS_DISPLAY => {
                            let (watched, mapped) = Display::watch(self.display)?;
                            display = Some(watched);
                            mapped.into_iter().for_each(|it| told(&mut seen, What::Window(it)));
                        }
                        _ => {}
                    }
                }
            }
            // Checked after anything happened, since replies to requests bring events with them.
            if let Some(display) = &display {
                display.mapped()?.into_iter().for_each(|it| told(&mut seen, What::Window(it)));
            }
        }
    }
}

/// A time as the kernel takes it.
fn timespec(time: Nanos) -> Timespec {
    Timespec {
        tv_sec: (time.0 / 1_000_000_000).cast_signed(),
        tv_nsec: (time.0 % 1_000_000_000).cast_signed(),
    }
}

/// Which windows were missed, what there was instead, and which of the programs still run.
fn without_windows(missing: &[&&str], windows: &[String]) -> String {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let running: Vec<String> = names
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .filter(|name| missing.iter().any(|missed| **missed == name))
        .collect();
    format!(
        "there is no window of {missing:?}; windows: {}; of these programs there run {running:?}",
        windows.join(", ")
    )
}

/// The words that have arrived; each word is written in one piece.
fn words(mut events: &File) -> io::Result<Vec<String>> {
    let mut buffer = [0; 4096];
    let got = events.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..got]).split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
