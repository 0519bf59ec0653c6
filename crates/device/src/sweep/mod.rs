//! Cleans up after processes that have ended. Touches only objects that are proved to be the ones
//! recorded in the ledger; reports what it leaves, and why.

mod directory;
mod loop_file;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use files::{Directory, Mount};
use rustix::fs::{FlockOperation, flock};
use rustix::mount::{UnmountFlags, unmount};

use self::directory::sweep_directory;
use self::loop_file::{image_of, sweep_loop_file};
pub use self::report::{Left, SweepReport};
use crate::record::{LedgerError, Record, TOKEN_LENGTH, Thing, VERSION, create_private};
use crate::sysfs::Entry;
use crate::usage::{Loop, attached_loops};
use crate::{ProcessIdentity, assembled};

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
        } else if name.ends_with(TOLD) {
            if !path.with_extension("json").exists() {
                let _ = std::fs::remove_file(path);
            }
        } else if name.ends_with(".json") {
            match read_record(path) {
                Ok(record) if record.version == VERSION => records.push((path, record)),
                Ok(record) => {
                    let what = format!("{name}: a ledger of version {}", record.version);
                    left(path, path, what, report);
                    clean = false;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    left(path, path, format!("{name}: {error}"), report);
                    clean = false;
                }
            }
        }
    }
    (records, clean)
}

/// The end of the name of a file beside an entry: the user was told that its object was left.
const TOLD: &str = ".told";

fn left(entry: &Path, path: &Path, what: String, report: &mut SweepReport) {
    let told = entry.with_extension(&TOLD[1..]).exists();
    report.left.push(Left { what, path: path.to_owned(), entry: entry.to_owned(), told });
}

/// Notes that the user was told of what these entries stand for.
pub(crate) fn note_told(report: &SweepReport) {
    for left in report.left.iter().filter(|left| !left.told) {
        // If it cannot be noted, it is told again.
        let _ = create_private(&left.entry.with_extension(&TOLD[1..]));
    }
}

/// Removes an entry.
pub(crate) fn forget(entry: &Path) {
    let _ = std::fs::remove_file(entry);
    let _ = std::fs::remove_file(entry.with_extension(&TOLD[1..]));
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
        let image = records.iter().find_map(|(entry, record)| match &record.thing {
            Thing::LoopFile { path, .. } => Some((entry.as_path(), path.as_path())),
            _ => None,
        });
        let (entry, path) = image.unwrap_or((Path::new(""), Path::new("")));
        left(entry, path, why, report);
        clean = false;
    }
    let mut kept: Vec<PathBuf> = Vec::new();
    for (entry, record) in records {
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
            Ok(()) => forget(entry),
            Err(why) => {
                match record.thing {
                    Thing::Queue { .. } => left(entry, entry, why, report),
                    Thing::Mount { point: path, .. }
                    | Thing::LoopFile { path, .. }
                    | Thing::Directory { path, .. } => {
                        left(entry, &path, why, report);
                        kept.push(path);
                    }
                }
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
        if let Some(image) = image_of(record, path, *file_id) {
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
        // A mount is undone by its path, so nobody else may be able to lead that elsewhere.
        let above = mount.point.parent().unwrap_or(Path::new("/"));
        Directory::hold(above)
            .and_then(|above| above.private_path())
            .map_err(|error| format!("mount on {point}: {error}"))?;
        unmount(&mount.point, UnmountFlags::NOFOLLOW)
            .map_err(|error| format!("mount on {point}: {error}"))?;
        report.cleaned.push(format!("mount of {} on {point}", mount.source.display()));
    }
    Ok(())
}

fn sweep_mount(point: &Path, source: &Path, report: &mut SweepReport) -> Result<(), String> {
    unmount_all(|mount| mount.point == point && mount.source == source, report)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_boot_the_filesystem_of_a_file_counts() {
        let mut owner = ProcessIdentity::current().unwrap();
        let record = |owner: &ProcessIdentity| Record {
            version: VERSION,
            token: "0".repeat(TOKEN_LENGTH),
            owner: owner.clone(),
            thing: Thing::Directory { path: "/nowhere".into(), file_id: None },
        };
        let same = |record: &Record, found| same_file(record, Some((1, 7)), found);
        let now = record(&owner);
        assert!(same(&now, (1, 7)) && !same(&now, (2, 7)) && !same(&now, (1, 8)));
        owner.boot_id = "another".to_owned();
        let before = record(&owner);
        assert!(same(&before, (1, 7)) && same(&before, (2, 7)) && !same(&before, (1, 8)));
    }
}
