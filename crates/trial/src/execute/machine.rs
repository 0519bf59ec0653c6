//! Small queries to the kernel this trial runs on.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use measure::{DeviceCounters, DeviceId};
use units::Bytes;

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
        let wait = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
        let _ = rustix::thread::nanosleep(&wait);
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
pub(super) fn wait_for_thread_end(name: &str, devices: &[DeviceId]) -> bool {
    let start = Instant::now();
    let mut served = counters(devices);
    let mut idle_since = Instant::now();
    wait_until(|| {
        let now = counters(devices);
        if now != served {
            served = now;
            idle_since = Instant::now();
        }
        let idle = !devices.is_empty() && idle_since.elapsed() >= IDLE_FOR;
        !thread_exists(name) || (start.elapsed() >= START_DELAY_MAX && idle)
    })
}

fn counters(devices: &[DeviceId]) -> Vec<Option<DeviceCounters>> {
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

/// Reads a file of the kernel to its end, `{device}` in its name being the kernel's name of the
/// device `data`; false where there is none.
pub(super) fn read_ahead_at_once(file: &str, data: Option<&Path>) -> bool {
    let Some(device) = data.and_then(|data| data.canonicalize().ok()) else { return false };
    let Some(name) = device.file_name() else { return false };
    std::fs::read(file.replace("{device}", &name.to_string_lossy())).is_ok()
}
