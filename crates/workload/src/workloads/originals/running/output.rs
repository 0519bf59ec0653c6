//! The program's output while it runs: waiting for it without delay, and reading it.

use std::io::Read;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Lets this thread run as soon as there is output to read. Otherwise a program that does not wait
/// after its message keeps the processor for the rest of its time slice, and the phase seems to
/// begin up to 4 ms later than it did: half of a phase of 8 ms. Needs root.
pub(super) struct Attentive;

impl Attentive {
    pub(super) fn new() -> Attentive {
        // Not inherited by processes that this thread starts.
        schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1);
        Attentive
    }
}

impl Drop for Attentive {
    fn drop(&mut self) {
        schedule(libc::SCHED_OTHER, 0);
    }
}

/// Sets how this thread is scheduled, where it may.
fn schedule(policy: libc::c_int, priority: libc::c_int) {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the parameters, which live until the call returns; 0 is the
    // calling thread. Without the right to do so, nothing changes.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
}

/// Waits until one of the streams has something or is at its end.
pub(super) fn wait<A: AsFd, B: AsFd>(
    first: &Option<A>,
    second: &Option<B>,
) -> std::io::Result<[bool; 2]> {
    let mut files: Vec<PollFd<'_>> = Vec::new();
    files.extend(first.as_ref().map(|file| PollFd::new(file, PollFlags::IN)));
    files.extend(second.as_ref().map(|file| PollFd::new(file, PollFlags::IN)));
    while let Err(error) = poll(&mut files, None) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    let mut ready = files.iter().map(|file| !file.revents().is_empty());
    let mut next = |there: bool| there && ready.next().unwrap_or(false);
    Ok([next(first.is_some()), next(second.is_some())])
}

/// Reads what a stream has available; true at its end.
pub(super) fn hear<R: Read>(stream: &mut Option<R>, text: &mut String) -> bool {
    let Some(stream) = stream else { return true };
    let mut buffer = [0u8; 65536];
    match stream.read(&mut buffer) {
        Ok(0) | Err(_) => true,
        Ok(got) => {
            text.push_str(&String::from_utf8_lossy(&buffer[..got]));
            false
        }
    }
}
