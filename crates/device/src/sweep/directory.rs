//! Directories that were left: emptied and removed, if they are proved to be the ones that were
//! made.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use files::Directory;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, unlinkat};

use super::{SweepReport, same_file};
use crate::owned::{MARKER, MARKER_C, directory_name};
use crate::record::Record;

pub(super) fn sweep_directory(
    record: &Record,
    path: &Path,
    file_id: Option<(u64, u64)>,
    report: &mut SweepReport,
) -> Result<(), String> {
    let shown = path.display();
    let say = |error: io::Error| format!("{shown}: {error}");
    let name = directory_name(&record.token);
    let foreign = || format!("{shown}: it is not the directory that was made");
    let parent = match (path.parent(), path.file_name()) {
        (Some(parent), Some(found)) if *found == *name => parent,
        _ => return Err(foreign()),
    };
    // Held from here on, so that what is checked is what is removed, whatever others rename.
    let parent = match Directory::hold(parent) {
        Ok(parent) => parent,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let Some(Found { name, by_number }) = find(record, &parent, &name, path, file_id)? else {
        return Ok(());
    };
    let directory = parent.hold_child(&name).map_err(|error| say(error.source))?;
    let status = fstat(&directory).map_err(|error| say(error.into()))?;
    let identity = (status.st_dev, status.st_ino);
    let ours = status.st_uid == rustix::process::geteuid().as_raw();
    if !ours || !same_file(record, file_id, identity) {
        return Err(foreign());
    }
    let remove = || parent.remove_child(&name, identity);
    match read_marker(&directory) {
        Ok(marker) if marker.trim_end() == record.token => {
            files::empty(&directory, MARKER_C).and_then(|()| remove()).map_err(say)?;
        }
        // Under another name only the marker proves it: inode numbers are given out again.
        _ if by_number => return Err(foreign()),
        // Killed while the marker was written: then there is nothing else in it.
        Ok(marker) if record.token.starts_with(marker.trim_end()) => {
            if directory.entries().map_err(say)? > 1 {
                return Err(format!("{shown}: its marker is incomplete, and it is not empty"));
            }
            unlinkat(&directory, MARKER, AtFlags::empty()).map_err(|error| say(error.into()))?;
            remove().map_err(say)?;
        }
        Ok(_) => return Err(format!("{shown}: its marker is another's")),
        // Killed between mkdir and marker, or between marker and rmdir: then it is empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove().map_err(|error| {
            say(io::Error::other(format!("it has no marker and cannot be removed: {error}")))
        })?,
        Err(error) => return Err(say(error)),
    }
    report.cleaned.push(format!("directory {}", parent.path().join(&name).display()));
    Ok(())
}

/// What the directory is called now.
struct Found {
    name: OsString,
    /// Whether it was found under another name, by its number.
    by_number: bool,
}

/// Looks for the directory under its name and, where that is another's, under any other.
fn find(
    record: &Record,
    parent: &Directory,
    name: &str,
    path: &Path,
    file_id: Option<(u64, u64)>,
) -> Result<Option<Found>, String> {
    let shown = path.display();
    let say = |error: io::Error| format!("{shown}: {error}");
    let there = match parent.status_of(name.as_ref()) {
        Ok(found) => {
            let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
            Some(is_directory && same_file(record, file_id, (found.st_dev, found.st_ino)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(say(error)),
    };
    let renamed = match file_id.filter(|_| record.owner.is_of_this_boot()) {
        Some(identity) if there != Some(true) => parent.name_of(identity).map_err(say)?,
        _ => None,
    };
    match (there, renamed) {
        (_, Some(name)) => Ok(Some(Found { name, by_number: true })),
        (Some(true), None) => Ok(Some(Found { name: name.into(), by_number: false })),
        (Some(false), None) => {
            let where_else = whereabouts(file_id);
            Err(format!("{shown}: it is not the directory that was made{where_else}"))
        }
        // Removed, unless there is somebody who could have moved it elsewhere.
        (None, None) => match parent.check_private() {
            Err(in_reach) if file_id.is_some() && rustix::process::geteuid().is_root() => {
                Err(format!("{shown}: it is gone, and {in_reach}{}", whereabouts(file_id)))
            }
            _ => Ok(None),
        },
    }
}

/// How to find what another user has moved away.
fn whereabouts(file_id: Option<(u64, u64)>) -> String {
    file_id.map_or_else(String::new, |(_, inode)| {
        format!("; if another user moved it, `find` knows it by -inum {inode}")
    })
}

fn read_marker(directory: &Directory) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let marker = openat(directory, MARKER, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&marker)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("its marker is no file"));
    }
    let mut text = String::new();
    File::from(marker).take(4096).read_to_string(&mut text)?;
    Ok(text)
}
