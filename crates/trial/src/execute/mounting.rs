//! Mounting and unmounting by system call.

use std::cell::Cell;
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use stack::filesystems::{MOUNT_POINT, Mount, Service};
use units::Nanos;

use super::program::Programs;

/// A filesystem mounted by this trial. Unmounted lazily if it is dropped on an error path;
/// [`Mounted::unmount`] is the way that reports.
pub(crate) struct Mounted {
    path: PathBuf,
    mounted: Cell<bool>,
    /// The service that mounts and unmounts it, where the kernel does not.
    served: Option<(Service, Programs)>,
    /// How long mounting took the last time.
    took: Cell<Nanos>,
}

/// What went wrong, with the arguments.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MountError {
    #[error("mount -t {kernel_type} -o {options} {source_name} {path}: {error}{hint}")]
    Mount {
        kernel_type: String,
        options: String,
        source_name: String,
        path: String,
        error: io::Error,
        hint: &'static str,
    },
    #[error("umount {path}: {error}")]
    Unmount { path: String, error: io::Error },
    #[error("{0}")]
    Served(String),
    #[error("while it was unmounted: {0}")]
    Between(String),
}

impl Mounted {
    /// Mounts `what` on `path`, without device nodes and set-user-id programs.
    pub(crate) fn mount(what: &Mount, path: &Path) -> Result<Mounted, MountError> {
        let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
        let mut data = Vec::new();
        for option in &what.options {
            match generic(option) {
                Some(flag) => flags |= flag,
                None => data.push(option.as_str()),
            }
        }
        let fail = |error: io::Error| MountError::Mount {
            kernel_type: what.kernel_type.clone(),
            options: what.options.join(","),
            source_name: what.source.clone(),
            path: path.display().to_string(),
            hint: match error.raw_os_error() {
                Some(libc::ENODEV) => " (this kernel has no such filesystem)",
                Some(libc::EINVAL) => " (an option this kernel does not take, or a bad superblock)",
                _ => "",
            },
            error,
        };
        let data = CString::new(data.join(",")).map_err(|error| fail(error.into()))?;
        let began = measure::now();
        rustix::mount::mount(
            what.source.as_str(),
            path,
            what.kernel_type.as_str(),
            flags,
            Some(data.as_c_str()),
        )
        .map_err(|error| fail(error.into()))?;
        let took = Cell::new(measure::now() - began);
        Ok(Mounted { path: path.to_owned(), mounted: Cell::new(true), served: None, took })
    }

    /// Lets the service mount its filesystem on `path`.
    pub(super) fn by_service(
        service: &Service,
        programs: &Programs,
        path: &Path,
    ) -> Result<Mounted, MountError> {
        let took = Cell::new(mount_served(service, programs, path)?);
        let served = Some((service.clone(), programs.clone()));
        Ok(Mounted { path: path.to_owned(), mounted: Cell::new(true), served, took })
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long mounting took the last time.
    pub(crate) fn took(&self) -> Nanos {
        self.took.get()
    }

    /// Unmounts, if it is mounted; the kernel writes everything back first.
    pub(crate) fn unmount(self) -> Result<(), MountError> {
        match self.mounted.replace(false) {
            true => self.take_off(),
            false => Ok(()),
        }
    }

    /// Unmounts, to be mounted again.
    pub(super) fn off(&self) -> Result<(), MountError> {
        self.take_off()?;
        self.mounted.set(false);
        Ok(())
    }

    /// Mounts again what was unmounted, in the same place.
    pub(super) fn on(&self, what: &Mount) -> Result<(), MountError> {
        let took = match &self.served {
            Some((service, programs)) => mount_served(service, programs, &self.path)?,
            None => {
                let again = Mounted::mount(what, &self.path)?;
                again.mounted.set(false);
                again.took.get()
            }
        };
        self.took.set(took);
        self.mounted.set(true);
        Ok(())
    }

    /// Unmounts and mounts again in the same place: its caches are empty then.
    /// `between` does what is to be done while it is unmounted.
    pub(crate) fn remount(
        &self,
        what: &Mount,
        between: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), MountError> {
        self.off()?;
        between().map_err(MountError::Between)?;
        self.on(what)
    }

    fn take_off(&self) -> Result<(), MountError> {
        match &self.served {
            None => unmount(&self.path),
            Some((service, programs)) => match programs.run(&service.unmount) {
                Ok(_) => Ok(()),
                Err(error) => Err(MountError::Served(error.to_string())),
            },
        }
    }
}

#[cfg(test)]
impl Mounted {
    /// One that was mounted in this time, and is not any more.
    pub(super) fn formerly(path: &Path, took: Nanos) -> Mounted {
        let took = Cell::new(took);
        Mounted { path: path.to_owned(), mounted: Cell::new(false), served: None, took }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.mounted.get() {
            // Nothing can be reported here; the namespace's end unmounts what this cannot.
            let _ = rustix::mount::unmount(&self.path, UnmountFlags::DETACH);
        }
    }
}

/// How long it took.
fn mount_served(service: &Service, programs: &Programs, path: &Path) -> Result<Nanos, MountError> {
    let place = path.display().to_string();
    let mut mount = service.mount.clone();
    for arg in &mut mount.args {
        *arg = arg.replace(MOUNT_POINT, &place);
    }
    let began = measure::now();
    programs.run(&mount).map_err(|error| MountError::Served(error.to_string()))?;
    Ok(measure::now() - began)
}

/// How long a mount may be busy: the kernel closes the files of an ended program a moment after its
/// end, those of io_uring in a thread of its own.
pub(super) const BUSY_MAX: Duration = Duration::from_secs(5);

fn unmount(path: &Path) -> Result<(), MountError> {
    let ended = while_busy(BUSY_MAX, || rustix::mount::unmount(path, UnmountFlags::empty()));
    ended.map_err(|error| MountError::Unmount {
        path: path.display().to_string(),
        error: error.into(),
    })
}

/// Tries again while the kernel says that it is busy, for so long.
fn while_busy(most: Duration, attempt: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    again_while(most, |error| *error == Errno::BUSY, attempt)
}

/// Tries again for so long while it fails in such a way.
pub(super) fn again_while<T, E>(
    most: Duration,
    such: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error) if such(&error) && begun.elapsed() < most => {
                waiting::pause(Duration::from_millis(10), "the kernel lets go of it");
            }
            ended => return ended,
        }
    }
}

/// Options that are flags of mount(2) and not the filesystem's own.
fn generic(option: &str) -> Option<MountFlags> {
    Some(match option {
        "noatime" => MountFlags::NOATIME,
        "relatime" => MountFlags::RELATIME,
        "strictatime" => MountFlags::STRICTATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "sync" => MountFlags::SYNCHRONOUS,
        "dirsync" => MountFlags::DIRSYNC,
        "lazytime" => MountFlags::LAZYTIME,
        "ro" => MountFlags::RDONLY,
        "noexec" => MountFlags::NOEXEC,
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "rw" | "defaults" => MountFlags::empty(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_busy_for_a_moment_is_waited_for_and_no_other() {
        let tried = |most, answers: &[Result<(), Errno>]| {
            let mut left = answers.iter();
            let ended = while_busy(most, || *left.next().unwrap());
            (ended, answers.len() - left.len())
        };
        let busy = Err(Errno::BUSY);
        assert_eq!(tried(BUSY_MAX, &[busy, busy, Ok(())]), (Ok(()), 3));
        assert_eq!(tried(BUSY_MAX, &[busy, Err(Errno::INVAL)]), (Err(Errno::INVAL), 2));
        assert_eq!(tried(Duration::ZERO, &[busy, Ok(())]), (busy, 1), "not for good");
    }

    #[test]
    fn options_of_every_filesystem_are_flags_and_others_are_its_own() {
        let flags = [
            ("noatime", MountFlags::NOATIME),
            ("relatime", MountFlags::RELATIME),
            ("strictatime", MountFlags::STRICTATIME),
            ("nodiratime", MountFlags::NODIRATIME),
            ("sync", MountFlags::SYNCHRONOUS),
            ("dirsync", MountFlags::DIRSYNC),
            ("lazytime", MountFlags::LAZYTIME),
            ("ro", MountFlags::RDONLY),
            ("noexec", MountFlags::NOEXEC),
            ("nosuid", MountFlags::NOSUID),
            ("nodev", MountFlags::NODEV),
            ("rw", MountFlags::empty()),
            ("defaults", MountFlags::empty()),
        ];
        for (option, flag) in flags {
            assert_eq!(generic(option), Some(flag), "{option}");
        }
        for own in ["data=ordered", "nobarrier", "noatime=1", ""] {
            assert_eq!(generic(own), None, "{own}");
        }
    }
}
