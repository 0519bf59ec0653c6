//! How much of the host's memory guests may use, how much a trial's guest will need, and where the
//! contents of its disks are kept: in memory, or in a file if they do not fit into memory.

use std::io;
use std::path::Path;

use guest::region::{REGION_BYTES, Region, STORE_AT};
use stack::Refusal;
use stack::layouts::{Role, Share};
use trial::TrialSpec;
use units::Bytes;
use workload::InputFacts;

use crate::disks::Disk;
use crate::machine::{Machine, QEMU_OVERHEAD};

/// Memory left to everything else on the host.
const RESERVE: Bytes = Bytes::from_mib(512);
/// The most that a guest's disks can hold together.
const STORE_MAX: Bytes = Bytes(REGION_BYTES - STORE_AT);
/// Room on the cache directory's filesystem left to everything else.
const DISK_RESERVE: Bytes = Bytes::from_gib(2);
/// What a filesystem writes in addition to files: journal, bitmaps, inode tables.
const OVERHEAD: Bytes = Bytes::from_mib(192);
/// What one inode takes in addition to its contents.
const PER_INODE: u64 = 4096 + 512;

/// Where the contents of a guest's disks are kept. A trial's figures do not depend on it, since its
/// time is virtual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backing {
    /// In memory of the host.
    #[default]
    Memory,
    /// In an unnamed file in the cache directory, which disappears with its guest.
    File,
}

impl Backing {
    /// Makes an empty region there; a file is made in `directory`.
    ///
    /// # Errors
    /// When the kernel has no memory files, or the file cannot be made.
    pub(crate) fn region(self, directory: &Path) -> io::Result<Region> {
        match self {
            Backing::Memory => Region::in_memory(REGION_BYTES),
            Backing::File => {
                let file = tempfile::tempfile_in(directory)?;
                file.set_len(REGION_BYTES)?;
                Ok(Region::new(file, 0, REGION_BYTES))
            }
        }
    }
}

/// What all guests together may use of the host now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// Memory available on the host and to this process's control group, minus a reserve.
    pub(crate) memory: Bytes,
    /// Free space on the cache directory's filesystem, minus a reserve.
    pub(crate) disk: Bytes,
}

impl Room {
    /// Measures it now; `cache` is the lab's cache directory.
    pub(crate) fn now(cache: &Path) -> Room {
        let memory = measure::memory_left().unwrap_or(Bytes::ZERO);
        Room { memory: Bytes(memory.0.saturating_sub(RESERVE.0)), disk: disk_room(cache) }
    }
}

/// How large a file in this directory may become; 0 on a filesystem that is kept in memory.
fn disk_room(directory: &Path) -> Bytes {
    let Ok(found) = rustix::fs::statfs(directory) else { return Bytes::ZERO };
    if found.f_type == libc::TMPFS_MAGIC {
        return Bytes::ZERO;
    }
    let free = found.f_bavail.saturating_mul(u64::try_from(found.f_bsize).unwrap_or(0));
    Bytes(free.saturating_sub(DISK_RESERVE.0))
}

/// What a guest will need at its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peak {
    /// RAM of the machine and the emulator's own memory.
    pub(crate) machine: Bytes,
    /// Contents of its disks.
    pub(crate) store: Bytes,
}

impl Peak {
    /// Predicts it. Together, the data disks hold what the workloads write: doubled, for what a
    /// copy-on-write filesystem keeps, times the number of copies that the layout stores, plus the
    /// filesystem's own data. A journal disk holds no more than was written. No disk holds more
    /// than its size.
    pub(crate) fn of(
        machine: &Machine,
        input_bytes: u64,
        spec: &TrialSpec,
        inputs: &InputFacts,
        disks: &[Disk],
    ) -> Peak {
        let written: u64 = spec
            .workloads
            .iter()
            .filter_map(|choice| {
                let space = workload::find(&choice.name)?.space(&choice.parameters, inputs);
                Some(space.bytes.0.saturating_add(space.inodes.saturating_mul(PER_INODE)))
            })
            .sum();
        let kept = written.saturating_mul(2).saturating_add(OVERHEAD.0);
        let capacity = |of: &dyn Fn(&Role) -> bool| -> u64 {
            disks.iter().filter(|disk| of(&disk.role)).map(|disk| disk.order.capacity.0).sum()
        };
        let share = || {
            let layout = spec.contender.layout.layout().ok()?;
            layout.share(&spec.contender.layout).ok()
        };
        let held = |capacity: u64, stored: u64| capacity.min(stored.saturating_add(capacity / 64));
        let share = share().unwrap_or(Share { usable: 1, of: 1 });
        let data = capacity(&|role| matches!(role, Role::Data));
        let data = held(data, kept.saturating_mul(share.of) / share.usable);
        // Behind a controller everything is stored once: its disks are simulated as one device.
        let behind = capacity(&|role| matches!(role, Role::Controller(_)));
        let journal = capacity(&|role| matches!(role, Role::Journal));
        let store = data + held(behind, kept) + held(journal, kept);
        // Inputs are in the shared region, in addition to their copy in RAM.
        let machine = Bytes(machine.ram.0 + QEMU_OVERHEAD.0 + input_bytes);
        Peak { machine, store: Bytes(store) }
    }

    pub(crate) fn total(self) -> Bytes {
        self.machine + self.store
    }

    /// Where the contents of its disks fit, memory first; `None` if nowhere.
    pub(crate) fn backing(self, room: Room) -> Option<Backing> {
        if self.store > STORE_MAX {
            return None;
        }
        if self.total() <= room.memory {
            return Some(Backing::Memory);
        }
        (self.machine <= room.memory && self.store <= room.disk).then_some(Backing::File)
    }

    /// How many such guests fit at the same time.
    pub(crate) fn guests(self, room: Room) -> u64 {
        match self.backing(room) {
            None => 0,
            Some(Backing::Memory) => room.memory.0 / self.total().0.max(1),
            Some(Backing::File) => {
                (room.memory.0 / self.machine.0.max(1)).min(room.disk.0 / self.store.0.max(1))
            }
        }
    }

    /// How much the disks may hold before the host runs short: the prediction plus half of what is
    /// left.
    pub(crate) fn store_limit(self, room: Room) -> Bytes {
        let left = match self.backing(room) {
            Some(Backing::File) => room.disk.0.saturating_sub(self.store.0),
            _ => room.memory.0.saturating_sub(self.total().0),
        };
        self.store + Bytes(left / 2)
    }

    /// Refuses what does not fit, with the figures.
    pub(crate) fn admit(self, contender: &str, room: Room) -> Option<Refusal> {
        if self.backing(room).is_some() {
            return None;
        }
        if self.store > STORE_MAX {
            let rule = format!(
                "its disks will hold {}, but the lab keeps at most {STORE_MAX} for a guest",
                self.store
            );
            return Some(Refusal::new(contender, rule).with_next("use a smaller --scale"));
        }
        if self.machine > room.memory {
            let rule =
                format!("its guest needs {} of memory, but {} are free", self.machine, room.memory);
            let next =
                "choose a machine profile with less memory, or give it less (--set ram=SIZE)";
            return Some(Refusal::new(contender, rule).with_next(next));
        }
        let rule = format!(
            "its guest may need {} of memory ({} for the machine, {} for what its disks will \
             hold), but {} are free; in the cache directory, where the disks' contents could go \
             instead, {} are free",
            self.total(),
            self.machine,
            self.store,
            room.memory,
            room.disk,
        );
        let next = "use a smaller --scale, or a machine profile with less memory, or set \
                    XDG_CACHE_HOME to a filesystem with more room";
        Some(Refusal::new(contender, rule).with_next(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_on_the_host() {
        let room = Room::now(Path::new("/"));
        assert!(room.memory > Bytes::ZERO && room.disk > Bytes::ZERO);
    }

    #[test]
    fn what_memory_cannot_hold_goes_to_a_file_where_there_is_room() {
        let peak = Peak { machine: Bytes::from_gib(1), store: Bytes::from_gib(3) };
        let room =
            |memory, disk| Room { memory: Bytes::from_gib(memory), disk: Bytes::from_gib(disk) };
        for (memory, disk, backing, guests, limit) in [
            (4, 0, Some(Backing::Memory), 1, 3),
            (9, 3, Some(Backing::Memory), 2, 5),
            (3, 3, Some(Backing::File), 1, 3),
            (3, 9, Some(Backing::File), 3, 6),
            (2, 90, Some(Backing::File), 2, 46),
            (3, 2, None, 0, 3),
            (0, 90, None, 0, 3),
        ] {
            let room = room(memory, disk);
            assert_eq!(peak.backing(room), backing, "{room:?}");
            assert_eq!(peak.guests(room), guests, "{room:?}");
            assert_eq!(peak.admit("ext4", room).is_none(), backing.is_some(), "{room:?}");
            let floor = Bytes::from_mib(limit * 1024);
            assert!(peak.store_limit(room) >= floor, "{room:?}: {}", peak.store_limit(room));
            assert!(peak.store_limit(room).0 < floor.0 + (1 << 30), "{room:?}");
        }
    }

    #[test]
    fn a_cache_in_memory_is_no_room_beside_memory() {
        assert_eq!(disk_room(Path::new("/dev/shm")), Bytes::ZERO);
        assert_eq!(disk_room(Path::new("/no/such")), Bytes::ZERO);
    }

    #[test]
    fn a_file_of_contents_has_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let region = Backing::File.region(directory.path()).unwrap();
        assert_eq!(region.len(), REGION_BYTES);
        assert_eq!(region.file().metadata().unwrap().len(), REGION_BYTES);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_refusal_has_the_figures() {
        let peak = Peak { machine: Bytes::from_gib(1), store: Bytes::from_gib(3) };
        let room = Room { memory: Bytes::from_gib(2), disk: Bytes::from_gib(1) };
        let refusal = peak.admit("ext4", room).unwrap().to_string();
        for figure in ["may need 4 GiB", "2 GiB are free", "instead, 1 GiB are free"] {
            assert!(refusal.contains(figure), "{figure}: {refusal}");
        }
        // Room for the disks' contents is no help to a machine that does not fit itself.
        let room = Room { memory: Bytes::from_mib(900), disk: Bytes::from_gib(90) };
        let refusal = peak.admit("ext4", room).unwrap().to_string();
        for figure in ["needs 1 GiB of memory, but 900 MiB are free", "--set ram="] {
            assert!(refusal.contains(figure), "{figure}: {refusal}");
        }
        assert!(!refusal.contains("cache directory"), "{refusal}");
    }
}
