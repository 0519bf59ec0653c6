//! Watching a system whose words a test writes, with a display that a test keeps.

use std::fs;
use std::io::{ErrorKind, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use rustix::process::{Uid, geteuid};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::super::fake_display::{FakeDisplay, FakeWindow, ROOT, map_notify};
use super::super::{BOOT, LOGIN, WINDOW};
use super::*;

/// A time that no test takes.
const LONG: Nanos = Nanos::from_secs(1000);
/// When a system ends in a test that does not wait for that: if a word is missed, the test fails
/// instead of waiting for ever.
const GIVEN_UP: Nanos = Nanos::from_secs(20);

/// The parts of a system that are in a test's hands.
struct Acted {
    ended: OwnedFd,
    events: File,
    says: PipeWriter,
}

impl Acted {
    /// A system whose first process ends after this time.
    fn until(ends: Nanos) -> Acted {
        let ended = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).unwrap();
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: (ends.0 / 1_000_000_000).cast_signed(),
                tv_nsec: (ends.0 % 1_000_000_000).cast_signed(),
            },
        };
        timerfd_settime(&ended, TimerfdTimerFlags::empty(), &once).unwrap();
        let (events, says) = std::io::pipe().unwrap();
        Acted { ended, events: File::from(OwnedFd::from(events)), says }
    }

    fn say(&self, words: &str) {
        let mut says = &self.says;
        says.write_all(words.as_bytes()).unwrap();
    }

    fn seen_with<'a>(&'a self, display: &'a str) -> System<'a> {
        System { ended: self.ended.as_fd(), events: &self.events, display }
    }
}

fn window(id: u32, class: &'static [u8], mapped: bool) -> FakeWindow {
    FakeWindow { id, parent: ROOT, class, mapped }
}

#[test]
fn a_system_is_ready_when_it_has_logged_in_and_shows_all_windows() {
    let dillo = window(11, b"dillo\0Dillo\0", false);
    let fake = FakeDisplay::open(&[window(10, b"xterm\0XTerm\0", true), dillo], Some("jwm"));
    let acted = Acted::until(GIVEN_UP);
    acted.say("login\n");
    let mut told = Vec::new();
    let programs = ["jwm", "xterm", "dillo"];
    let seen =
        acted.seen_with(&fake.name).watch(&programs, now() + LONG, &mut |seen, what| match what {
            What::Login => {
                told.push("login".to_owned());
                acted.say("other\ndisplay\n");
            }
            What::Window(class) => {
                if class == "xterm" {
                    fake.show(FakeWindow { mapped: true, ..dillo });
                    fake.tell(&[map_notify(11)]);
                }
                told.push(class.clone());
                seen.windows.insert(class, Nanos::ZERO);
            }
        });
    assert_eq!(seen.unwrap().windows.len(), 3);
    assert_eq!(told, ["login", "jwm", "xterm", "dillo"]);
}

#[test]
fn login_and_the_first_window_of_each_program_are_recorded() {
    // Two windows of one program, and one of a program that nobody waits for.
    let fake = FakeDisplay::open(
        &[
            window(10, b"clock\0Clock\0", true),
            window(11, b"xterm\0XTerm\0", true),
            window(12, b"xterm\0XTerm\0", true),
        ],
        None,
    );
    let acted = Acted::until(GIVEN_UP);
    acted.say("login\ndisplay\n");
    let mut recorder = Recorder::for_thread(&BOOT);
    let start = now();
    let system = acted.seen_with(&fake.name);
    let seen =
        until_ready(&system, &["xterm"], (start, LONG), &mut recorder, (LOGIN, WINDOW)).unwrap();
    let around = now() - start;
    let classes: Vec<&str> = seen.windows.keys().map(String::as_str).collect();
    assert_eq!(classes, ["xterm"]);
    let counts: Vec<_> =
        recorder.into_latencies().iter().map(|latencies| latencies.count()).collect();
    assert_eq!(counts, [1, 1], "one login and one window");
    // Times from the start on: no longer than the call that contains them.
    let window = seen.windows["xterm"];
    assert!(seen.login <= window && window <= around, "{seen:?} {around:?}");
}

#[test]
fn a_system_that_ends_is_no_longer_waited_for() {
    // Later than the first look at it, and long before the limit.
    let acted = Acted::until(Nanos::from_millis(50));
    let mut recorder = Recorder::for_thread(&BOOT);
    let times = (now(), LONG);
    let ended =
        until_ready(&acted.seen_with(""), &[], times, &mut recorder, (LOGIN, WINDOW)).unwrap_err();
    assert_eq!(ended.to_string(), "the system's first process ended");
}

#[test]
fn what_is_missing_at_the_limit_is_said() {
    let fake = FakeDisplay::open(&[window(10, b"dillo\0Dillo\0", false)], None);
    for (words, message) in [
        ("", "the login target was not reached"),
        ("login\n", "the display did not come up"),
        (
            "login\ndisplay\n",
            "there is no window of [\"no such program\"]; windows: dillo (not mapped); \
             of these programs there run []",
        ),
    ] {
        let acted = Acted::until(GIVEN_UP);
        acted.say(words);
        // The limit is over, but what is there already is taken first.
        let late =
            acted.seen_with(&fake.name).watch(&["no such program"], Nanos::ZERO, &mut |_, _| {});
        let late = late.unwrap_err();
        assert_eq!((late.kind(), late.to_string().as_str()), (ErrorKind::TimedOut, message));
    }
}

#[test]
fn a_program_that_runs_without_a_window_is_named() {
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    let own = own.trim_end();
    let text = without_windows(&[&own], &["a".to_owned(), "b".to_owned()]);
    // More than one process may have the name.
    let begins = format!(
        "there is no window of [{own:?}]; windows: a, b; of these programs there run [{own:?}"
    );
    assert!(text.starts_with(&begins), "{text}");
}

#[test]
fn words_are_read_line_by_line() {
    let acted = Acted::until(GIVEN_UP);
    acted.say("login\ndisplay\n");
    assert_eq!(words(&acted.events).unwrap(), ["login", "display"]);
}

#[test]
fn a_time_is_split_into_seconds_and_the_rest() {
    let split = timespec(Nanos(3_000_000_007));
    assert_eq!((split.tv_sec, split.tv_nsec), (3, 7));
}

#[test]
fn a_system_that_cannot_be_started_is_a_failed_boot() {
    let root = Path::new("/there is no tree");
    let booted = thread::scope(|scope| {
        // In a thread that is not root, which may not start one. The kernel has a user for each
        // thread.
        let user = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            let mut recorder = Recorder::for_thread(&BOOT);
            boot(root, &["jwm"], Nanos::ZERO, &mut recorder, LOGIN, WINDOW)
        });
        user.join().unwrap()
    });
    let error = booted.unwrap_err();
    assert_eq!((error.op, error.path.as_path()), ("boot", root));
}
