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

    /// Whether the machine is there for this trial alone, and waiting takes none of anybody's time.
    pub(super) fn is_simulated(&self) -> bool {
        self.kind == DeviceKind::Simulated
    }

    /// In words for a table.
    pub(super) fn words(&self, layout: &stack::LayoutChoice) -> String {
        let kind = self.kind.words();
        if *layout == stack::LayoutChoice::default() {
            return kind.to_owned();
        }
        match self.disks.len() {
            1 if self.is_simulated() && layout.is_hardware() => {
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

#[cfg(test)]
mod tests {
    use stack::LayoutChoice;

    use super::*;

    fn layout() -> stack::layouts::Plan {
        stack::layouts::Plan {
            assemble: Vec::new(),
            data: PathBuf::from("/dev/data"),
            members: vec![PathBuf::from("/dev/member")],
            journal: Some(PathBuf::from("/dev/journal")),
            dismantle: Vec::new(),
            inspect: Vec::new(),
            set_off: Vec::new(),
            observe: Vec::new(),
        }
    }

    fn place<'a>(
        kind: DeviceKind,
        layout: Option<&'a stack::layouts::Plan>,
        disks: &'a [PathBuf],
    ) -> Place<'a> {
        Place { kind, mount_point: Path::new("/mnt"), layout, disks, queue: Queue::default() }
    }

    fn choice(text: &str) -> LayoutChoice {
        LayoutChoice::parse(text).unwrap()
    }

    #[test]
    fn room_is_that_of_all_disks_with_data_and_of_those_behind_a_controller() {
        let files = [4000, 999].map(|length| {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(length).unwrap();
            file
        });
        let disks = files.each_ref().map(|file| file.path().to_owned());
        let layout = layout();
        let raw = |text: &str, disks| {
            place(DeviceKind::Simulated, Some(&layout), disks).raw(&choice(text))
        };
        assert_eq!(raw("single", &disks[..1]), Some(Bytes(4000)));
        assert_eq!(raw("single+journal", &disks), Some(Bytes(4000)));
        assert_eq!(raw("btrfs-raid1", &disks), Some(Bytes(4999)));
        // Four of five disks hold files, 1000 bytes each.
        assert_eq!(raw("hw-raid5x5", &disks[..1]), Some(Bytes(5000)));
        assert_eq!(raw("hw-raid5x5+journal", &disks), Some(Bytes(5000)));
        let memory = place(DeviceKind::Simulated, None, &disks);
        assert_eq!(memory.raw(&choice("single")), None);
    }

    #[test]
    fn a_layout_is_named_with_the_number_and_the_kind_of_its_disks() {
        use DeviceKind::{Block, LoopFile, Simulated};
        let disks = ["/dev/a", "/dev/b"].map(PathBuf::from);
        for (kind, text, count, words) in [
            (Simulated, "single", 1, "simulated disk"),
            (LoopFile, "single", 1, "loop file, direct I/O, fully allocated"),
            (Simulated, "hw-raid5x5", 1, "layout hw-raid5x5: one simulated controller"),
            (Block, "hw-raid5x5", 1, "layout hw-raid5x5: block device"),
            (Simulated, "crypt", 1, "layout crypt: simulated disk"),
            (Block, "raid1", 2, "layout raid1: 2 × block device"),
        ] {
            let layout = layout();
            let place = place(kind, Some(&layout), &disks[..count]);
            assert_eq!(place.words(&choice(text)), words);
            assert_eq!(place.is_simulated(), kind == Simulated);
        }
    }

    #[test]
    fn every_device_of_a_layout_may_have_pages() {
        let disks = ["/dev/a", "/dev/b"].map(PathBuf::from);
        let layout = layout();
        let buffered = place(DeviceKind::Block, Some(&layout), &disks).buffered();
        let expected = ["/dev/data", "/dev/member", "/dev/journal", "/dev/a", "/dev/b"];
        assert_eq!(buffered, expected.map(PathBuf::from));
        assert!(place(DeviceKind::Block, None, &disks).buffered().is_empty());
    }
}
