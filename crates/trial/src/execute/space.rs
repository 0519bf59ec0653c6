//! The room in use after the workloads, compared with the files they leave: the difference is what
//! the filesystem itself needs for them.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use units::Bytes;

use crate::{Left, SpaceUse};

/// More files and directories than this are not counted: reading their inodes from a slow
/// disk would take longer than many a workload.
const COUNTED_MAX: u64 = 100_000;

/// After so many names a machine that is there for this trial alone forgets them.
/// Where the trial has little memory, their inodes would take all of it, and XFS does not give
/// them back in time: of 96 MB, 69 MB were inodes and names when the kernel killed the trial.
const FORGOTTEN_AFTER: u64 = 4_096;

/// Bytes in use as statfs shows them, the filesystem's own structures included.
pub(super) fn used(path: &Path) -> io::Result<Bytes> {
    let statfs = rustix::fs::statfs(path)?;
    Ok(Bytes(statfs.f_blocks.saturating_sub(statfs.f_bfree) * statfs.f_bsize as u64))
}

/// What is in use at `path` now that the workloads have ended, everything written out.
/// `commit` makes the filesystem count what a sync alone leaves uncounted. On a machine that is
/// there for this trial `alone`, caches are emptied now and then.
pub fn after_workloads(
    path: &Path,
    new: Option<Bytes>,
    alone: bool,
    commit: impl FnOnce() -> Result<(), String>,
) -> SpaceUse {
    let measure = || -> io::Result<SpaceUse> {
        let directory = open(rustix::fs::CWD, path)?;
        rustix::fs::syncfs(&directory)?;
        commit().map_err(io::Error::other)?;
        let used = used(path)?;
        let Some(new) = new else { return Err(io::Error::other("statfs failed when it was new")) };
        Ok(SpaceUse::Known {
            new,
            used,
            left: left(directory, COUNTED_MAX, &mut || {
                if alone {
                    // Only a precaution: where it cannot be done, counting goes on.
                    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
                }
            })?,
        })
    };
    measure().unwrap_or_else(|error| SpaceUse::Missing { why: error.to_string() })
}

/// Counts the files below a directory; `None` if there are more than `most` files and directories.
/// Calls `forget` after each [`FORGOTTEN_AFTER`] of them.
fn left(top: OwnedFd, most: u64, forget: &mut dyn FnMut()) -> io::Result<Option<Left>> {
    let mut left = Left { bytes: Bytes::ZERO, files: 0, directories: 0 };
    let mut met = 0u64;
    // A file of several names is one file.
    let mut linked = HashSet::new();
    let mut open_directories = vec![Dir::new(top)?];
    while let Some(directory) = open_directories.last_mut() {
        let Some(entry) = directory.read() else {
            open_directories.pop();
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if left.files + left.directories >= most {
            return Ok(None);
        }
        met += 1;
        if met.is_multiple_of(FORGOTTEN_AFTER) {
            forget();
        }
        let stat = rustix::fs::statat(directory.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            left.directories += 1;
            let below = open(directory.fd()?, name)?;
            open_directories.push(Dir::new(below)?);
        } else if stat.st_nlink < 2 || linked.insert((stat.st_dev, stat.st_ino)) {
            left.files += 1;
            left.bytes += Bytes(u64::try_from(stat.st_size).unwrap_or(0));
        }
    }
    Ok(Some(left))
}

/// Reading a directory must not write an access time into it.
fn open<P: rustix::path::Arg>(at: impl std::os::fd::AsFd, path: P) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(rustix::fs::openat(at, path, flags | OFlags::NOATIME, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_once_and_by_their_length() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/one"), [0; 1000]).unwrap();
        std::fs::write(at("a/b/two"), [0; 24]).unwrap();
        for again in ["again", "a/again"] {
            std::fs::hard_link(at("a/one"), at(again)).unwrap();
        }
        let found = after_workloads(directory.path(), Some(Bytes(7)), false, || Ok(()));
        let SpaceUse::Known { new, left, used } = found else { panic!("{found:?}") };
        assert_eq!(new, Bytes(7));
        let df = std::process::Command::new("df")
            .args(["-B1", "--output=used"])
            .arg(directory.path())
            .output()
            .unwrap();
        let df = String::from_utf8(df.stdout).unwrap();
        let df: u64 = df.split_whitespace().last().unwrap().parse().unwrap();
        // Others write to the same filesystem meanwhile.
        assert!(used.0.abs_diff(df) <= df / 10 + (64 << 20), "{used}, and df says {}", Bytes(df));
        assert_eq!(left, Some(Left { bytes: Bytes(1024), files: 2, directories: 2 }));
    }

    #[test]
    fn too_many_to_count_are_not_counted() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["one", "two", "three"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let open = || open(rustix::fs::CWD, directory.path()).unwrap();
        let counted = |most| left(open(), most, &mut || {}).unwrap();
        assert_eq!(counted(3).map(|left| left.files), Some(3));
        assert_eq!(counted(2), None);
    }

    #[test]
    fn what_was_met_is_forgotten_now_and_then() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..2 * FORGOTTEN_AFTER {
            let name = directory.path().join(number.to_string());
            match number % 2 {
                0 => std::fs::write(name, "").unwrap(),
                _ => std::fs::hard_link(directory.path().join("0"), name).unwrap(),
            }
        }
        let mut times = 0;
        let top = open(rustix::fs::CWD, directory.path()).unwrap();
        left(top, u64::MAX, &mut || times += 1).unwrap();
        assert_eq!(times, 2);
    }

    /// Counting must neither follow a link out of the filesystem nor change what it counts.
    #[test]
    fn only_a_directory_itself_is_opened_and_its_access_time_stays() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let opened = open(rustix::fs::CWD, directory.path()).unwrap();
        assert!(rustix::fs::fcntl_getfl(&opened).unwrap().contains(OFlags::NOATIME));
        assert!(rustix::io::fcntl_getfd(&opened).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        std::fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("/", at("link")).unwrap();
        for other in ["file", "link"] {
            assert!(open(rustix::fs::CWD, at(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn what_could_not_be_found_out_is_missing_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let missing = |new, commit: Result<(), String>| match after_workloads(
            directory.path(),
            new,
            false,
            || commit,
        ) {
            SpaceUse::Missing { why } => why,
            known => panic!("{known:?}"),
        };
        assert!(missing(Some(Bytes(1)), Err("no such pool".to_owned())).contains("no such pool"));
        assert!(missing(None, Ok(())).contains("when it was new"));
    }
}
