//! Removes the contents of a directory and nothing else: through descriptors, never through a
//! symlink, never across a mount.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, unlinkat};
use rustix::io::Errno;

/// The deepest nesting that is accepted; anything deeper is taken for an error.
const DEPTH_MAX: usize = 128;

/// A removal in progress in this process, to be shown to a user who waits for its end.
#[derive(Debug, Clone)]
pub struct Removing {
    /// The directory that is emptied.
    pub path: PathBuf,
    /// When that began.
    pub since: Instant,
    /// Files and directories that are gone.
    pub gone: u64,
}

static REMOVING: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);
static GONE: AtomicU64 = AtomicU64::new(0);
static LEAVE: AtomicBool = AtomicBool::new(false);

/// The removal that [`empty`] is doing now; the first one if there are several.
pub fn removing() -> Option<Removing> {
    let now = REMOVING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    now.map(|(path, since)| Removing { path, since, gone: GONE.load(Ordering::Relaxed) })
}

/// Stops all present and later removals of this process. The rest stays, recorded in the ledger.
/// For a user who does not want to wait any longer.
pub fn leave_the_rest() {
    LEAVE.store(true, Ordering::Relaxed);
}

/// Makes [`removing`] report a directory until it is dropped.
struct Told(bool);

impl Told {
    fn of(directory: BorrowedFd<'_>) -> Told {
        let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let path = std::fs::read_link(link).unwrap_or_default();
        let mut now = REMOVING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let first = now.is_none();
        if first {
            GONE.store(0, Ordering::Relaxed);
            *now = Some((path, Instant::now()));
        }
        Told(first)
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if self.0 {
            *REMOVING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        }
    }
}

/// Opens `name` in `parent`: a directory on the same mount, not a symlink.
///
/// # Errors
/// When there is none, or another filesystem is mounted there.
pub fn open_directory(parent: impl AsFd, name: &std::ffi::CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    openat2(parent, name, flags, Mode::empty(), resolve).map_err(|error| match error {
        Errno::XDEV => {
            io::Error::other(format!("something is mounted on {}", name.to_string_lossy()))
        }
        other => other.into(),
    })
}

/// Removes everything in the directory. The entry `last` is removed after all others, so that after
/// an interrupted removal the directory can still be recognised as fstrial's.
///
/// # Errors
/// At the first entry that cannot or must not be removed: a mount, another filesystem. After
/// [`leave_the_rest`], at the next entry.
pub fn empty(directory: impl AsFd, last: &std::ffi::CStr) -> io::Result<()> {
    let _told = Told::of(directory.as_fd());
    let device = fstat(directory.as_fd())?.st_dev;
    empty_except(directory.as_fd(), device, Some(last), 0)?;
    match unlinkat(directory, last, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn empty_except(
    directory: BorrowedFd<'_>,
    device: u64,
    keep: Option<&std::ffi::CStr>,
    depth: usize,
) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("directories are nested too deeply"));
    }
    if fstat(directory)?.st_dev != device {
        return Err(io::Error::other("another filesystem begins here"));
    }
    // All names are read before anything is removed: otherwise some could be skipped.
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." || Some(name) == keep {
            continue;
        }
        match entry.file_type() {
            FileType::Directory | FileType::Unknown => {
                others.push((name.to_owned(), entry.file_type()))
            }
            _ => files.push((entry.ino(), name.to_owned())),
        }
    }
    // Sorted by inode: neighbours are close together on the disk, while a directory lists its names
    // in no useful order.
    files.sort_unstable();
    unlink_all(directory, &files)?;
    for (name, kind) in others {
        may_go_on()?;
        match open_directory(directory, &name) {
            Ok(child) => {
                empty_except(child.as_fd(), device, None, depth + 1)?;
                drop(child);
                unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
                GONE.fetch_add(1, Ordering::Relaxed);
            }
            // A file of unknown kind, or a symlink.
            Err(error)
                if kind == FileType::Unknown
                    && matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) =>
            {
                unlink_all(directory, &[(0, name)])?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Threads that remove the files of one directory. With the mount option `discard`, a removal waits
/// until the disk has discarded the freed blocks; four threads take less than half as long as one.
const THREADS: usize = 4;
/// The fewest files that are worth a thread.
const PART_MIN: usize = 256;

/// Removes files, given by inode and name. Each thread removes its part in the given order.
fn unlink_all(directory: BorrowedFd<'_>, files: &[(u64, CString)]) -> io::Result<()> {
    let part = files.len().div_ceil(THREADS).max(PART_MIN);
    let unlink = move |files: &[(u64, CString)]| {
        files.iter().try_for_each(|(_, name)| {
            may_go_on()?;
            unlinkat(directory, name, AtFlags::empty())?;
            GONE.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    };
    if files.len() <= PART_MIN {
        return unlink(files);
    }
    std::thread::scope(|scope| {
        let started = files.chunks(part).map(|part| {
            let thread = std::thread::Builder::new();
            // If no thread can be started, this thread does its part.
            thread.spawn_scoped(scope, move || unlink(part)).map_err(|_| unlink(part))
        });
        let ended = started.collect::<Vec<_>>().into_iter().map(|part| match part {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread died"))),
            Err(ended) => ended,
        });
        ended.collect()
    })
}

fn may_go_on() -> io::Result<()> {
    match LEAVE.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it was left for later")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn removes_all_but_follows_no_symlink() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("precious"), "kept").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let deep = inside.path().join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("file"), "").unwrap();
        std::fs::write(inside.path().join("marker"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), deep.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("top")).unwrap();
        empty(File::open(inside.path()).unwrap(), c"marker").unwrap();
        assert_eq!(std::fs::read_dir(inside.path()).unwrap().count(), 0);
        assert_eq!(std::fs::read(outside.path().join("precious")).unwrap(), b"kept");
    }

    #[test]
    fn a_directory_of_many_files_is_emptied() {
        let inside = tempfile::tempdir().unwrap();
        let deep = inside.path().join("deep");
        std::fs::create_dir(&deep).unwrap();
        for number in 0..3 * PART_MIN {
            std::fs::write(deep.join(number.to_string()), "").unwrap();
            std::fs::write(inside.path().join(number.to_string()), "").unwrap();
        }
        std::fs::write(inside.path().join("marker"), "").unwrap();
        empty(File::open(inside.path()).unwrap(), c"marker").unwrap();
        assert_eq!(std::fs::read_dir(inside.path()).unwrap().count(), 0);
    }
}
