//! Unpacking an archive of a whole system, as root: owners, modes, links and times as packed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, Timespec, Timestamps, Uid};
use tar::EntryType;

use crate::OpError;

/// Large writes, one after the other: this is setup, not what is measured.
const AT_ONCE: usize = 1 << 20;

/// What was unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unpacked {
    /// Files, directories and links.
    pub(super) entries: u64,
    /// Bytes in files.
    pub(super) bytes: u64,
}

/// Unpacks `archive`, a plain tar, below `root`. After each file `after` is called with its name
/// and size.
///
/// # Errors
/// When it is damaged, names a place outside `root`, or the filesystem does not take an entry;
/// those of `after`.
pub(super) fn unpack(
    archive: &Path,
    root: &Path,
    after: &mut dyn FnMut(&Path, u64) -> Result<(), OpError>,
) -> Result<Unpacked, OpError> {
    let file = File::open(archive).map_err(OpError::at("open", archive))?;
    let mut tar = tar::Archive::new(io::BufReader::with_capacity(AT_ONCE, file));
    let mut unpacked = Unpacked::default();
    let mut directories = Vec::new();
    let mut buffer = vec![0; AT_ONCE];
    let damaged = |error| OpError::new("read", archive, error);
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let Some(place) = below(root, &name) else {
            let outside = io::Error::other("it names a place outside the tree");
            return Err(OpError::new("unpack", name, outside));
        };
        let header = entry.header();
        let kind = header.entry_type();
        let mtime = header.mtime().map_err(damaged)?;
        let mode = Mode::from_raw_mode(header.mode().map_err(damaged)? & 0o7777);
        let owner = (
            u32::try_from(header.uid().map_err(damaged)?).unwrap_or(0),
            u32::try_from(header.gid().map_err(damaged)?).unwrap_or(0),
        );
        let fail = |op| OpError::at(op, &name);
        match kind {
            EntryType::Directory => {
                match std::fs::create_dir(&place) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    made => made.map_err(fail("mkdir"))?,
                }
                directories.push((place.clone(), mtime));
            }
            EntryType::Regular | EntryType::Continuous => {
                let to = File::create(&place).map_err(fail("create"))?;
                let size = fill(&to, &name, &mut entry, archive, &mut buffer)?;
                own_open(&to, owner, mode, mtime).map_err(fail("fchown"))?;
                drop(to);
                unpacked.bytes += size;
                after(&name, size)?;
            }
            EntryType::Symlink => {
                let target = entry.link_name().map_err(damaged)?.unwrap_or_default();
                std::os::unix::fs::symlink(&target, &place).map_err(fail("symlink"))?;
            }
            EntryType::Link => {
                let target = entry.link_name().map_err(damaged)?.unwrap_or_default();
                let target = below(root, &target)
                    .ok_or_else(|| io::Error::other("it leads out of the tree"))
                    .map_err(fail("link"))?;
                std::fs::hard_link(target, &place).map_err(fail("link"))?;
            }
            // Devices are made by the system itself, on its own /dev.
            _ => continue,
        }
        unpacked.entries += 1;
        match kind {
            EntryType::Directory => own(&place, owner, Some(mode), mtime).map_err(fail("chown"))?,
            EntryType::Symlink => own(&place, owner, None, mtime).map_err(fail("chown"))?,
            // A file got these while it was open; a hard link shares those of its other name.
            _ => {}
        }
    }
    for (directory, mtime) in directories.iter().rev() {
        stamp(directory, *mtime).map_err(|error| OpError::new("utimensat", directory, error))?;
    }
    Ok(unpacked)
}

/// Writes what an entry of this name holds; returns its size.
fn fill(
    mut to: &File,
    name: &Path,
    entry: &mut dyn Read,
    archive: &Path,
    buffer: &mut [u8],
) -> Result<u64, OpError> {
    let mut size = 0;
    loop {
        let got = entry.read(buffer).map_err(OpError::at("read", archive))?;
        if got == 0 {
            return Ok(size);
        }
        io::Write::write_all(&mut to, &buffer[..got]).map_err(OpError::at("write", name))?;
        size += got as u64;
    }
}

/// `name` below `root`; `None` where it would lead out of it.
fn below(root: &Path, name: &Path) -> Option<PathBuf> {
    let mut place = root.to_owned();
    for component in name.components() {
        match component {
            Component::Normal(part) => place.push(part),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
}

/// As [`own`], for an open file: avoids resolving its path three more times.
fn own_open(file: &File, owner: (u32, u32), mode: Mode, mtime: u64) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
    rustix::fs::fchown(file, Some(user), Some(group))?;
    rustix::fs::fchmod(file, mode)?;
    Ok(rustix::fs::futimens(file, &times(mtime))?)
}

fn own(place: &Path, owner: (u32, u32), mode: Option<Mode>, mtime: u64) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(owner.0), Gid::from_raw(owner.1));
    rustix::fs::chownat(CWD, place, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    // After the owner, since changing the owner clears the set-user-id bit.
    if let Some(mode) = mode {
        rustix::fs::chmodat(CWD, place, mode, AtFlags::empty())?;
    }
    stamp(place, mtime)
}

fn stamp(place: &Path, mtime: u64) -> io::Result<()> {
    Ok(rustix::fs::utimensat(CWD, place, &times(mtime), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times(mtime: u64) -> Timestamps {
    let time = Timespec { tv_sec: mtime.cast_signed(), tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

/// Packs everything below `root`, which must not leave its filesystem, into a plain tar.
/// What is mounted below it is left out, and so are sockets, pipes and devices.
///
/// # Errors
/// When something cannot be read or `to` cannot be written.
pub(super) fn pack(root: &Path, to: &mut dyn io::Write) -> io::Result<()> {
    let device = rustix::fs::stat(root)?.st_dev;
    let mut builder = tar::Builder::new(to);
    let mut seen = std::collections::BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(directory) = left.pop() {
        let mut names: Vec<_> = std::fs::read_dir(root.join(&directory))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()?;
        names.sort();
        // Popped from the end: the first name is to come first.
        let mut inside = Vec::new();
        for name in names {
            let path = directory.join(name);
            let place = root.join(&path);
            let stat = rustix::fs::lstat(&place)?;
            let mut header = tar::Header::new_gnu();
            header.set_mode(stat.st_mode & 0o7777);
            header.set_uid(u64::from(stat.st_uid));
            header.set_gid(u64::from(stat.st_gid));
            header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or(0));
            header.set_size(0);
            let kind = FileType::from_raw_mode(stat.st_mode);
            match kind {
                FileType::Directory => {
                    header.set_entry_type(EntryType::Directory);
                    builder.append_data(&mut header, &path, io::empty())?;
                    if stat.st_dev == device {
                        inside.push(path);
                    }
                }
                FileType::Symlink => {
                    let target = std::fs::read_link(&place)?;
                    header.set_entry_type(EntryType::Symlink);
                    builder.append_link(&mut header, &path, target)?;
                }
                FileType::RegularFile => {
                    let first = seen.entry(stat.st_ino).or_insert_with(|| path.clone());
                    if *first == path {
                        header.set_entry_type(EntryType::Regular);
                        header.set_size(u64::try_from(stat.st_size).unwrap_or(0));
                        builder.append_data(&mut header, &path, File::open(&place)?)?;
                    } else {
                        header.set_entry_type(EntryType::Link);
                        builder.append_link(&mut header, &path, &*first)?;
                    }
                }
                _ => {}
            }
        }
        left.extend(inside.into_iter().rev());
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
