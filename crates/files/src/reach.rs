//! Who else may change a directory or file: its owner, its mode, its access control list, and
//! whoever serves a FUSE filesystem. Asked of open descriptors, never of a path.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use rustix::fs::{Stat, StatxFlags, fstat, fstatfs, getxattr, statx};
use rustix::io::Errno;

use crate::{FileError, Mount, is_root, is_trusted};

/// Another user who may change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Its owner.
    Owner(u32),
    /// Everyone whom the mode allows to write.
    Mode(u32),
    /// A user whom its access control list allows to write.
    ListedUser(u32),
    /// A group that its access control list allows to write.
    ListedGroup(u32),
    /// The user whose program serves this FUSE filesystem.
    Server(u32),
    /// It cannot be found out; the reason.
    Unknown(String),
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reach::Owner(user) => write!(f, "it belongs to user {user}"),
            Reach::Mode(mode) => write!(f, "others may write to it (mode {mode:o})"),
            Reach::ListedUser(user) => write!(f, "its ACL lets user {user} write to it"),
            Reach::ListedGroup(group) => write!(f, "its ACL lets group {group} write to it"),
            Reach::Server(user) => write!(f, "a program of user {user} serves its filesystem"),
            Reach::Unknown(why) => write!(f, "who may write to it cannot be found out ({why})"),
        }
    }
}

/// A directory that another user may change, and who.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InReach {
    /// Its path when it was looked at.
    pub path: PathBuf,
    /// Who.
    pub by: Reach,
}

impl fmt::Display for InReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another user can change {}: {}", self.path.display(), self.by)
    }
}

impl std::error::Error for InReach {}

impl InReach {
    /// The one that made an operation fail, if that was the reason.
    pub fn of(error: &FileError) -> Option<&InReach> {
        error.source.get_ref()?.downcast_ref()
    }
}

/// Checks that nobody else may write to an open file or directory. As root, only root's files are beyond others. An
/// ordinary user has to trust the owners of the directories above anyway, and is taken to be the
/// only member of the file's group.
pub(crate) fn reach(open: impl AsFd) -> Result<(), Reach> {
    let unknown = |error: Errno| Reach::Unknown(error.to_string());
    let status = fstat(&open).map_err(unknown)?;
    if is_root() && !is_trusted(status.st_uid) {
        return Err(Reach::Owner(status.st_uid));
    }
    let mode = status.st_mode & 0o7777;
    // With a list, the group bits are its mask: unless they allow writing, no entry does.
    if mode & 0o020 != 0 {
        match access_list(&open).map_err(unknown)? {
            Some(list) => listed(&list)?,
            None if is_root() => return Err(Reach::Mode(mode)),
            None => {}
        }
    }
    if mode & 0o002 != 0 {
        return Err(Reach::Mode(mode));
    }
    if is_root() {
        served(&open)?;
    }
    Ok(())
}

/// `f_type` of a FUSE filesystem.
const FUSE_MAGIC: i64 = 0x6573_5546;

/// Whether a program of another user answers for the filesystem: then owners and modes are what
/// that program says.
fn served(open: impl AsFd) -> Result<(), Reach> {
    let found = fstatfs(&open).map_err(|error| Reach::Unknown(error.to_string()))?;
    if found.f_type != FUSE_MAGIC {
        return Ok(());
    }
    let mount = Mount::of_open(&open).map_err(|error| Reach::Unknown(error.to_string()))?;
    let user = mount.options.split(',').find_map(|option| option.strip_prefix("user_id="));
    match user.map(str::parse) {
        // virtiofs and others that the kernel serves itself name no user.
        None | Some(Ok(0)) => Ok(()),
        Some(Ok(user)) => Err(Reach::Server(user)),
        Some(Err(_)) => Err(Reach::Unknown("the user who serves it".to_owned())),
    }
}

/// The access control list of POSIX, as acl(5) names its entries.
pub(crate) const ACCESS_LIST: &std::ffi::CStr = c"system.posix_acl_access";
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const WRITE: u16 = 0o2;

/// The list as the kernel keeps it; none where there is only a mode.
fn access_list(open: impl AsFd) -> Result<Option<Vec<u8>>, Errno> {
    // A descriptor that only holds the file has no attributes; the link to it in /proc has.
    let link = format!("/proc/self/fd/{}", open.as_fd().as_raw_fd());
    // The largest value that the kernel hands out.
    let mut value = vec![0u8; 1 << 16];
    match getxattr(link, ACCESS_LIST, value.as_mut_slice()) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The first entry of a list that lets another user write.
fn listed(list: &[u8]) -> Result<(), Reach> {
    let malformed = || Reach::Unknown("its ACL is malformed".to_owned());
    let (version, entries) = list.split_first_chunk::<4>().ok_or_else(malformed)?;
    if u32::from_le_bytes(*version) != 2 || entries.len() % 8 != 0 {
        return Err(malformed());
    }
    let entries: Vec<(u16, u16, u32)> = entries
        .chunks_exact(8)
        .map(|entry| {
            let short = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            (short(0), short(2), id)
        })
        .collect();
    let mask = entries.iter().find(|entry| entry.0 == MASK).map_or(WRITE, |mask| mask.1);
    for (tag, permissions, id) in entries {
        let writes = permissions & mask & WRITE != 0;
        match tag {
            USER if writes && !is_trusted(id) => return Err(Reach::ListedUser(id)),
            GROUP if writes => return Err(Reach::ListedGroup(id)),
            GROUP_OBJ if writes && is_root() => return Err(Reach::Mode(0o020)),
            _ => {}
        }
    }
    Ok(())
}

/// What identifies a directory and the mount through which it was reached.
pub(crate) fn place_of(open: impl AsFd) -> Result<(u64, u64, u64), Errno> {
    let status = fstat(&open)?;
    let mask = StatxFlags::MNT_ID;
    let empty = rustix::fs::AtFlags::EMPTY_PATH;
    let mount = statx(&open, c"", empty, mask).ok();
    let mount = mount.filter(|found| found.stx_mask & mask.bits() != 0);
    Ok((status.st_dev, status.st_ino, mount.map_or(0, |found| found.stx_mnt_id)))
}

/// Whether others may make names in a directory but not take away those of its owner's.
pub(crate) fn is_sticky(status: &Stat) -> bool {
    status.st_mode & 0o1000 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    const NOBODY: u32 = u32::MAX;
    const OTHER: u32 = 4_294_000_000;

    #[test]
    fn an_entry_for_another_user_or_group_counts_as_far_as_the_mask_lets_it() {
        let own = [(0x01, 7, NOBODY), (GROUP_OBJ, 5, NOBODY), (MASK, 7, NOBODY), (0x20, 5, NOBODY)];
        assert_eq!(listed(&list(&own)), Ok(()));
        let with = |entry, mask| listed(&list(&[own[0], entry, (MASK, mask, NOBODY)]));
        assert_eq!(with((USER, 7, OTHER), 7), Err(Reach::ListedUser(OTHER)));
        assert_eq!(with((USER, 7, OTHER), 5), Ok(()));
        assert_eq!(with((USER, 5, OTHER), 7), Ok(()));
        assert_eq!(with((GROUP, 2, OTHER), 2), Err(Reach::ListedGroup(OTHER)));
        assert_eq!(with((USER, 7, 0), 7), Ok(()), "root may do so anyway");
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(with((USER, 7, own), 7), Ok(()));
        let without_mask = list(&[(USER, 2, OTHER)]);
        assert_eq!(listed(&without_mask), Err(Reach::ListedUser(OTHER)), "all that it says");
        let of_group = listed(&list(&[(GROUP_OBJ, 7, NOBODY), (MASK, 7, NOBODY)]));
        let trusted = if is_root() { Err(Reach::Mode(0o020)) } else { Ok(()) };
        assert_eq!(of_group, trusted, "root's group may have other members");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_harmless() {
        for bytes in [&b""[..], b"\x02\0\0", b"\x03\0\0\0", b"\x02\0\0\0\x01"] {
            assert!(matches!(listed(bytes), Err(Reach::Unknown(_))), "{bytes:?}");
        }
    }
}
