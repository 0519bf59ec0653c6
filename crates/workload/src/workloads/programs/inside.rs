//! The root, directory and user of a program, where they differ from those of this process.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where a program that runs as another user finds its directory, since that user may have no
/// access to its real path.
pub(super) const PLACE: &str = "/mnt";

/// A process's own root, directory and user.
pub(super) struct Inside {
    root: Option<CString>,
    directory: CString,
    mounts: Vec<(CString, CString)>,
    user: Option<u32>,
}

impl Inside {
    /// Makes places for what will be mounted: `directory`, and the machine's own where it gets a
    /// tree as its root.
    ///
    /// # Errors
    /// When a place cannot be made.
    pub(super) fn new(
        root: Option<&Path>,
        directory: &Path,
        user: Option<u32>,
    ) -> io::Result<Inside> {
        let place = user.map_or(directory, |_| Path::new(PLACE));
        let mut mounts = Vec::new();
        match root {
            Some(root) => {
                let below = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
                // Nothing larger than the directory itself: the tree may have the program beside
                // it.
                let machine =
                    ["/proc", "/sys", "/dev"].map(|path| (Path::new(path), path.as_ref()));
                for (from, to) in machine.into_iter().chain([(directory, place)]) {
                    std::fs::create_dir_all(below(to))?;
                    mounts.push((text(from)?, text(&below(to))?));
                }
                for place in ["/tmp", "/run"].map(|place| below(Path::new(place))) {
                    std::fs::create_dir_all(&place)?;
                    let all = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
                    std::fs::set_permissions(&place, all)?;
                }
            }
            None => {
                std::fs::create_dir_all(place)?;
                mounts.push((text(directory)?, text(place)?));
            }
        }
        let root = root.map(text).transpose()?;
        Ok(Inside { root, directory: text(place)?, mounts, user })
    }

    /// Moves this process into it, which needs root. Makes only system calls.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn enter(&self) -> io::Result<()> {
        let checked = |result: libc::c_long| match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        let null = std::ptr::null();
        // SAFETY: every string was made before and lives on.
        unsafe {
            checked(libc::unshare(libc::CLONE_NEWNS).into())?;
            let private = libc::MS_REC | libc::MS_PRIVATE;
            checked(libc::mount(null, c"/".as_ptr(), null, private, null.cast()).into())?;
            for (from, to) in &self.mounts {
                let bind = libc::MS_BIND | libc::MS_REC;
                checked(libc::mount(from.as_ptr(), to.as_ptr(), null, bind, null.cast()).into())?;
            }
            if let Some(root) = &self.root {
                checked(libc::chroot(root.as_ptr()).into())?;
            }
            checked(libc::chdir(self.directory.as_ptr()).into())?;
            if let Some(user) = self.user {
                // Of this thread only, the single thread between fork and exec.
                checked(libc::syscall(libc::SYS_setgroups, 0, null))?;
                checked(libc::syscall(libc::SYS_setgid, user))?;
                checked(libc::syscall(libc::SYS_setuid, user))?;
            }
            Ok(())
        }
    }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tree_has_beside_the_directory_is_not_hidden() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("tmp/work/program");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "").unwrap();
        let inside = Inside::new(Some(root.path()), Path::new("/tmp/work/target"), None).unwrap();
        for (_, to) in &inside.mounts {
            let to = Path::new(std::ffi::OsStr::from_bytes(to.as_bytes()));
            assert!(!program.starts_with(to), "{} is mounted over", to.display());
        }
        assert!(root.path().join("tmp/work/target").is_dir());
    }
}
