//! The settings of a disk's queue, as data.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};
use stack::filesystems::scheduler_in_use;
use units::DeviceNumber;

use crate::sysfs::Entry;
use crate::{Claim, Identity};

/// The files of the settings, relative to a disk's directory in sysfs.
const FILES: [&str; 2] = ["queue/scheduler", "queue/read_ahead_kb"];

/// The recorded settings of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueSettings {
    number: DeviceNumber,
    /// The disk they belong to: its number alone may be another disk's by now.
    identity: Identity,
    /// File and value, where the disk has it.
    values: Vec<(String, String)>,
}

impl QueueSettings {
    pub(crate) fn of(claim: &Claim) -> io::Result<QueueSettings> {
        let disk = Entry::of(claim.number())?.whole_disk()?;
        let values = FILES.iter().filter_map(|file| {
            let value = disk.read(file)?;
            Some(((*file).to_owned(), selected(&value).to_owned()))
        });
        Ok(QueueSettings {
            number: claim.number(),
            identity: claim.state().identity.clone(),
            values: values.collect(),
        })
    }

    /// Restores the settings that differ, and reports them. Does nothing if the disk is gone or is
    /// another one.
    pub(crate) fn restore(&self) -> io::Result<Vec<String>> {
        let Ok(entry) = Entry::of(self.number) else { return Ok(Vec::new()) };
        let identity =
            File::open(entry.node()).and_then(|device| Identity::of(&device, self.number));
        if identity.ok().as_ref() != Some(&self.identity) {
            return Ok(Vec::new());
        }
        let disk = entry.whole_disk()?;
        let mut restored = Vec::new();
        for (file, value) in &self.values {
            if disk.read(file).is_some_and(|now| selected(&now) != value) {
                disk.write(file, value)?;
                restored.push(format!("{file} of {} is {value} again", disk.node().display()));
            }
        }
        Ok(restored)
    }
}

/// The value to write in order to restore a setting: the scheduler in use out of a list, or else
/// the whole text.
fn selected(text: &str) -> &str {
    scheduler_in_use(text).unwrap_or(text)
}
