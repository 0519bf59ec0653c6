//! Which files a system opens, as reported by the kernel (fanotify): the source of a preload list.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Length of `struct fanotify_event_metadata` (linux/fanotify.h): its length in the first four
/// bytes, the descriptor of the file at byte 16.
const EVENT_BYTES: usize = 24;
const DESCRIPTOR_AT: usize = 16;

/// A listener for the files that are opened on one filesystem from now on.
pub(super) struct Opened {
    group: File,
    root: PathBuf,
}

impl Opened {
    /// Listens to the filesystem mounted at `root`, in every mount namespace.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn listen(root: &Path) -> io::Result<Opened> {
        let flags = libc::FAN_CLASS_NOTIF
            | libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_UNLIMITED_QUEUE;
        let access = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE;
        let path = CString::new(root.as_os_str().as_bytes())?;
        // SAFETY: the first call takes numbers only; the second a string that outlives it.
        let group = unsafe {
            let group = libc::fanotify_init(flags, access as libc::c_uint);
            if group < 0 {
                return Err(io::Error::last_os_error());
            }
            let group = OwnedFd::from_raw_fd(group);
            let mark = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
            let raw = std::os::fd::AsRawFd::as_raw_fd(&group);
            if libc::fanotify_mark(raw, mark, libc::FAN_OPEN, libc::AT_FDCWD, path.as_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            group
        };
        Ok(Opened { group: File::from(group), root: root.to_owned() })
    }

    /// The files opened since the last call, each once, in the order of their first opening. Paths
    /// are those inside the system.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn take(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut seen = std::collections::HashSet::new();
        let mut paths = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let got = match self.group.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(paths),
                got => got?,
            };
            let mut events = &buffer[..got];
            while events.len() >= EVENT_BYTES {
                let number = |at: usize| {
                    let bytes = events[at..at + 4].try_into().unwrap_or_default();
                    i32::from_ne_bytes(bytes)
                };
                let length = usize::try_from(number(0)).unwrap_or(0).max(EVENT_BYTES);
                let descriptor = number(DESCRIPTOR_AT);
                if descriptor >= 0 {
                    // SAFETY: the kernel opened it for this event and nobody else has it.
                    let file = unsafe { File::from_raw_fd(descriptor) };
                    if let Some(path) = self.path_of(&file, descriptor)
                        && seen.insert(path.clone())
                    {
                        paths.push(path);
                    }
                }
                events = events.get(length..).unwrap_or_default();
            }
        }
    }

    /// Where a file is in the system; `None` for what is no file with contents.
    fn path_of(&self, file: &File, descriptor: i32) -> Option<Vec<u8>> {
        let facts = file.metadata().ok()?;
        if !facts.is_file() || facts.len() == 0 {
            return None;
        }
        let path = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
        // On a mount of this process, the path begins with the mount point.
        let path = path.strip_prefix(&self.root).map_or(path.clone(), |p| Path::new("/").join(p));
        Some(path.as_os_str().as_bytes().to_owned())
    }
}

#[cfg(test)]
mod tests;
