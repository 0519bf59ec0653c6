//! The relations of block devices as sysfs shows them: disks and partitions, holders and members,
//! sizes, serial numbers. Also writes the few files there that are ever written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use units::DeviceNumber;

/// Files that tell one drive from another, relative to the disk's directory.
const SERIAL_FILES: [&str; 9] = [
    "wwid",
    "serial",
    "uuid",
    "device/wwid",
    "device/serial",
    "device/vpd_pg83",
    "device/cid",
    "device/model",
    "dm/uuid",
];

/// A block device's directory in sysfs.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    directory: PathBuf,
    pub(crate) number: DeviceNumber,
}

impl Entry {
    /// The directory of the device with this number.
    pub(crate) fn of(number: DeviceNumber) -> io::Result<Entry> {
        let directory = std::fs::canonicalize(format!("/sys/dev/block/{number}"))?;
        Ok(Entry { directory, number })
    }

    /// The directory of the device with this kernel name.
    pub(crate) fn named(name: &str) -> io::Result<Entry> {
        Entry::at(&Path::new("/sys/class/block").join(name.replace('/', "!")))
    }

    pub(crate) fn at(directory: &Path) -> io::Result<Entry> {
        let number = std::fs::read_to_string(directory.join("dev"))?
            .parse()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(Entry { directory: std::fs::canonicalize(directory)?, number })
    }

    /// The kernel's name: `sdb1`, `loop0`.
    pub(crate) fn name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
    }

    /// The node the kernel gives it in `/dev`.
    pub(crate) fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name())
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.directory.join(file)).ok().map(|text| text.trim().to_owned())
    }

    pub(crate) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        std::fs::write(self.directory.join(file), value)
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }

    /// The disk a partition lies on; the device itself otherwise.
    pub(crate) fn whole_disk(&self) -> io::Result<Entry> {
        match (self.is_partition(), self.directory.parent()) {
            (true, Some(parent)) => Entry::at(parent),
            _ => Ok(self.clone()),
        }
    }

    /// The disk's partitions as the kernel knows them.
    pub(crate) fn partitions(&self) -> io::Result<Vec<Entry>> {
        let mut partitions = Vec::new();
        for child in std::fs::read_dir(&self.directory)? {
            let path = child?.path();
            if path.join("partition").exists() {
                partitions.push(Entry::at(&path)?);
            }
        }
        partitions.sort_by_key(|partition| partition.number);
        Ok(partitions)
    }

    /// Names of the devices built on this one: `md0`, `dm-3`, `bcache0`.
    pub(crate) fn holders(&self) -> io::Result<Vec<String>> {
        self.links("holders")
    }

    /// Names of the devices this one is built of.
    pub(crate) fn members(&self) -> io::Result<Vec<String>> {
        self.links("slaves")
    }

    fn links(&self, directory: &str) -> io::Result<Vec<String>> {
        let listing = match std::fs::read_dir(self.directory.join(directory)) {
            Ok(listing) => listing,
            // Partitions have no `slaves`.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for link in listing {
            names.push(link?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// The drive's serial numbers and the like, and where a partition starts.
    pub(crate) fn serials(&self) -> io::Result<BTreeMap<String, String>> {
        let disk = self.whole_disk()?;
        let mut serials = BTreeMap::new();
        for file in SERIAL_FILES {
            // vpd_pg83 is binary: shown as bytes, it still tells drives apart.
            if let Ok(bytes) = std::fs::read(disk.directory.join(file)) {
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                serials.insert(file.to_owned(), text);
            }
        }
        if self.is_partition() {
            for file in ["start", "partition"] {
                if let Some(text) = self.read(file) {
                    serials.insert(file.to_owned(), text);
                }
            }
        }
        Ok(serials)
    }

    /// The device, its disk and all partitions of that disk: overwriting one may affect the others.
    pub(crate) fn family(&self) -> io::Result<BTreeSet<DeviceNumber>> {
        let disk = self.whole_disk()?;
        let mut family = BTreeSet::from([self.number, disk.number]);
        family.extend(disk.partitions()?.iter().map(|partition| partition.number));
        Ok(family)
    }
}

/// Members of every btrfs filesystem that is mounted: its UUID and the device's number.
pub(crate) fn btrfs_members() -> io::Result<Vec<(String, DeviceNumber)>> {
    let mut members = Vec::new();
    let filesystems = match std::fs::read_dir("/sys/fs/btrfs") {
        Ok(filesystems) => filesystems,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(members),
        Err(error) => return Err(error),
    };
    for filesystem in filesystems {
        let filesystem = filesystem?;
        // `features` and filesystems that go away meanwhile have no devices.
        let Ok(devices) = std::fs::read_dir(filesystem.path().join("devices")) else { continue };
        for device in devices.flatten() {
            if let Ok(entry) = Entry::at(&device.path()) {
                let uuid = filesystem.file_name().to_string_lossy().into_owned();
                members.push((uuid, entry.number));
            }
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of md and dm as sysfs shows it: this machine may have neither.
    #[test]
    fn holders_members_partitions_and_serials() {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("nvme0n1");
        for directory in ["holders/md0", "slaves", "device", "nvme0n1p1/holders/dm-3"] {
            std::fs::create_dir_all(disk.join(directory)).unwrap();
        }
        for (file, text) in [
            ("dev", "259:0\n"),
            ("wwid", "eui.0025\n"),
            ("device/serial", "S4 \n"),
            ("nvme0n1p1/dev", "259:1\n"),
            ("nvme0n1p1/partition", "1\n"),
            ("nvme0n1p1/start", "2048\n"),
        ] {
            std::fs::write(disk.join(file), text).unwrap();
        }
        let disk = Entry::at(&disk).unwrap();
        assert_eq!(disk.node(), Path::new("/dev/nvme0n1"));
        assert_eq!(disk.holders().unwrap(), ["md0"]);
        assert_eq!(disk.members().unwrap(), [] as [&str; 0]);
        let [part] = disk.partitions().unwrap().try_into().unwrap();
        assert_eq!(part.holders().unwrap(), ["dm-3"]);
        assert_eq!(part.whole_disk().unwrap().number, disk.number);
        let family: Vec<_> = part.family().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(family, ["259:0", "259:1"]);
        assert_eq!(disk.serials().unwrap()["device/serial"], "S4");
        let serials = part.serials().unwrap();
        assert_eq!((&*serials["wwid"], &*serials["start"]), ("eui.0025", "2048"));
    }
}
