//! Stops md arrays and device-mapper volumes that a killed process left behind. They are found
//! bottom-up, as holders of fstrial's devices, and stopped top-down.
//!
//! A device is stopped only if it is fstrial's own: all its members are, and its name has the
//! prefix that all layouts use. Nothing is written to any disk.

use std::collections::BTreeSet;

use units::DeviceNumber;

use crate::ioctl;
use crate::sysfs::Entry;

/// The prefix of all names of fstrial's arrays and volumes.
const PREFIX: &str = "fstrial_";

/// What stops a device; tests have one of their own.
pub(crate) trait Stopper {
    /// Stops an array or volume that nobody holds.
    fn stop(&self, entry: &Entry) -> Result<(), String>;

    /// The device of this kernel name.
    fn entry(&self, name: &str) -> Result<Entry, String>;

    /// The name it was made with: from sysfs for a volume, from the link in `/dev/md` for an array.
    fn made_as(&self, entry: &Entry) -> Option<String>;
}

/// The kernel's own interfaces.
pub(crate) struct Kernel;

impl Stopper for Kernel {
    fn stop(&self, entry: &Entry) -> Result<(), String> {
        let made_as = self.made_as(entry).filter(|name| !name.contains('/'));
        let stopped = match entry.read("dm/name") {
            Some(name) => ioctl::remove_volume(&name),
            // As `mdadm --stop` does; refused while it is mounted or open.
            None => entry.write("md/array_state", "clear"),
        };
        stopped.map_err(|error| format!("{}: {error}", entry.node().display()))?;
        // Removes the links, which udev does on machines that run it.
        for place in ["/dev/md", "/dev/mapper"] {
            if let Some(name) = &made_as {
                let _ = std::fs::remove_file(std::path::Path::new(place).join(name));
            }
        }
        Ok(())
    }

    fn entry(&self, name: &str) -> Result<Entry, String> {
        Entry::named(name).map_err(|error| format!("{name}: {error}"))
    }

    fn made_as(&self, entry: &Entry) -> Option<String> {
        if let Some(name) = entry.read("dm/name") {
            return Some(name);
        }
        let node = entry.node();
        let links = std::fs::read_dir("/dev/md").ok()?.flatten();
        let links =
            links.filter(|link| std::fs::canonicalize(link.path()).ok() == Some(node.clone()));
        let mut names = links.map(|link| link.file_name().to_string_lossy().into_owned());
        names.find(|name| name.starts_with(PREFIX))
    }
}

/// Stops everything that is built on these devices; returns what was stopped, in order.
///
/// # Errors
/// At the first device that is not fstrial's, or that is in use. Devices above it are stopped by
/// then.
pub(crate) fn take_down(
    devices: &[Entry],
    stopper: &dyn Stopper,
    unmount: &mut dyn FnMut(&Entry) -> Result<(), String>,
) -> Result<Vec<String>, String> {
    let mut ours: BTreeSet<DeviceNumber> = devices.iter().map(|device| device.number).collect();
    // Bottom-up: a device whose members are all ours is ours if its name has the prefix.
    let mut found: Vec<Entry> = Vec::new();
    let mut next: Vec<Entry> = devices.to_vec();
    while let Some(device) = next.pop() {
        let holders = device.holders().map_err(|error| error.to_string())?;
        for name in holders {
            let holder = stopper.entry(&name)?;
            if ours.contains(&holder.number) {
                continue;
            }
            let members = holder.members().map_err(|error| error.to_string())?;
            let all_ours = members.iter().all(|member| {
                stopper.entry(member).is_ok_and(|member| ours.contains(&member.number))
            });
            if !all_ours {
                // Not all its members are known yet: it is checked again with the last of them.
                continue;
            }
            let made_as = stopper.made_as(&holder).filter(|made_as| made_as.starts_with(PREFIX));
            if made_as.is_none() {
                return Err(format!("{} is held by {name}, which is not ours", device.name()));
            }
            ours.insert(holder.number);
            next.push(holder.clone());
            found.push(holder);
        }
    }
    let mut stopped = Vec::new();
    for device in found.iter().rev() {
        unmount(device)?;
        let name = stopper.made_as(device).unwrap_or_else(|| device.name());
        stopper.stop(device)?;
        stopped.push(name);
    }
    Ok(stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A tree of devices as sysfs shows it; a stopped one lets go of those below.
    struct Tree {
        root: tempfile::TempDir,
        stopped: RefCell<Vec<String>>,
    }

    impl Tree {
        /// Name, number, name it was made with, and what it is built of.
        fn of(devices: &[(&str, &str, &str, &[&str])]) -> Tree {
            let root = tempfile::tempdir().unwrap();
            for (name, number, made_as, members) in devices {
                let directory = root.path().join(name);
                for part in ["holders", "slaves"] {
                    std::fs::create_dir_all(directory.join(part)).unwrap();
                }
                std::fs::write(directory.join("dev"), format!("{number}\n")).unwrap();
                std::fs::write(directory.join("made_as"), made_as).unwrap();
                for member in *members {
                    std::fs::write(directory.join("slaves").join(member), "").unwrap();
                    let holders = root.path().join(member).join("holders");
                    std::fs::write(holders.join(name), "").unwrap();
                }
            }
            Tree { root, stopped: RefCell::default() }
        }

        fn take_down(&self, devices: &[&str]) -> Result<Vec<String>, String> {
            let devices: Vec<_> = devices.iter().map(|name| self.entry(name).unwrap()).collect();
            take_down(&devices, self, &mut |_| Ok(()))
        }
    }

    impl Stopper for Tree {
        fn stop(&self, entry: &Entry) -> Result<(), String> {
            if entry.holders().unwrap().is_empty() {
                for member in entry.members().unwrap() {
                    let holders = self.root.path().join(member).join("holders");
                    std::fs::remove_file(holders.join(entry.name())).unwrap();
                }
                self.stopped.borrow_mut().push(entry.name());
                return Ok(());
            }
            Err(format!("{}: Device or resource busy", entry.name()))
        }

        fn entry(&self, name: &str) -> Result<Entry, String> {
            Entry::at(&self.root.path().join(name)).map_err(|error| format!("{name}: {error}"))
        }

        fn made_as(&self, entry: &Entry) -> Option<String> {
            entry.read("made_as")
        }
    }

    #[test]
    fn an_array_and_what_is_on_it_goes_from_above() {
        let tree = Tree::of(&[
            ("loop64", "7:64", "", &[]),
            ("loop65", "7:65", "", &[]),
            ("md127", "9:127", "fstrial_0a1b2c3d", &["loop64", "loop65"]),
            ("dm-0", "253:0", "fstrial_0a1b2c3d", &["md127"]),
        ]);
        assert_eq!(tree.take_down(&["loop64", "loop65"]).unwrap().len(), 2);
        assert_eq!(*tree.stopped.borrow(), ["dm-0", "md127"]);
    }

    #[test]
    fn the_volumes_of_a_thin_pool_go_before_what_they_lie_on() {
        let tree = Tree::of(&[
            ("loop64", "7:64", "", &[]),
            ("dm-0", "253:0", "fstrial_0a-pool_tmeta", &["loop64"]),
            ("dm-1", "253:1", "fstrial_0a-pool_tdata", &["loop64"]),
            ("dm-2", "253:2", "fstrial_0a-pool-tpool", &["dm-0", "dm-1"]),
            ("dm-3", "253:3", "fstrial_0a-data", &["dm-2"]),
        ]);
        assert_eq!(tree.take_down(&["loop64"]).unwrap().len(), 4);
        assert_eq!(tree.stopped.borrow()[..2], ["dm-3", "dm-2"]);
    }

    #[test]
    fn what_is_anothers_in_whole_or_in_part_is_left() {
        let tree = Tree::of(&[
            ("loop64", "7:64", "", &[]),
            ("sda", "8:0", "", &[]),
            ("md127", "9:127", "fstrial_0a1b2c3d", &["loop64", "sda"]),
        ]);
        assert_eq!(tree.take_down(&["loop64"]).unwrap(), [""; 0]);
        let tree =
            Tree::of(&[("loop64", "7:64", "", &[]), ("md127", "9:127", "home", &["loop64"])]);
        let error = tree.take_down(&["loop64"]).unwrap_err();
        assert!(error.contains("md127, which is not ours"), "{error}");
        assert!(tree.stopped.borrow().is_empty());
    }
}
