//! Ends all processes that a program has started: one that kept running would prevent the
//! filesystem from being unmounted, and would disturb the next trial.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::process::{Pid, Signal, WaitOptions};

/// Environment variable by which processes are found if they cannot have a namespace of their own.
pub(super) const MARK: &str = "FSTRIAL_PROGRAM";
/// Rounds of looking for marked processes: a process forked during one round is found in the next.
const ROUNDS: u32 = 100;

/// Processes that are started while it lives end with it. As root they are in a namespace of their
/// own, whose first process dies with this one, whatever ends it. Without root they are recognised
/// by a mark in their environment; a process that removes the mark is not found.
pub(super) struct Enclosure {
    inside: Option<Namespace>,
    mark: String,
}

/// A namespace of processes.
struct Namespace {
    /// Its first process. All others end with it.
    first: Pid,
    outside: File,
}

impl Enclosure {
    /// Makes one; from now on this thread starts its processes inside it.
    ///
    /// # Errors
    /// The kernel's, if it supports namespaces but could not make one.
    pub(super) fn new() -> io::Result<Enclosure> {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let outside = File::open("/proc/thread-self/ns/pid")?;
        // SAFETY: changes only in which namespace this thread's next processes are.
        match unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWPID) } {
            Ok(()) => {}
            Err(rustix::io::Errno::PERM | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => {
                return Ok(Enclosure { inside: None, mark });
            }
            Err(error) => return Err(error.into()),
        }
        // SAFETY: the child calls nothing but system calls, which need no lock that another
        // thread could have held, and never returns.
        let first = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            // SAFETY: see above.
            0 => unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                // Processes whose parent has ended are reaped by the kernel.
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                loop {
                    libc::pause();
                }
            },
            first => Pid::from_raw(first),
        };
        let first = first.ok_or_else(|| io::Error::other("no process id"))?;
        Ok(Enclosure { inside: Some(Namespace { first, outside }), mark })
    }

    /// The value of [`MARK`] for what is started inside.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// How many processes are inside, beside its own.
    pub(super) fn left(&self) -> usize {
        match &self.inside {
            Some(namespace) => {
                let inside = format!("/proc/{}/ns/pid", namespace.first.as_raw_nonzero());
                let Ok(inside) = std::fs::read_link(inside) else { return 0 };
                let of = |pid: i32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
                let all = processes().filter(|pid| of(*pid).as_ref() == Some(&inside)).count();
                all.saturating_sub(1)
            }
            None => self.marked().count(),
        }
    }

    fn marked(&self) -> impl Iterator<Item = i32> {
        let wanted = format!("{MARK}={}", self.mark);
        let own = std::process::id().cast_signed();
        processes().filter(move |pid| {
            let environment =
                std::fs::read(Path::new("/proc").join(pid.to_string()).join("environ"));
            *pid != own
                && environment.is_ok_and(|text| {
                    text.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
                })
        })
    }
}

/// Every process there is.
fn processes() -> impl Iterator<Item = i32> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        match self.inside.take() {
            Some(namespace) => {
                // The kernel ends all others first, and waits until they are gone.
                let _ = rustix::process::kill_process(namespace.first, Signal::KILL);
                let _ = rustix::process::waitpid(Some(namespace.first), WaitOptions::empty());
                // SAFETY: undoes what `new` did to this thread.
                unsafe { libc::setns(namespace.outside.as_raw_fd(), libc::CLONE_NEWPID) };
            }
            None => {
                for _ in 0..ROUNDS {
                    let found: Vec<_> = self.marked().filter_map(Pid::from_raw).collect();
                    if found.is_empty() {
                        return;
                    }
                    for pid in found {
                        let _ = rustix::process::kill_process(pid, Signal::KILL);
                    }
                }
            }
        }
    }
}
