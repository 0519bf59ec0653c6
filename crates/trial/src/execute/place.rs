//! The place that a filesystem is made on, and the filesystem there.

use std::path::{Path, PathBuf};

use stack::filesystems::{Plan, Queue};
use stack::layouts::Role;
use units::Bytes;

use super::machine;
use super::queue::Reading;
use crate::DeviceKind;

/// What a filesystem is made on.
pub(super) struct Place<'a> {
    pub(super) kind: DeviceKind,
    pub(super) mount_point: &'a Path,
    /// `None` for a filesystem that needs no device.
    pub(super) layout: Option<&'a stack::layouts::Plan>,
    /// The disks of the layout: their counters belong to the trial.
    pub(super) disks: &'a [PathBuf],
    /// The queue settings requested for them.
    pub(super) queue: Queue,
}

/// A filesystem on its place, made and to be mounted.
pub(super) struct Stand<'a> {
    pub(super) filesystem: &'a dyn stack::Filesystem,
    pub(super) place: &'a Place<'a>,
    pub(super) plan: &'a Plan,
    pub(super) reading: Reading,
}

impl Place<'_> {
    /// Room of all disks that hold data; those behind a controller counted with it.
    pub(super) fn raw(&self, choice: &stack::LayoutChoice) -> Option<Bytes> {
        let layout = choice.layout().ok().filter(|_| self.layout.is_some())?;
        let (roles, share) = (layout.disks(choice).ok()?, layout.share(choice).ok()?);
        let mut raw = Bytes::ZERO;
        for (role, disk) in roles.iter().zip(self.disks) {
            raw += match role {
                Role::Journal => Bytes::ZERO,
                Role::Data => machine::device_size(disk).ok()?,
                Role::Controller(_) => {
                    Bytes(machine::device_size(disk).ok()?.0 / share.usable * share.of)
                }
            };
        }
        Some(raw)
    }

    /// In words for a table.
    pub(super) fn words(&self, layout: &stack::LayoutChoice) -> String {
        let kind = self.kind.words();
        if *layout == stack::LayoutChoice::default() {
            return kind.to_owned();
        }
        let simulated = self.kind == DeviceKind::Simulated;
        match self.disks.len() {
            1 if simulated && layout.name.starts_with("hw-") => {
                format!("layout {layout}: one simulated controller")
            }
            1 => format!("layout {layout}: {kind}"),
            count => format!("layout {layout}: {count} × {kind}"),
        }
    }

    /// Every device that may have pages of the filesystem in its own page cache.
    pub(super) fn buffered(&self) -> Vec<PathBuf> {
        let Some(layout) = self.layout else { return Vec::new() };
        let mut devices = vec![layout.data.clone()];
        devices.extend(layout.members.iter().cloned());
        devices.extend(layout.journal.iter().cloned());
        devices.extend(self.disks.iter().cloned());
        devices
    }
}
