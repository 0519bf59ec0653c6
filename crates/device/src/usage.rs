//! Who uses a block device: mounts in every namespace that can be read, swap, md, dm, LVM,
//! btrfs, loop devices and writers. Nothing found here is ever overridden by `--destroy`.
//!
//! The exclusive open that follows (see [`crate::Claim`]) asks the kernel the same question, but it
//! is not enough: "busy" is no explanation; an exclusive open of a disk's idle partition succeeds
//! while another partition is mounted; and loop devices and plain writers do not hold their devices
//! exclusively.

mod loops;
mod swaps;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use files::{Mount, parse_mountinfo};
use units::DeviceNumber;

use self::loops::looped;
pub(crate) use self::loops::{Loop, attached_loops};
use self::swaps::parse_swaps;
use crate::sysfs::{self, Entry};

/// A use that forbids writing to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// Mounted, in this or another mount namespace.
    Mounted {
        /// The mounted device.
        node: PathBuf,
        /// Where.
        point: PathBuf,
        /// A process in the other namespace, if it is not this one.
        namespace_of: Option<u32>,
    },
    /// Active swap.
    Swap {
        /// The swap area's device.
        node: PathBuf,
    },
    /// Member of an md, dm (LVM, LUKS, multipath) or bcache device.
    Member {
        /// The member.
        node: PathBuf,
        /// The devices built on it.
        holders: Vec<String>,
    },
    /// Itself built of other devices.
    BuiltOf {
        /// The device.
        node: PathBuf,
        /// What it is built of.
        members: Vec<String>,
    },
    /// Member of a mounted btrfs filesystem.
    Btrfs {
        /// The member.
        node: PathBuf,
        /// The filesystem's UUID.
        uuid: String,
    },
    /// A loop device is attached to it.
    LoopBacking {
        /// The device below.
        node: PathBuf,
        /// The loop device above.
        above: PathBuf,
    },
    /// The file of this loop device is attached to another loop device as well.
    SharedFile {
        /// This loop device.
        node: PathBuf,
        /// The other one.
        other: PathBuf,
    },
    /// A process has it open for writing.
    Writer {
        /// The device.
        node: PathBuf,
        /// The process.
        pid: u32,
        /// The process's name.
        name: String,
    },
}

impl Use {
    /// What its owner could do to free the device.
    pub fn next(&self) -> String {
        match self {
            Use::Mounted { point, namespace_of: None, .. } => {
                format!("unmount it (umount {}) or name another device", point.display())
            }
            Use::Mounted { namespace_of: Some(pid), .. } => {
                format!("end process {pid} or unmount it there, or name another device")
            }
            Use::Swap { node } => format!("swapoff {} or name another device", node.display()),
            Use::Member { holders, .. } => {
                format!("take it out of {} or name another device", holders.join(", "))
            }
            Use::BuiltOf { members, .. } => format!(
                "fstrial builds its arrays itself: name disks such as {}, or another device",
                members.join(", ")
            ),
            Use::Btrfs { .. } => "unmount that filesystem or name another device".to_owned(),
            Use::LoopBacking { above, .. } => {
                format!("losetup -d {} or name another device", above.display())
            }
            Use::SharedFile { other, .. } => {
                format!("losetup -d {} or name another device", other.display())
            }
            Use::Writer { pid, .. } => format!("end process {pid} or name another device"),
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Use::Mounted { node, point, namespace_of } => {
                write!(f, "{} is mounted on {}", node.display(), point.display())?;
                match namespace_of {
                    Some(pid) => write!(f, " in the mount namespace of process {pid}"),
                    None => Ok(()),
                }
            }
            Use::Swap { node } => write!(f, "{} is in use as swap", node.display()),
            Use::Member { node, holders } => {
                write!(f, "{} is part of {}", node.display(), holders.join(", "))
            }
            Use::BuiltOf { node, members } => {
                write!(f, "{} is itself built of {}", node.display(), members.join(", "))
            }
            Use::Btrfs { node, uuid } => {
                write!(f, "{} is part of the mounted btrfs {uuid}", node.display())
            }
            Use::LoopBacking { node, above } => {
                write!(f, "{} stands on {}", above.display(), node.display())
            }
            Use::SharedFile { node, other } => {
                write!(f, "the file of {} is also attached to {}", node.display(), other.display())
            }
            Use::Writer { node, pid, name } => {
                write!(f, "process {pid} ({name}) has {} open for writing", node.display())
            }
        }
    }
}

/// A table that has to be read and could not be.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}")]
pub(crate) struct Unreadable {
    pub(crate) what: String,
    #[source]
    pub(crate) source: io::Error,
}

fn must<T>(what: impl Into<String>, result: io::Result<T>) -> Result<T, Unreadable> {
    result.map_err(|source| Unreadable { what: what.into(), source })
}

/// Looks for a use of the device, of its disk, of that disk's partitions, and of the devices below.
/// `own` are processes whose open descriptors are fstrial's.
///
/// # Errors
/// When sysfs or /proc cannot be read: the use is unknown then, and the device must not be touched.
pub(crate) fn find(number: DeviceNumber, own: &[u32]) -> Result<Option<Use>, Unreadable> {
    let entry = must(format!("sysfs of device {number}"), Entry::of(number))?;
    let members = must(format!("the members of {}", entry.name()), entry.members())?;
    if !members.is_empty() {
        return Ok(Some(Use::BuiltOf { node: entry.node(), members }));
    }
    let loops = attached_loops()?;
    let family = below(&entry, &loops)?;
    let nodes: BTreeMap<DeviceNumber, PathBuf> = family
        .iter()
        .map(|number| Ok((*number, Entry::of(*number)?.node())))
        .collect::<io::Result<_>>()
        .or_else(|error| must("sysfs", Err(error)))?;

    // Mounts in our own namespace first, since their message is the most helpful one.
    if let Some(found) = mounted(&nodes)? {
        return Ok(Some(found));
    }
    let swaps = must("/proc/swaps", std::fs::read("/proc/swaps"))?;
    for path in parse_swaps(&swaps) {
        if let Some(node) = block_number(&path).and_then(|number| nodes.get(&number)) {
            return Ok(Some(Use::Swap { node: node.clone() }));
        }
    }
    for (uuid, number) in must("/sys/fs/btrfs", sysfs::btrfs_members())? {
        if let Some(node) = nodes.get(&number) {
            return Ok(Some(Use::Btrfs { node: node.clone(), uuid }));
        }
    }
    for (number, node) in &nodes {
        let holders = Entry::of(*number).and_then(|entry| entry.holders());
        let holders = must(format!("the holders of {}", node.display()), holders)?;
        if !holders.is_empty() {
            return Ok(Some(Use::Member { node: node.clone(), holders }));
        }
    }
    if let Some(found) = looped(&entry, &nodes, &loops) {
        return Ok(Some(found));
    }
    writer(&nodes, own)
}

/// The family of the device and, if it is a loop device over a block device, the family of that
/// device.
fn below(entry: &Entry, loops: &[Loop]) -> Result<BTreeSet<DeviceNumber>, Unreadable> {
    let mut family = BTreeSet::new();
    let mut open = vec![entry.clone()];
    while let Some(entry) = open.pop() {
        let relatives = must(format!("the partitions of {}", entry.name()), entry.family())?;
        for relative in relatives {
            if !family.insert(relative) {
                continue;
            }
            let backing =
                loops.iter().find(|other| other.number == relative).and_then(|other| other.over);
            if let Some(backing) = backing {
                open.push(must(format!("sysfs of device {backing}"), Entry::of(backing))?);
            }
        }
    }
    Ok(family)
}

fn mounted(nodes: &BTreeMap<DeviceNumber, PathBuf>) -> Result<Option<Use>, Unreadable> {
    let of_family = |mount: &Mount| {
        nodes.get(&mount.number).cloned().or_else(|| {
            // btrfs and FUSE have anonymous numbers; their source names the device.
            mount.source.starts_with("/dev").then_some(())?;
            nodes.get(&block_number(&mount.source)?).cloned()
        })
    };
    for mount in must("mountinfo", Mount::all())? {
        if let Some(node) = of_family(&mount) {
            return Ok(Some(Use::Mounted { node, point: mount.point, namespace_of: None }));
        }
    }
    let mut seen = BTreeSet::new();
    seen.extend(std::fs::read_link("/proc/thread-self/ns/mnt").ok());
    for pid in processes()? {
        // Processes may end meanwhile, and an ordinary user may not read those of others. The
        // exclusive open still finds the mounts that cannot be read here.
        let Ok(namespace) = std::fs::read_link(format!("/proc/{pid}/ns/mnt")) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        let Ok(table) = std::fs::read(format!("/proc/{pid}/mountinfo")) else { continue };
        for mount in parse_mountinfo(&table) {
            if let Some(node) = of_family(&mount) {
                let point = mount.point;
                return Ok(Some(Use::Mounted { node, point, namespace_of: Some(pid) }));
            }
        }
    }
    Ok(None)
}

/// Looks for a foreign descriptor that can write. Readers are ignored: udev and blkid read devices
/// at any time and write nothing.
fn writer(nodes: &BTreeMap<DeviceNumber, PathBuf>, own: &[u32]) -> Result<Option<Use>, Unreadable> {
    for pid in processes()? {
        if pid == std::process::id() || own.contains(&pid) {
            continue;
        }
        let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for descriptor in descriptors.flatten() {
            // The link's text is checked before the file itself is queried, so that this never
            // waits for a dead network filesystem.
            let path = descriptor.path();
            let in_dev = std::fs::read_link(&path)
                .is_ok_and(|target| target.to_string_lossy().contains("/dev/"));
            if !in_dev {
                continue;
            }
            let Some(node) = block_number(&path).and_then(|number| nodes.get(&number)) else {
                continue;
            };
            let information =
                format!("/proc/{pid}/fdinfo/{}", descriptor.file_name().to_string_lossy());
            let Ok(information) = std::fs::read_to_string(information) else { continue };
            if can_write(&information) {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
                return Ok(Some(Use::Writer {
                    node: node.clone(),
                    pid,
                    name: name.unwrap_or_default().trim().to_owned(),
                }));
            }
        }
    }
    Ok(None)
}

/// Whether the flags in fdinfo allow writing. Flags that cannot be read count as writing.
fn can_write(information: &str) -> bool {
    let flags = information
        .lines()
        .find_map(|line| line.strip_prefix("flags:"))
        .and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn processes() -> Result<Vec<u32>, Unreadable> {
    let listing = must("/proc", std::fs::read_dir("/proc"))?;
    Ok(listing
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
        .collect())
}

/// The number of the block device at a path; `None` for anything else.
pub(crate) fn block_number(path: &Path) -> Option<DeviceNumber> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| DeviceNumber::from_raw(metadata.rdev()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descriptors_that_can_write_count() {
        assert!(can_write("pos:\t0\nflags:\t0100002\n"));
        assert!(can_write("pos:\t0\nflags:\t02001\n"));
        assert!(!can_write("pos:\t0\nflags:\t0100000\n"));
        assert!(can_write("unknown"), "what cannot be read counts as a writer");
    }

    #[test]
    fn every_use_names_the_device_and_a_way_out() {
        let node = PathBuf::from("/dev/sdb1");
        let mounted =
            Use::Mounted { node: node.clone(), point: "/home".into(), namespace_of: None };
        assert_eq!(mounted.to_string(), "/dev/sdb1 is mounted on /home");
        assert!(mounted.next().contains("umount /home"));
        let swap = Use::Swap { node };
        assert!(swap.next().contains("swapoff /dev/sdb1"));
    }
}
