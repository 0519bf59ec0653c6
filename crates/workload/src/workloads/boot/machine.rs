//! A separate system inside this machine: the tree's init is started in its own namespaces for
//! processes, mounts and host name, so that the process that serves the disks goes on outside it.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};
use rustix::mount::MountFlags;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

/// Where the system finds fstrial's files: the pipe for its events and this program.
pub(super) const OURS: &str = "run/fstrial";
/// The pipe, below [`OURS`].
const EVENTS: &str = "events";
/// This program, below [`OURS`].
const PROGRAM: &str = "fstrial";
/// The first process of the tree.
const INIT: &str = "/sbin/init";

/// A system that runs.
pub(super) struct Machine {
    pid: Pid,
    ended: OwnedFd,
    events: File,
}

impl Machine {
    /// Starts the tree at `root`, which is a mount point.
    ///
    /// # Errors
    /// When it could not be started; a failure inside it shows when its first process ends.
    pub(super) fn start(root: &Path) -> io::Result<Machine> {
        // Seen by both sides: made here, moved into the tree's /run by the child.
        let outside = Path::new("/run/fstrial-system");
        std::fs::create_dir_all(outside)?;
        let pipe = outside.join(EVENTS);
        let _ = std::fs::remove_file(&pipe);
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o622), 0)?;
        rustix::fs::chmod(&pipe, Mode::from_raw_mode(0o622))?;
        // Opened for reading and writing, so that the pipe never reaches its end when a writer
        // closes it.
        let events =
            File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&pipe)?;
        let own = std::env::current_exe()?;
        let flags = libc::CLONE_NEWPID
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWIPC
            | libc::SIGCHLD;
        // SAFETY: without a stack of its own and without shared memory this is fork. The
        // guest's trial runs in one thread. The only other one of its process serves the disks:
        // on one processor and before all others, so that while this one runs it waits in the
        // kernel and holds no lock. The child's memory is whole; it calls exec or `_exit` and
        // never returns into the parent's code.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0, 0, 0, 0) };
        match pid {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let error = become_system(root, outside, &own).unwrap_or_else(|error| error);
                eprintln!("fstrial: starting the system: {error}");
                // SAFETY: ends this process.
                unsafe { libc::_exit(1) }
            }
            pid => {
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let pid = pid.ok_or_else(|| io::Error::other("no process id"))?;
                let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
                Ok(Machine { pid, ended, events })
            }
        }
    }

    /// Readable once its first process has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// The system's messages: lines of one word each. Reading never waits.
    pub(super) fn events(&self) -> &File {
        &self.events
    }

    /// Ends every process of it, as a power switch does, and waits until none is left.
    pub(super) fn end(self) {
        // An error means that the process has ended already, which is what is wanted.
        let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Makes the tree the root of this process and executes its init. Returns only with an error.
fn become_system(root: &Path, outside: &Path, own: &Path) -> io::Result<io::Error> {
    rustix::process::setsid()?;
    // Ends with the process that started it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let none = None::<&std::ffi::CStr>;
    rustix::mount::mount_change(
        "/",
        rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC,
    )?;
    // The trial mounts without set-user-id programs and devices; a system has them.
    rustix::mount::mount_remount(root, MountFlags::BIND, c"")?;
    std::env::set_current_dir(root)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", "run", "tmpfs", flags, Some(c"mode=755"))?;
    rustix::mount::mount("proc", "proc", "proc", flags | MountFlags::NOEXEC, none)?;
    std::fs::create_dir(OURS)?;
    for name in [EVENTS, PROGRAM] {
        let place = Path::new(OURS).join(name);
        File::create(&place)?;
        let from = if name == EVENTS { outside.join(name) } else { own.to_owned() };
        rustix::mount::mount_bind(&from, &place)?;
    }
    rustix::mount::mount_move(".", "/")?;
    rustix::process::chroot(".")?;
    std::env::set_current_dir("/")?;
    let init = CString::new(INIT)?;
    let arguments = [init.as_ptr(), std::ptr::null()];
    let variables = [c"PATH=/usr/sbin:/usr/bin:/sbin:/bin", c"TERM=linux", c"HOME=/"];
    let variables =
        [variables[0].as_ptr(), variables[1].as_ptr(), variables[2].as_ptr(), std::ptr::null()];
    // SAFETY: both arrays end with a null pointer and their strings outlive the call.
    unsafe {
        libc::execve(init.as_ptr(), arguments.as_ptr(), variables.as_ptr());
    }
    Ok(io::Error::last_os_error())
}
