//! What a filesystem stores of a file besides its contents.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, IFlags, Timespec, Timestamps, XattrFlags};

use super::finding::{Finding, words};

fn file(directory: &Path) -> Result<PathBuf, Finding> {
    let path = directory.join("file");
    match fs::write(&path, "kept") {
        Ok(()) => Ok(path),
        Err(error) => Err(Finding::untried(words(&error))),
    }
}

pub(super) fn owner(directory: &Path) -> Finding {
    let path = match file(directory) {
        Ok(path) => path,
        Err(finding) => return finding,
    };
    let set = std::os::unix::fs::chown(&path, Some(1000), Some(1001))
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o640)));
    match set.and_then(|()| fs::metadata(&path)) {
        Err(error) => Finding::no(words(&error)),
        Ok(found) => {
            let kept = (found.uid(), found.gid(), found.mode() & 0o7777) == (1000, 1001, 0o640);
            Finding::if_so(kept, "they are not what was set")
        }
    }
}

pub(super) fn xattr(directory: &Path) -> Finding {
    let path = match file(directory) {
        Ok(path) => path,
        Err(finding) => return finding,
    };
    let keep = |size: usize| -> io::Result<bool> {
        let value = vec![b'v'; size];
        rustix::fs::setxattr(&path, "user.fstrial", &value, XattrFlags::empty())?;
        let mut read = vec![0_u8; size + 1];
        let length = rustix::fs::getxattr(&path, "user.fstrial", &mut read[..])?;
        Ok(read[..length] == value[..])
    };
    match keep(1) {
        Err(error) => return Finding::no(words(&error)),
        Ok(false) => return Finding::no("it reads differently"),
        Ok(true) => {}
    }
    // Linux's own limit, XATTR_SIZE_MAX of linux/limits.h.
    let (mut most, mut beyond) = (1, 65536 + 1);
    while most + 1 < beyond {
        let middle = usize::midpoint(most, beyond);
        if keep(middle).unwrap_or(false) { most = middle } else { beyond = middle }
    }
    Finding::yes(format!("{most} bytes"))
}

pub(super) fn acl(directory: &Path) -> Finding {
    let path = match file(directory) {
        Ok(path) => path,
        Err(finding) => return finding,
    };
    // linux/posix_acl_xattr.h: version 2, then tag, permissions and id of each entry.
    let mut value = 2_u32.to_le_bytes().to_vec();
    let nobody = u32::MAX;
    for (tag, permissions, id) in [
        (0x01_u16, 6_u16, nobody),
        (0x02, 4, 1000),
        (0x04, 4, nobody),
        (0x10, 4, nobody),
        (0x20, 0, nobody),
    ] {
        value.extend(tag.to_le_bytes());
        value.extend(permissions.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    let name = "system.posix_acl_access";
    let mut read = [0_u8; 128];
    let kept = rustix::fs::setxattr(&path, name, &value, XattrFlags::empty())
        .and_then(|()| rustix::fs::getxattr(&path, name, &mut read[..]));
    match kept {
        Ok(length) => Finding::if_so(read[..length] == value[..], "it reads differently"),
        Err(error) => Finding::no(words(&error.into())),
    }
}

pub(super) fn immutable(directory: &Path) -> Finding {
    let path = match file(directory) {
        Ok(path) => path,
        Err(finding) => return finding,
    };
    let mark = |flags: IFlags| -> io::Result<()> {
        let file = File::open(&path)?;
        let others = rustix::fs::ioctl_getflags(&file)? - IFlags::IMMUTABLE;
        Ok(rustix::fs::ioctl_setflags(&file, others | flags)?)
    };
    if let Err(error) = mark(IFlags::IMMUTABLE) {
        return Finding::no(words(&error));
    }
    let opened = File::options().write(true).open(&path);
    let _ = mark(IFlags::empty());
    Finding::if_so(opened.is_err(), "it was opened for writing")
}

pub(super) fn time_stamp(directory: &Path) -> Finding {
    let path = match file(directory) {
        Ok(path) => path,
        Err(finding) => return finding,
    };
    const NANOS: i64 = 123_456_789;
    let time = Timespec { tv_sec: 1_000_000_000, tv_nsec: NANOS };
    let times = Timestamps { last_access: time, last_modification: time };
    let kept = rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty())
        .map_err(io::Error::from)
        .and_then(|()| fs::metadata(&path));
    match kept {
        Err(error) => Finding::no(words(&error)),
        Ok(found) if !(999_999_998..=1_000_000_000).contains(&found.mtime()) => {
            Finding::no("the time is another")
        }
        Ok(found) => {
            let units = [("1 ns", 1), ("100 ns", 100), ("1 µs", 1000), ("10 ms", 10_000_000)];
            let kept = |unit: i64| found.mtime_nsec() == NANOS / unit * unit;
            let unit = units.into_iter().find(|(_, unit)| kept(*unit)).map(|(words, _)| words);
            Finding::yes(unit.unwrap_or("1 s or more"))
        }
    }
}
