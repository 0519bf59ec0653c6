//! Which device one is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};
use units::{Bytes, DeviceNumber};

use crate::ioctl;
use crate::sysfs::Entry;

/// The properties that identify a device; its number alone does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The kernel's count of disks, never used twice until the next boot; `None` before
    /// Linux 5.15.
    pub disk_sequence: Option<u64>,
    /// Size.
    pub size: Bytes,
    /// Serial numbers and the like, and the start of a partition, by file in sysfs.
    pub serials: BTreeMap<String, String>,
    /// Device and inode number of a loop device's file.
    pub loop_file: Option<(u64, u64)>,
}

impl Identity {
    /// That of an open device.
    pub(crate) fn of(device: &File, number: DeviceNumber) -> io::Result<Identity> {
        Ok(Identity {
            disk_sequence: ioctl::disk_sequence(device).ok(),
            size: Bytes(ioctl::size_bytes(device)?),
            serials: Entry::of(number)?.serials()?,
            loop_file: ioctl::loop_status(device).ok().map(|status| (status.device, status.inode)),
        })
    }

    /// How this one differs from what it is `now`, in words; `None` if it does not.
    pub(crate) fn difference(&self, now: &Identity) -> Option<String> {
        if self.disk_sequence != now.disk_sequence {
            return Some("its disk sequence number changed, so another disk is attached".into());
        }
        if self.size != now.size {
            return Some(format!("it had {} and has {}", self.size, now.size));
        }
        if self.serials != now.serials {
            return Some("its serial number or place changed".into());
        }
        (self.loop_file != now.loop_file).then(|| "another file is attached".into())
    }
}
