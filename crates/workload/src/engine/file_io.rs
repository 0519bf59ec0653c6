//! Reading and writing file contents in pieces, each piece one system call.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::{Failure, OpError};

/// Opens a directory to resolve paths from. Close it before the cache is dropped or the
/// filesystem unmounted.
pub(crate) fn open_target(target: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, target, flags, Mode::empty())
        .map_err(|error| Failure::before(OpError::new("open", target, error)))
}

/// Writes all of `bytes`; one call unless the kernel takes less.
#[inline]
pub(crate) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(wrote) => bytes = &bytes[wrote..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `buffer` as far as the file goes; 0 at its end.
#[inline]
pub(crate) fn read(file: impl AsFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(&file, &mut *buffer) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Calls `each` with every name of a directory, and how many there were.
/// Buffer and flags are those of glibc's `opendir` and `readdir`.
pub(crate) fn list(
    directory: impl AsFd,
    path: &CStr,
    mut each: impl FnMut(&CStr),
) -> Result<u64, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, path, flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(32 << 10);
    let mut names = RawDir::new(opened, buffer.spare_capacity_mut());
    let mut count = 0;
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            count += 1;
            each(name);
        }
    }
    Ok(count)
}

/// Whether a file's contents are `expected`. Not for use within a clock.
pub(crate) fn holds(directory: impl AsFd, path: &CStr, expected: &[u8]) -> Result<bool, Errno> {
    use std::io::Read;
    let opened =
        rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut found = Vec::with_capacity(expected.len() + 1);
    File::from(opened)
        .read_to_end(&mut found)
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(found == expected)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::path::PathBuf;
    use std::thread;

    use rustix::fs::FileType;

    use super::*;

    /// A directory for a test, by the name that the kernel has for it.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        (home, path)
    }

    /// The flags of this process's descriptors of what is at `path`, by the kernel's account.
    fn flags_of(path: &Path) -> Vec<OFlags> {
        let process = Path::new("/proc/self");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(process.join("fd")).unwrap() {
            let number = entry.unwrap().file_name();
            // Other tests open and close files meanwhile.
            let Ok(link) = std::fs::read_link(process.join("fd").join(&number)) else { continue };
            if link == path {
                let text = std::fs::read_to_string(process.join("fdinfo").join(&number)).unwrap();
                let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
                let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
                found.push(OFlags::from_bits_retain(flags));
            }
        }
        found
    }

    /// More than a pipe has room for: when nearly all is written, the reader has it open.
    pub(crate) const PIPED: usize = (1 << 20) + 512;

    /// Makes a pipe at `path`, out of which `read` reads [`PIPED`] zeros and no more: what `read`
    /// returns, and the flags of its descriptors of the pipe.
    pub(crate) fn watch_reader<R>(path: &Path, read: impl FnOnce() -> R) -> (R, Vec<OFlags>) {
        let owner = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, path, FileType::Fifo, owner, 0).unwrap();
        let path = path.canonicalize().unwrap();
        let write = || -> std::io::Result<Vec<OFlags>> {
            let zeros = vec![0u8; PIPED];
            let mut writer = File::options().write(true).open(&path)?;
            writer.write_all(&zeros[1..])?;
            let mut flags = flags_of(&path);
            flags.retain(|flags| *flags & OFlags::ACCMODE == OFlags::RDONLY);
            // The reader waits for this byte and has not closed the pipe before.
            writer.write_all(&zeros[..1])?;
            Ok(flags)
        };
        thread::scope(|scope| {
            let writer = scope.spawn(write);
            let done = read();
            // Where `read` has not opened the pipe, the writer must not wait for ever.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            drop(rustix::fs::openat(CWD, path.as_path(), flags, Mode::empty()));
            (done, writer.join().unwrap().unwrap())
        })
    }

    #[test]
    fn a_target_is_a_directory_that_programs_do_not_inherit() {
        let (_home, place) = home();
        let _target = open_target(&place).unwrap();
        let flags = flags_of(&place);
        assert_eq!(flags.len(), 1);
        assert!(flags[0].contains(OFlags::DIRECTORY | OFlags::CLOEXEC), "{flags:?}");
        std::fs::write(place.join("file"), "").unwrap();
        let refused = open_target(&place.join("file"));
        assert!(matches!(&refused, Err(Failure::Op { error, .. }) if error.op == "open"));
    }

    #[test]
    fn a_directory_is_listed_with_the_flags_of_glibc() {
        let (_home, place) = home();
        std::fs::create_dir(place.join("listed")).unwrap();
        std::fs::write(place.join("listed/one"), "").unwrap();
        let target = open_target(&place).unwrap();
        let mut flags = Vec::new();
        let count = list(&target, c"listed", |name| {
            assert_eq!(name, c"one");
            flags = flags_of(&place.join("listed"));
        });
        assert_eq!(count, Ok(1));
        assert_eq!(flags.len(), 1);
        let wanted = OFlags::NONBLOCK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        assert!(flags[0].contains(wanted), "{flags:?}");
        assert_eq!(flags[0] & OFlags::ACCMODE, OFlags::RDONLY);
    }

    #[test]
    fn what_is_verified_is_not_inherited_by_programs() {
        let (_home, place) = home();
        let target = open_target(&place).unwrap();
        let sent = vec![0; PIPED];
        let (done, flags) = watch_reader(&place.join("pipe"), || holds(&target, c"pipe", &sent));
        assert_eq!(done, Ok(true));
        assert_eq!(flags.len(), 1);
        assert!(flags[0].contains(OFlags::CLOEXEC), "{flags:?}");
    }
}
