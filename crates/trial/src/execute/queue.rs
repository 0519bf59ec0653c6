//! The queue settings between a filesystem and its disks that a contender asks for: the scheduler
//! of each disk, and the read-ahead of files. Set in sysfs and read back; the caller that runs the
//! trial restores the previous settings.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use stack::Refusal;
use stack::filesystems::{Queue, ReadAhead, scheduler_in_use};
use units::{Bytes, DeviceNumber};

/// The directory of a device's queue in sysfs; a partition's is its disk's.
fn directory(device: &Path) -> Result<PathBuf, String> {
    let named = |error: std::io::Error| format!("{}: {error}", device.display());
    let number = DeviceNumber::from_raw(std::fs::metadata(device).map_err(named)?.rdev());
    let entry = std::fs::canonicalize(format!("/sys/dev/block/{number}")).map_err(named)?;
    let disk = match entry.join("partition").exists() {
        true => entry.parent().map_or_else(|| entry.clone(), Path::to_owned),
        false => entry,
    };
    Ok(disk.join("queue"))
}

/// Gives each disk the scheduler that is asked for, if one is.
///
/// # Errors
/// When a disk cannot have it. Nothing on it has been touched then.
pub(super) fn set_scheduler(queue: &Queue, disks: &[PathBuf]) -> Result<(), Refusal> {
    let Some(wanted) = &queue.scheduler else { return Ok(()) };
    for disk in disks {
        let refuse = |rule: String| {
            Refusal::new(format!("scheduler={wanted}"), rule)
                .with_next("take one that it has, or leave the scheduler as it is")
        };
        let file = directory(disk).map_err(&refuse)?.join("scheduler");
        // The kernel loads a module of this name by itself, if it has one.
        let written = std::fs::write(&file, wanted);
        let offered = std::fs::read_to_string(&file).unwrap_or_default();
        if scheduler_in_use(&offered) != Some(wanted) {
            let why = written.err().map_or_else(String::new, |error| format!(" ({error})"));
            let offered = match offered.trim() {
                "" => "none at all".to_owned(),
                offered => offered.to_owned(),
            };
            return Err(refuse(format!("{} has {offered}{why}", disk.display())));
        }
    }
    Ok(())
}

/// The kernel's setting for read-ahead in the files under test, and the value it is to have.
#[derive(Debug, Default)]
pub(super) struct Reading {
    file: Option<PathBuf>,
    wanted: Option<Bytes>,
}

impl Reading {
    /// For a filesystem on `data`; nothing is set yet.
    pub(super) fn of(queue: &Queue, whose: &ReadAhead, data: Option<&Path>) -> Reading {
        let file = match whose {
            ReadAhead::Device => data
                .and_then(|device| directory(device).ok())
                .map(|directory| directory.join("read_ahead_kb")),
            ReadAhead::Mounted(file) => Some(PathBuf::from(file)),
            ReadAhead::Own(_) => None,
        };
        Reading { file, wanted: queue.read_ahead }
    }

    /// After each mount: a mounted filesystem's own setting is reset by it.
    ///
    /// # Errors
    /// When the kernel refuses the value, or sets another one.
    pub(super) fn set(&self) -> Result<(), String> {
        let Some(wanted) = self.wanted else { return Ok(()) };
        let file = self.file.as_ref().ok_or("read_ahead: the device has no queue in sysfs")?;
        let wanted = (wanted.0 >> 10).to_string();
        let shown = file.display();
        std::fs::write(file, &wanted)
            .map_err(|error| format!("read_ahead: {shown} = {wanted}: {error}"))?;
        match self.figure() {
            Some(figure) if figure == wanted => Ok(()),
            found => Err(format!(
                "read_ahead: {shown} is {} after {wanted} was written",
                found.as_deref().unwrap_or("unreadable")
            )),
        }
    }

    fn figure(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.file.as_ref()?).ok()?;
        Some(text.trim().to_owned())
    }

    /// The settings in force for each disk and for the files, for the record of what was made.
    pub(super) fn shown(&self, disks: &[PathBuf]) -> Vec<(String, String)> {
        let scheduler = |disk: &PathBuf| {
            let offered = std::fs::read_to_string(directory(disk).ok()?.join("scheduler")).ok()?;
            Some((
                format!("scheduler of {}", disk.display()),
                scheduler_in_use(&offered)?.to_owned(),
            ))
        };
        let ahead = self.figure().map(|kib| ("read-ahead in KiB".to_owned(), kib));
        disks.iter().filter_map(scheduler).chain(ahead).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_queue() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let queue =
            Queue { scheduler: Some("none".to_owned()), read_ahead: Some(Bytes::from_kib(64)) };
        let refusal = set_scheduler(&queue, &[file.path().to_owned()]).unwrap_err().to_string();
        assert!(refusal.starts_with("scheduler=none: "), "{refusal}");
        let reading = Reading::of(&queue, &ReadAhead::Device, Some(file.path()));
        assert!(reading.set().unwrap_err().contains("no queue"));
    }

    #[test]
    fn read_ahead_is_written_in_kib_and_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "128\n").unwrap();
        let mut reading = Reading { file: Some(file.path().to_owned()), wanted: None };
        reading.set().unwrap();
        assert_eq!(reading.figure().as_deref(), Some("128"), "nothing was asked for");
        reading.wanted = Some(Bytes(64 << 10));
        reading.set().unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "64");
        assert_eq!(reading.shown(&[]), [("read-ahead in KiB".to_owned(), "64".to_owned())]);
    }

    #[test]
    fn a_value_that_the_kernel_does_not_keep_is_an_error() {
        // It takes everything and returns nothing.
        let file = Some(PathBuf::from("/dev/null"));
        let reading = Reading { file, wanted: Some(Bytes(64 << 10)) };
        let error = reading.set().unwrap_err();
        assert_eq!(error, "read_ahead: /dev/null is  after 64 was written");
    }

    #[test]
    fn without_a_setting_none_is_shown() {
        let reading = Reading::default();
        assert_eq!(reading.figure(), None);
        assert!(reading.shown(&[PathBuf::from("/nonexistent")]).is_empty());
    }
}
