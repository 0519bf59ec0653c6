//! What a command took of the machine.

use std::process::{Command, Stdio};
use std::time::Instant;

/// What one command took, its children with it.
pub(crate) struct Spent {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time.
    pub(crate) cpu: f64,
    /// The most memory that was resident in one of its processes, in bytes.
    pub(crate) peak: f64,
}

impl Spent {
    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started, or does not end with 0.
    #[expect(clippy::zombie_processes, reason = "the function `wait` does wait for it")]
    pub(crate) fn of(mut command: Command) -> Spent {
        let began = Instant::now();
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("fstrial starts");
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
        }
        let (status, usage) = wait(child.id());
        let wall = began.elapsed().as_secs_f64();
        assert_eq!(status, 0, "{command:?}: {said}");
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Spent {
            wall,
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peak: usage.ru_maxrss as f64 * 1024.0,
        }
    }
}

/// Waits for a child and takes its accounts, which the standard library does not give.
fn wait(pid: u32) -> (i32, libc::rusage) {
    let mut status = 0;
    // SAFETY: `rusage` is numbers alone; all zeros is one.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // SAFETY: both places live through the call; the child is ours and nobody else waits for it.
    let found = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) };
    assert_eq!(found, pid as libc::pid_t, "{}", std::io::Error::last_os_error());
    (status, usage)
}
