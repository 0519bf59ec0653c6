//! Cleans up after processes that have ended. Touches only objects that are proved to be the ones
//! recorded in the ledger; reports what it leaves, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use files::{Directory, Mount};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::mount::{UnmountFlags, unmount};
use units::DeviceNumber;

use crate::owned::{MARKER, MARKER_C, directory_name, image_name};
use crate::record::{LedgerError, Record, TOKEN_LENGTH, Thing, VERSION};
use crate::sysfs::Entry;
use crate::usage::{Loop, attached_loops};
use crate::{ProcessIdentity, assembled, attachment, ioctl};

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// What was removed, unmounted or detached, in order.
    pub cleaned: Vec<String>,
    /// What was left, and why. The next sweep tries again.
    pub left: Vec<String>,
    /// Processes that are alive and whose objects were therefore left alone.
    pub running: Vec<u32>,
}

impl SweepReport {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.cleaned.is_empty() && self.left.is_empty()
    }
}

/// One line for each object.
impl fmt::Display for SweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cleaned = self.cleaned.iter().map(|what| format!("cleaned up: {what}"));
        let left = self.left.iter().map(|what| format!("left behind: {what}"));
        f.write_str(&cleaned.chain(left).collect::<Vec<_>>().join("\n"))
    }
}

/// Sweeps the ledger in `directory`; `own` is the token of the process that asks.
pub(crate) fn sweep(directory: &Path, own: &str) -> Result<SweepReport, LedgerError> {
    let mut owners: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    let listing = std::fs::read_dir(directory).map_err(LedgerError::of("read", directory))?;
    for file in listing {
        let path = file.map_err(LedgerError::of("read", directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Other files in the directory are not the ledger's.
        let Some((token, rest)) = name.split_at_checked(TOKEN_LENGTH) else { continue };
        let is_token = token.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_token && token != own && (rest.starts_with('-') || rest.starts_with(".lock")) {
            owners.entry(token.to_owned()).or_default().insert(path);
        }
    }
    let mut report = SweepReport::default();
    for (token, files) in owners {
        let lock_path = directory.join(format!("{token}.lock"));
        match may_sweep(&lock_path, &files) {
            Ok(lock) => {
                let clean = sweep_owner(&files, &mut report);
                if clean {
                    let _ = std::fs::remove_file(&lock_path);
                }
                drop(lock);
            }
            Err(pid) => report.running.extend(pid),
        }
    }
    Ok(report)
}

/// The lock of an owner that has ended, or none if it has no lock file. An error, with the owner's
/// process id if known, if the owner is alive or another process is sweeping its entries.
fn may_sweep(lock_path: &Path, files: &BTreeSet<PathBuf>) -> Result<Option<File>, Option<u32>> {
    let mut owners: Vec<ProcessIdentity> =
        files.iter().filter_map(|path| read_record(path).ok()).map(|record| record.owner).collect();
    let lock = match File::open(lock_path) {
        Ok(mut lock) => {
            let mut text = String::new();
            let identity = lock.read_to_string(&mut text).ok();
            owners.extend(identity.and_then(|_| serde_json::from_str(&text).ok()));
            Some(lock)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return Err(None),
    };
    let pid = owners.first().map(|owner| owner.pid);
    // If no owner is known, it is not known whether the owner has ended.
    if owners.is_empty() || owners.iter().any(ProcessIdentity::is_alive) {
        return Err(pid);
    }
    if let Some(lock) = &lock {
        flock(lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| pid)?;
        // Another process may have swept and removed the file that was opened above.
        let identity = |metadata: io::Result<std::fs::Metadata>| metadata.map(|m| m.ino()).ok();
        if identity(lock.metadata()) != identity(std::fs::symlink_metadata(lock_path)) {
            return Err(pid);
        }
    }
    Ok(lock)
}

fn read_record(path: &Path) -> io::Result<Record> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_file() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it is not a file of ours"));
    }
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// The records in these files of one owner, and whether none had to be left.
fn records_of<'f>(
    files: &'f BTreeSet<PathBuf>,
    report: &mut SweepReport,
) -> (Vec<(&'f PathBuf, Record)>, bool) {
    let mut records = Vec::new();
    let mut clean = true;
    for path in files {
        let name = path.to_string_lossy();
        if name.ends_with(".json.new") {
            // Never renamed to its final name: the object was not begun, or has an older entry.
            let _ = std::fs::remove_file(path);
        } else if name.ends_with(".json") {
            match read_record(path) {
                Ok(record) if record.version == VERSION => records.push((path, record)),
                Ok(record) => {
                    report.left.push(format!("{name}: a ledger of version {}", record.version));
                    clean = false;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    report.left.push(format!("{name}: {error}"));
                    clean = false;
                }
            }
        }
    }
    (records, clean)
}

/// Deals with all entries of one owner; whether none is left.
fn sweep_owner(files: &BTreeSet<PathBuf>, report: &mut SweepReport) -> bool {
    let (mut records, mut clean) = records_of(files, report);
    // Mounts hold devices, devices hold images, images lie in directories; what was made
    // last goes first.
    records.reverse();
    records.sort_by_key(|(_, record)| match record.thing {
        // First, while the device they belong to is still there.
        Thing::Queue { .. } => 0,
        Thing::Mount { .. } => 1,
        Thing::LoopFile { .. } => 2,
        Thing::Directory { .. } => 3,
    });
    if let Err(why) = sweep_assembled(&records, report) {
        report.left.push(why);
        clean = false;
    }
    let mut kept: Vec<PathBuf> = Vec::new();
    for (path, record) in records {
        let swept = match &record.thing {
            // A directory that contains an object which was left is left too.
            Thing::Directory { path, .. } if kept.iter().any(|kept| kept.starts_with(path)) => {
                Err(format!("{}: it holds what was left", path.display()))
            }
            Thing::Queue { settings } => match settings.restore() {
                Ok(restored) => {
                    report.cleaned.extend(restored);
                    Ok(())
                }
                Err(error) => Err(format!("the settings of a disk's queue: {error}")),
            },
            Thing::Mount { point, source } => sweep_mount(point, source, report),
            Thing::LoopFile { path, file_id, loop_device } => {
                sweep_loop_file(&record, path, *file_id, *loop_device, report)
            }
            Thing::Directory { path, file_id } => sweep_directory(&record, path, *file_id, report),
        };
        match swept {
            Ok(()) => {
                let _ = std::fs::remove_file(path);
            }
            Err(why) => {
                match record.thing {
                    Thing::Queue { .. } => {}
                    Thing::Mount { point: path, .. }
                    | Thing::LoopFile { path, .. }
                    | Thing::Directory { path, .. } => kept.push(path),
                }
                report.left.push(why);
                clean = false;
            }
        }
    }
    clean
}

/// Stops arrays and volumes on the loop devices of these records: they would keep them in use.
fn sweep_assembled(records: &[(&PathBuf, Record)], report: &mut SweepReport) -> Result<(), String> {
    let mut devices = Vec::new();
    for (_, record) in records {
        let Thing::LoopFile { path, file_id, .. } = &record.thing else { continue };
        let Ok(metadata) = std::fs::symlink_metadata(path) else { continue };
        let image = (metadata.dev(), metadata.ino());
        if same_file(record, *file_id, image) {
            let entries = loops_of(image)?.into_iter().map(|attached| Entry::of(attached.number));
            devices.extend(entries.flatten());
        }
    }
    let stopped = assembled::take_down(&devices, &assembled::Kernel, &mut |device| {
        let ours = |mount: &Mount| mount.number == device.number || mount.source == device.node();
        unmount_all(ours, report)
    })?;
    report.cleaned.extend(stopped.into_iter().map(|name| format!("array or volume {name}")));
    Ok(())
}

/// Unmounts, topmost first, the mounts of this namespace that `ours` picks.
fn unmount_all(ours: impl Fn(&Mount) -> bool, report: &mut SweepReport) -> Result<(), String> {
    let mounts = Mount::all().map_err(|error| error.to_string())?;
    for mount in mounts.into_iter().rev().filter(ours) {
        let point = mount.point.display();
        unmount(&mount.point, UnmountFlags::NOFOLLOW)
            .map_err(|error| format!("mount on {point}: {error}"))?;
        report.cleaned.push(format!("mount of {} on {point}", mount.source.display()));
    }
    Ok(())
}

fn sweep_mount(point: &Path, source: &Path, report: &mut SweepReport) -> Result<(), String> {
    unmount_all(|mount| mount.point == point && mount.source == source, report)
}

fn sweep_loop_file(
    record: &Record,
    path: &Path,
    file_id: Option<(u64, u64)>,
    loop_device: Option<DeviceNumber>,
    report: &mut SweepReport,
) -> Result<(), String> {
    let shown = path.display();
    let here = std::fs::symlink_metadata(path);
    let image = match &here {
        Ok(metadata) => {
            let found = (metadata.dev(), metadata.ino());
            let named = path.file_name().is_some_and(|name| *name == *image_name(&record.token));
            if !named || !metadata.is_file() || !same_file(record, file_id, found) {
                return Err(format!("{shown}: it is not the file that was made"));
            }
            Some(found)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            file_id.filter(|_| record.owner.is_of_this_boot())
        }
        Err(error) => return Err(format!("{shown}: {error}")),
    };
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
    if here.is_ok() {
        remove_image(path, image).map_err(|error| format!("{shown}: {error}"))?;
        report.cleaned.push(format!("loop file {shown}"));
    }
    Ok(())
}

/// Removes an image through its held directory, if the name still refers to it.
fn remove_image(path: &Path, image: Option<(u64, u64)>) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let parent = Directory::hold(parent).map_err(|error| error.source)?;
    let found = parent.status_of(name)?;
    if image != Some((found.st_dev, found.st_ino)) {
        return Err(io::Error::other("it is not the file that was made"));
    }
    Ok(unlinkat(&parent, name, AtFlags::empty())?)
}

fn loops_of(image: (u64, u64)) -> Result<Vec<Loop>, String> {
    let loops = attached_loops().map_err(|error| error.to_string())?;
    Ok(loops.into_iter().filter(|attached| attached.file == Some(image)).collect())
}

/// Whether a file found under the recorded name can be the one recorded. Device numbers may
/// change from one boot to the next; inode numbers do not.
fn same_file(record: &Record, recorded: Option<(u64, u64)>, found: (u64, u64)) -> bool {
    match recorded {
        // Killed before the file's id was recorded: the random name is the proof.
        None => true,
        Some(recorded) if record.owner.is_of_this_boot() => recorded == found,
        Some(recorded) => recorded.1 == found.1,
    }
}

fn sweep_directory(
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
    match parent.status_of(name.as_ref()) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {}
        Ok(_) => return Err(foreign()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(say(error)),
    }
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
    report.cleaned.push(format!("directory {shown}"));
    Ok(())
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
