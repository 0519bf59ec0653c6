//! Resolves a path once, name by name, from descriptor to descriptor.
//!
//! Another user can plant names in a directory that he may change: symlinks of his own, but also
//! hard links of root's symlinks, or root's directories that lie there already. So as root, only
//! plain names are followed from such a directory on.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, openat, readlinkat};
use rustix::io::Errno;

use crate::reach::{InReach, Reach, is_sticky, place_of, reach};
use crate::{is_root, is_trusted};

/// As many symlinks as the kernel follows on one path.
const SYMLINKS_MAX: usize = 40;
/// Flags to hold a file for lookups, without opening it.
const HOLD: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// `f_type` of procfs, whose links lead to open files and not to names.
const PROC_MAGIC: i64 = 0x9fa0;

/// What a path leads to.
pub(crate) enum Reached {
    Directory(OwnedFd),
    File(Box<Entry>),
    /// Nothing yet, in this directory.
    Missing {
        directory: OwnedFd,
        name: OsString,
    },
}

/// A file that is no directory, held.
pub(crate) struct Entry {
    /// The directory it was found in.
    pub(crate) directory: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) held: OwnedFd,
    pub(crate) status: Stat,
    /// Reached through a link of procfs, so that it need not have a name.
    pub(crate) is_open_file: bool,
    /// Who could have put another file there, if anyone.
    pub(crate) planted: Option<InReach>,
}

/// What to do about directories that are missing.
#[derive(Clone, Copy)]
pub(crate) enum Missing {
    Refuse,
    /// Make them with this mode, in any directory.
    Make(Mode),
    /// Make them with mode 0700, unless another user can change the one they would be made in.
    MakePrivate,
}

/// A path on its way.
pub(crate) struct Walk {
    at: OwnedFd,
    symlinks: usize,
    /// For root, the first directory on the way from which another user could have led it elsewhere.
    led: Option<InReach>,
}

impl Walk {
    /// Resolves `path` from the root or the working directory.
    pub(crate) fn to(path: &Path, missing: Missing) -> io::Result<Reached> {
        Walk::from(start_of(path)?, path, missing)
    }

    /// Resolves `path` from an open directory.
    pub(crate) fn from(start: OwnedFd, path: &Path, missing: Missing) -> io::Result<Reached> {
        let walk = Walk { at: start, symlinks: SYMLINKS_MAX, led: None };
        walk.through(names(path), missing)
    }

    fn through(mut self, mut left: VecDeque<OsString>, missing: Missing) -> io::Result<Reached> {
        while let Some(name) = left.pop_front() {
            if name == ".." {
                self.may_follow("..")?;
                self.at = openat(&self.at, c"..", HOLD | OFlags::DIRECTORY, Mode::empty())?;
                continue;
            }
            let entry = match openat(&self.at, &name, HOLD | OFlags::NOFOLLOW, Mode::empty()) {
                Err(Errno::NOENT) => match missing {
                    Missing::Refuse if left.is_empty() => {
                        return Ok(Reached::Missing { directory: self.at, name });
                    }
                    Missing::Refuse => return Err(Errno::NOENT.into()),
                    Missing::Make(_) | Missing::MakePrivate => {
                        self.make(&name, missing)?;
                        left.push_front(name);
                        continue;
                    }
                },
                found => found?,
            };
            let status = fstat(&entry)?;
            self.note(&status)?;
            match FileType::from_raw_mode(status.st_mode) {
                FileType::Directory => self.at = entry,
                FileType::Symlink if fstatfs(&self.at)?.f_type == PROC_MAGIC => {
                    // Only the kernel can follow it. Its owner is the process it belongs to.
                    self.may_follow_link_of(status.st_uid, &name)?;
                    let held = openat(&self.at, &name, HOLD, Mode::empty())?;
                    let status = fstat(&held)?;
                    if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                        self.at = held;
                    } else if left.is_empty() {
                        return Ok(Reached::File(self.entry(name, held, status, true)));
                    } else {
                        return Err(Errno::NOTDIR.into());
                    }
                }
                FileType::Symlink => {
                    let target = self.follow(&entry, &name, status.st_uid)?;
                    for name in names(&target).into_iter().rev() {
                        left.push_front(name);
                    }
                }
                _ if left.is_empty() => {
                    return Ok(Reached::File(self.entry(name, entry, status, false)));
                }
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        Ok(Reached::Directory(self.at))
    }

    fn entry(self, name: OsString, held: OwnedFd, status: Stat, is_open_file: bool) -> Box<Entry> {
        let planted = self.led;
        Box::new(Entry { directory: self.at, name, held, status, is_open_file, planted })
    }

    /// Notes who could have put there what the last name led to.
    fn note(&mut self, found: &Stat) -> io::Result<()> {
        if self.led.is_some() || !is_root() {
            return Ok(());
        }
        if let Err(by) = reach(&self.at) {
            // In a sticky directory nobody can move root's directories; links can be made anywhere.
            let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            let fixed = is_directory && is_trusted(found.st_uid) && keeps_names(&self.at, &by)?;
            if !fixed {
                self.led = Some(InReach { path: path_of(&self.at), by });
            }
        }
        Ok(())
    }

    /// The target of a held symlink, which is read from the symlink itself.
    fn follow(&mut self, symlink: &OwnedFd, name: &OsStr, owner: u32) -> io::Result<PathBuf> {
        self.may_follow_link_of(owner, name)?;
        self.symlinks = self.symlinks.checked_sub(1).ok_or(Errno::LOOP)?;
        let target = readlinkat(symlink, c"", Vec::new())?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.at = start_of(&target)?;
        }
        Ok(target)
    }

    fn may_follow_link_of(&self, owner: u32, name: &OsStr) -> io::Result<()> {
        let name = name.to_string_lossy();
        if is_root() && !is_trusted(owner) {
            return Err(refused(format!(
                "`{name}` is a symlink of user {owner}, who could lead it elsewhere; name its \
                 target instead"
            )));
        }
        self.may_follow(&name)
    }

    /// Whether a name that leads out of the directory may be followed.
    fn may_follow(&self, name: &str) -> io::Result<()> {
        match &self.led {
            None => Ok(()),
            Some(led) => Err(refused(format!(
                "`{name}` could have been put in its place: {led}; name its target instead"
            ))),
        }
    }

    fn make(&self, name: &OsStr, missing: Missing) -> io::Result<()> {
        let mode = match missing {
            Missing::Make(mode) => mode,
            Missing::MakePrivate | Missing::Refuse => {
                check_above(&self.at, false).map_err(io::Error::other)?;
                Mode::RWXU
            }
        };
        match mkdirat(&self.at, name, mode) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// An error that only root meets, where other users may lead a path elsewhere.
fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Whether names in this directory, which others may write to, stay with their owners.
fn keeps_names(directory: &OwnedFd, by: &Reach) -> io::Result<bool> {
    let by_writing = matches!(by, Reach::Mode(_) | Reach::ListedUser(_) | Reach::ListedGroup(_));
    Ok(by_writing && is_sticky(&fstat(directory)?))
}

/// Checks that no other user can change a directory (`names_too`: make names in it) or one above
/// it. If that holds, its path stays as it is. Each is held while the one above it is looked at:
/// where that cannot be changed, the lower one can be moved no more.
pub(crate) fn check_above(directory: &OwnedFd, names_too: bool) -> Result<(), InReach> {
    let in_reach = |at: &OwnedFd, by| InReach { path: path_of(at), by };
    let unknown = |error: io::Error| Reach::Unknown(error.to_string());
    let mut at = directory.try_clone().map_err(|error| in_reach(directory, unknown(error)))?;
    let mut names_too = names_too;
    loop {
        if let Err(by) = reach(&at) {
            let fixed = !names_too && keeps_names(&at, &by).unwrap_or(false);
            if !fixed {
                return Err(in_reach(&at, by));
            }
        }
        names_too = false;
        let above = || -> io::Result<Option<OwnedFd>> {
            let above = openat(&at, c"..", HOLD | OFlags::DIRECTORY, Mode::empty())?;
            Ok((place_of(&above)? != place_of(&at)?).then_some(above))
        };
        match above() {
            Ok(Some(above)) => at = above,
            Ok(None) => return Ok(()),
            Err(error) => return Err(in_reach(&at, unknown(error))),
        }
    }
}

/// Where an open file is now, for messages; for other uses only where nobody can move it.
pub(crate) fn path_of(open: impl AsFd) -> PathBuf {
    let link = format!("/proc/self/fd/{}", open.as_fd().as_raw_fd());
    std::fs::read_link(link).unwrap_or_default()
}

fn start_of(path: &Path) -> io::Result<OwnedFd> {
    let from = if path.is_absolute() { c"/" } else { c"." };
    Ok(openat(CWD, from, HOLD | OFlags::DIRECTORY, Mode::empty())?)
}

/// The names of a path in order, without the root of an absolute path.
fn names(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}
