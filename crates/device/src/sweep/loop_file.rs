//! Loop files that were left: detached, and their images removed.

use std::fs::File;
use std::io;
use std::path::Path;

use files::{Directory, Mount};
use rustix::fs::{AtFlags, FileType, unlinkat};
use units::DeviceNumber;

use super::{SweepReport, loops_of, same_file, unmount_all};
use crate::owned::image_name;
use crate::record::Record;
use crate::sysfs::Entry;
use crate::{attachment, ioctl};

/// The image under its recorded name: the directory that holds it and its identity; none if it is
/// not there.
struct Image<'a> {
    path: &'a Path,
    parent: Directory,
    identity: (u64, u64),
}

impl Image<'_> {
    fn find<'a>(
        record: &Record,
        path: &'a Path,
        file_id: Option<(u64, u64)>,
    ) -> Result<Option<Image<'a>>, String> {
        let shown = path.display();
        let foreign = || format!("{shown}: it is not the file that was made");
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(foreign());
        };
        let parent = match Directory::hold(parent) {
            Ok(parent) => parent,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let found = match parent.status_of(name) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{shown}: {error}")),
        };
        let identity = (found.st_dev, found.st_ino);
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        let named = *name == *image_name(&record.token);
        match named && is_file && same_file(record, file_id, identity) {
            true => Ok(Some(Image { path, parent, identity })),
            false => Err(foreign()),
        }
    }

    /// Removes it through its held directory, if the name still refers to it.
    fn remove(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        let found = self.parent.status_of(name)?;
        if self.identity != (found.st_dev, found.st_ino) {
            return Err(io::Error::other("it is not the file that was made"));
        }
        Ok(unlinkat(&self.parent, name, AtFlags::empty())?)
    }
}

/// The identity of a recorded image that is still there under its name.
pub(super) fn image_of(
    record: &Record,
    path: &Path,
    file_id: Option<(u64, u64)>,
) -> Option<(u64, u64)> {
    Some(Image::find(record, path, file_id).ok()??.identity)
}

pub(super) fn sweep_loop_file(
    record: &Record,
    path: &Path,
    file_id: Option<(u64, u64)>,
    loop_device: Option<DeviceNumber>,
    report: &mut SweepReport,
) -> Result<(), String> {
    let shown = path.display();
    let here = Image::find(record, path, file_id)?;
    let deleted = || file_id.filter(|_| record.owner.is_of_this_boot());
    let image = here.as_ref().map(|image| image.identity).or_else(deleted);
    if let Some(image) = image {
        for attached in loops_of(image)? {
            let node = attached.node.clone();
            let ours =
                |mount: &Mount| mount.number == attached.number || mount.source == attached.node;
            unmount_all(ours, report)?;
            match File::open(&node).and_then(ioctl::detach_loop) {
                Ok(()) => {}
                // The last unmount detached it.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENOENT)) => {}
                Err(error) => return Err(format!("{}: {error}", node.display())),
            }
            report.cleaned.push(format!("loop device {} of {shown}", node.display()));
        }
        if let Some(attached) = loops_of(image)?.first() {
            let holders = Entry::of(attached.number).and_then(|entry| entry.holders());
            let by = match holders.unwrap_or_default() {
                holders if holders.is_empty() => "a process or another mount namespace".into(),
                holders => holders.join(", "),
            };
            return Err(format!("{shown}: {} is still in use by {by}", attached.node.display()));
        }
    }
    if let Some(number) = loop_device
        && record.owner.is_of_this_boot()
        && attachment::remove_idle(number.minor)
    {
        report.cleaned.push(format!("idle loop device /dev/loop{}", number.minor));
    }
    if let Some(image) = here {
        image.remove().map_err(|error| format!("{shown}: {error}"))?;
        report.cleaned.push(format!("loop file {shown}"));
    }
    Ok(())
}
