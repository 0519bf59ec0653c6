//! Small queries to the kernel this trial runs on.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use measure::DeviceCounters;
use units::{Bytes, DeviceNumber};

/// `uname -r`.
pub(crate) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Size of a block device.
pub(super) fn device_size(device: &Path) -> io::Result<Bytes> {
    Ok(Bytes(File::open(device)?.seek(SeekFrom::End(0))?))
}

/// How long anything may take to settle.
const SETTLE_LIMIT: Duration = Duration::from_secs(300);

/// First and longest pause between two calls. Each call costs time: at 20 ms, calls made up half
/// of the time that a trial in the lab took to start.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(320));

/// Calls `done` at growing intervals until it returns true; false when the limit is reached first.
pub(super) fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    let mut pause = PAUSES.0;
    while start.elapsed() < SETTLE_LIMIT {
        if done() {
            return true;
        }
        waiting::pause(pause, "background work of the kernel ends");
        pause = (2 * pause).min(PAUSES.1);
    }
    false
}

/// How long a kernel thread may sleep before it begins: ext4lazyinit starts after a random
/// delay of up to 5 s (`EXT4_DEF_LI_MAX_START_DELAY`, fs/ext4/ext4.h).
const START_DELAY_MAX: Duration = Duration::from_secs(6);

/// How long a device must have served nothing to count as idle.
const IDLE_FOR: Duration = Duration::from_millis(500);

/// Waits until no kernel thread of this name is left, or until it can no longer be this
/// trial's: the thread serves every filesystem of the machine, and another one's work may
/// take hours. So it is enough that the longest delay before its start has passed and that
/// the trial's own devices have been idle since.
pub(super) fn wait_for_thread_end(name: &str, devices: &[DeviceNumber]) -> bool {
    let mut awaited = Awaited::new(counters(devices), Instant::now());
    wait_until(|| awaited.is_over(thread_exists(name), counters(devices), Instant::now()))
}

/// A kernel thread that is waited for, with what the devices had served when it was last looked at.
struct Awaited {
    start: Instant,
    served: Vec<Option<DeviceCounters>>,
    idle_since: Instant,
}

impl Awaited {
    fn new(served: Vec<Option<DeviceCounters>>, now: Instant) -> Awaited {
        Awaited { start: now, served, idle_since: now }
    }

    fn is_over(&mut self, exists: bool, served: Vec<Option<DeviceCounters>>, now: Instant) -> bool {
        if served != self.served {
            self.served = served;
            self.idle_since = now;
        }
        let idle = !self.served.is_empty() && now - self.idle_since >= IDLE_FOR;
        !exists || (now - self.start >= START_DELAY_MAX && idle)
    }
}

fn counters(devices: &[DeviceNumber]) -> Vec<Option<DeviceCounters>> {
    devices.iter().map(|device| DeviceCounters::read(*device)).collect()
}

fn thread_exists(name: &str) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("comm")).ok())
        .any(|comm| comm.trim_end() == name)
}

/// Whether read-ahead after a mount has ended: done `at_once` where that works, or else after a
/// `wait` for the thread that does it. On a simulated disk waiting costs nothing.
pub(super) fn read_ahead_ended(
    simulated: bool,
    at_once: impl FnOnce() -> bool,
    wait: impl FnOnce() -> bool,
) -> bool {
    (!simulated && at_once()) || wait()
}

/// Reads a file of the kernel to its end, `{device}` in its name being the kernel's name of the
/// device `data`; false where there is none.
pub(super) fn read_ahead_at_once(file: &str, data: Option<&Path>) -> bool {
    let Some(device) = data.and_then(|data| data.canonicalize().ok()) else { return false };
    let Some(name) = device.file_name() else { return false };
    std::fs::read(file.replace("{device}", &name.to_string_lossy())).is_ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that the kernel shows under a name no other test has, and that name. It runs what it
    /// has built in, and has said that it runs: only then does the kernel surely show the name.
    fn shell_under_another_name(directory: &Path, letter: char, script: &str) -> (Child, String) {
        let name = format!("{letter}{}-test", std::process::id());
        let program = directory.join(&name);
        symlink("/bin/sh", &program).unwrap();
        let mut command = Command::new(program);
        command.args(["-c", &format!("echo; {script}")]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        (child, name)
    }

    #[test]
    fn the_kernel_is_named_as_it_names_itself() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(kernel_release(), release.trim());
    }

    #[test]
    fn a_device_is_as_large_as_it_can_be_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(12_345).unwrap();
        assert_eq!(device_size(file.path()).unwrap(), Bytes(12_345));
    }

    #[test]
    fn what_is_waited_for_is_asked_until_it_is_done() {
        let asked = Cell::new(0);
        let done = || {
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        assert!(wait_until(done));
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn a_thread_is_there_as_long_as_it_is_not_gone() {
        let directory = tempfile::tempdir().unwrap();
        let (mut child, name) = shell_under_another_name(directory.path(), 'a', "read line");
        let found = thread_exists(&name);
        // The end of its input is its end.
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(found);
        assert!(!thread_exists(&name));
    }

    #[test]
    fn waiting_for_a_thread_ends_with_the_thread() {
        let directory = tempfile::tempdir().unwrap();
        let count = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let (mut child, name) = shell_under_another_name(directory.path(), 'b', count);
        std::thread::scope(|scope| {
            scope.spawn(move || child.wait().unwrap());
            assert!(wait_for_thread_end(&name, &[]));
            assert!(!thread_exists(&name), "it works on");
        });
    }

    #[test]
    fn a_thread_that_has_gone_is_over_whatever_the_devices_do() {
        let start = Instant::now();
        let mut awaited = Awaited::new(vec![None], start);
        assert!(awaited.is_over(false, vec![None], start));
        assert!(awaited.is_over(false, vec![None, None], start));
    }

    #[test]
    fn a_thread_that_stays_is_over_once_it_should_have_begun_and_the_devices_are_idle() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut awaited = Awaited::new(vec![None], start);
        assert!(!awaited.is_over(true, vec![None], at(0)));
        assert!(!awaited.is_over(true, vec![None], at(5_999)), "it may not have begun");
        assert!(awaited.is_over(true, vec![None], at(6_000)));

        // Another reading stands for a device that has served something meanwhile.
        let mut awaited = Awaited::new(vec![None], start);
        assert!(!awaited.is_over(true, vec![None, None], at(5_800)));
        assert!(!awaited.is_over(true, vec![None, None], at(6_000)), "idle for 200 ms");
        assert!(!awaited.is_over(true, vec![None, None], at(6_299)), "idle for 499 ms");
        assert!(awaited.is_over(true, vec![None, None], at(6_300)));
    }

    #[test]
    fn where_no_device_is_known_none_is_idle() {
        let start = Instant::now();
        let mut awaited = Awaited::new(vec![], start);
        assert!(!awaited.is_over(true, vec![], start + Duration::from_secs(3600)));
    }

    #[test]
    fn each_device_has_a_reading_or_none() {
        // No block device has this number.
        let nothing = DeviceNumber { major: 0, minor: 0 };
        assert_eq!(counters(&[nothing, nothing]), [None, None]);
    }

    #[test]
    fn only_where_reading_at_once_fails_the_thread_is_waited_for() {
        for (simulated, at_once, done) in [
            (false, true, "once "),
            (false, false, "once wait "),
            (true, true, "wait "),
            (true, false, "wait "),
        ] {
            for waited in [true, false] {
                let did = Cell::new(String::new());
                let note = |what: &str| did.set(did.take() + what);
                let ended = read_ahead_ended(
                    simulated,
                    || {
                        note("once ");
                        at_once
                    },
                    || {
                        note("wait ");
                        waited
                    },
                );
                assert_eq!(did.take(), done);
                assert_eq!(ended, done == "once " || waited, "{simulated} {at_once} {waited}");
            }
        }
    }

    #[test]
    fn the_kernels_file_is_that_of_the_device() {
        let directory = tempfile::tempdir().unwrap();
        let (device, link) = (directory.path().join("disk7"), directory.path().join("link"));
        for file in [&device, &directory.path().join("disk7-groups")] {
            std::fs::write(file, "").unwrap();
        }
        symlink(&device, &link).unwrap();
        let file = format!("{}/{{device}}-groups", directory.path().display());
        assert!(read_ahead_at_once(&file, Some(&device)));
        assert!(read_ahead_at_once(&file, Some(&link)), "the kernel knows no links");
        assert!(!read_ahead_at_once(&file, Some(&directory.path().join("disk8"))));
        assert!(!read_ahead_at_once(&format!("{file}-absent"), Some(&device)));
        assert!(!read_ahead_at_once(&file, None));
    }
}
