//! A directory in memory, for what a program writes besides its work.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Dir, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

/// A directory in memory that no path leads to: programs that this process starts while it exists
/// inherit it as an open file. Its contents vanish with the last of them, however that ends.
pub(super) struct MemoryDirectory(OwnedFd);

impl MemoryDirectory {
    /// Makes one that belongs to the given user, or else to the user of this process.
    ///
    /// # Errors
    /// The kernel's. [`io::ErrorKind::PermissionDenied`] without root.
    pub(super) fn new(owner: Option<u32>) -> io::Result<MemoryDirectory> {
        let made = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(made.as_fd(), "mode", "0700")?;
        if let Some(owner) = owner {
            rustix::mount::fsconfig_set_string(made.as_fd(), "uid", owner.to_string())?;
        }
        rustix::mount::fsconfig_create(made.as_fd())?;
        // Not closed on exec: that is how a program gets it.
        let attributes = MountAttrFlags::MOUNT_ATTR_NOEXEC | MountAttrFlags::MOUNT_ATTR_NOSUID;
        let mount = rustix::mount::fsmount(made.as_fd(), FsMountFlags::empty(), attributes)?;
        Ok(MemoryDirectory(mount))
    }

    /// The path by which a program that was started with it finds it.
    pub(super) fn path_inside(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// The text of all files in it, one after the other.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn text(&self) -> io::Result<String> {
        let mut text = String::new();
        for entry in Dir::new(self.open(c".", OFlags::DIRECTORY)?)? {
            let entry = entry?;
            if entry.file_type().is_file() {
                let file = self.open(entry.file_name(), OFlags::NOFOLLOW)?;
                File::from(file).read_to_string(&mut text)?;
            }
        }
        Ok(text)
    }

    fn open(&self, name: &CStr, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_writes_into_it_and_nobody_finds_it() {
        let directory = match MemoryDirectory::new(Some(65534)) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("left out: needs root");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let mounts = || std::fs::read_to_string("/proc/self/mounts").unwrap().lines().count();
        let before = mounts();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("echo 12 34 > {}/log.7", directory.path_inside())]);
        std::os::unix::process::CommandExt::uid(&mut shell, 65534);
        assert!(shell.status().unwrap().success());
        assert_eq!(directory.text().unwrap(), "12 34\n");
        assert_eq!(mounts(), before);
    }
}
