//! Directories whose contents are trusted and executed: nobody else may have made or changed them.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmodat, fstat, openat};

use crate::{Directory, FileError, is_root, is_trusted};

/// Makes `path` and its missing parents with mode 0700, and checks that nobody else can have put
/// anything into it: the directory belongs to this user, and others may write neither to it nor to
/// a directory above it (except one with the sticky bit, such as `/tmp`). For root, every directory
/// above and every symlink on the way has to be root's. For an ordinary user, the group may have
/// write permission. Returns the path without symlinks.
///
/// # Errors
/// When it cannot be made, or another user could have put something into it; the message
/// names the directory and what to do.
pub fn private_directory(path: &Path) -> Result<PathBuf, FileError> {
    let held = Directory::hold_or_make(path)?;
    // The path of the held directory, not what `path` refers to by now.
    let link = format!("/proc/self/fd/{}", held.as_fd().as_raw_fd());
    let real = std::fs::read_link(link).map_err(FileError::of("find", path))?;
    check_all(&real, Some(&real))?;
    Ok(real)
}

/// Checks that no other user can replace a file of this user's in the directory `path`: others may
/// change neither it nor a directory above it.
///
/// # Errors
/// When others may change one. The message names the first such directory and what to do.
pub fn beyond_others(path: &Path) -> Result<(), FileError> {
    let real = std::fs::canonicalize(path).map_err(FileError::of("find", path))?;
    check_all(&real, None)
}

/// Checks `path` and all directories above it. `private` is the one that only this user may own.
fn check_all(path: &Path, private: Option<&Path>) -> Result<(), FileError> {
    path.ancestors().try_for_each(|directory| {
        check(directory, private == Some(directory)).map_err(FileError::of("trust", directory))
    })
}

fn check(directory: &Path, private: bool) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let status = fstat(openat(CWD, directory, flags, Mode::empty())?)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let advice = if is_root() {
        "name a directory of root's, for example XDG_CACHE_HOME=/root/.cache"
    } else {
        "name a directory of your own with XDG_CACHE_HOME"
    };
    let owner = status.st_uid;
    let is_ours = owner == rustix::process::geteuid().as_raw();
    // An ordinary user has to trust the owners of the directories above anyway.
    if (private && !is_ours) || (is_root() && !is_trusted(owner)) {
        let whose = format!("it belongs to user {owner}, who could put programs into it");
        return Err(io::Error::other(format!("{whose}; {advice}")));
    }
    let sticky = status.st_mode & 0o1000 != 0 && !private;
    // On most distributions, an ordinary user is the only member of the user's own group, and root
    // is the only member of root's group.
    let writers = if is_root() && status.st_gid != 0 { 0o022 } else { 0o002 };
    if status.st_mode & writers != 0 && !sticky {
        let mode = status.st_mode & 0o7777;
        let why = format!("others may write to it (mode {mode:o}); chmod go-w it, or {advice}");
        return Err(io::Error::other(why));
    }
    Ok(())
}

/// Clears the set-user-ID and set-group-ID bits of every file below `directory`, so that no
/// unpacked program runs with another user's rights.
///
/// # Errors
/// At the first file that cannot be looked at or changed.
pub fn without_set_id(directory: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).map_err(FileError::of("read", directory))?;
    for entry in entries {
        let path = entry.map_err(FileError::of("read", directory))?.path();
        let metadata = path.symlink_metadata().map_err(FileError::of("look at", &path))?;
        if metadata.is_dir() {
            without_set_id(&path)?;
        }
        let mode = metadata.mode();
        if !metadata.is_symlink() && mode & 0o6000 != 0 {
            let plain = Mode::from_raw_mode(mode & 0o1777);
            chmodat(CWD, &path, plain, AtFlags::empty()).map_err(FileError::of("change", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_missing_directory_is_made_for_this_user_alone() {
        let room = tempfile::tempdir().unwrap();
        let path = private_directory(&room.path().join("a/b")).unwrap();
        assert!(path.is_dir());
        assert_eq!(room.path().join("a").metadata().unwrap().mode() & 0o777, 0o700);
        private_directory(&path).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused_wherever_it_stands() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a/b");
        private_directory(&path).unwrap();
        for open in ["a", "a/b"] {
            set_mode(&room.path().join(open), 0o777);
            let error = private_directory(&path).unwrap_err().to_string();
            assert!(error.contains("others may write") && error.contains("XDG"), "{error}");
            set_mode(&room.path().join(open), 0o700);
        }
        set_mode(&room.path().join("a"), 0o1777);
        private_directory(&path).unwrap();
    }

    #[test]
    fn the_bits_that_lend_rights_are_taken() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir(room.path().join("bin")).unwrap();
        let program = room.path().join("bin/su");
        std::fs::write(&program, "").unwrap();
        set_mode(&program, 0o6755);
        without_set_id(room.path()).unwrap();
        assert_eq!(program.metadata().unwrap().mode() & 0o7777, 0o755);
    }
}
