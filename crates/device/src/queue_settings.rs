//! How a disk's queue is set, as data.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};
use stack::filesystems::scheduler_in_use;

use crate::sysfs::Entry;
use crate::{Claim, DeviceNumber, Identity, claim};

/// The settings, and the files below a disk's directory in sysfs in which they are.
const FILES: [&str; 2] = ["queue/scheduler", "queue/read_ahead_kb"];

/// What is kept of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueSettings {
    number: DeviceNumber,
    /// Whose settings they are: a number alone may be another disk's by now.
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

    /// Puts back what differs, and says what that was. Nothing where the disk is gone or is
    /// another one.
    pub(crate) fn restore(&self) -> io::Result<Vec<String>> {
        let Ok(entry) = Entry::of(self.number) else { return Ok(Vec::new()) };
        let identity =
            File::open(entry.node()).and_then(|device| claim::identity(&device, self.number));
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

/// What to write to have it so again: of a list of schedulers the one in use, or all of it.
fn selected(text: &str) -> &str {
    scheduler_in_use(text).unwrap_or(text)
}
