//! How much of the host's memory guests may take, and how much a trial's guest will.

use stack::Refusal;
use stack::layouts::{Role, Share};
use trial::TrialSpec;
use units::Bytes;
use workload::InputFacts;

use crate::disks::Disk;
use crate::machine::{Machine, QEMU_OVERHEAD};

/// Left to everything else on the host.
const RESERVE: Bytes = Bytes::from_mib(512);
/// What a filesystem writes beside files: journal, bitmaps, inode tables.
const OVERHEAD: Bytes = Bytes::from_mib(192);
/// What one inode costs beside its contents.
const PER_INODE: u64 = 4096 + 512;

/// What a guest will take at its peak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peak {
    /// RAM of the machine and the emulator's own memory.
    pub(crate) machine: Bytes,
    /// Contents of its disks.
    pub(crate) store: Bytes,
}

impl Peak {
    /// Predicts it. The data disks hold together what the workloads write, twice over for
    /// what a copy-on-write filesystem keeps, as many times as the layout stores it, and the
    /// filesystem's own; a journal disk holds no more than was written. None holds more than
    /// it has room for.
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
        // Behind a controller everything is stored once: its disks are one device here.
        let behind = capacity(&|role| matches!(role, Role::Controller(_)));
        let journal = capacity(&|role| matches!(role, Role::Journal));
        let store = data + held(behind, kept) + held(journal, kept);
        // Inputs lie in the shared region beside their copy in RAM.
        let machine = Bytes(machine.ram.0 + QEMU_OVERHEAD.0 + input_bytes);
        Peak { machine, store: Bytes(store) }
    }

    pub(crate) fn total(self) -> Bytes {
        self.machine + self.store
    }

    /// Refuses what does not fit, with the figures.
    pub(crate) fn admit(self, contender: &str, room: Bytes) -> Option<Refusal> {
        (self.total() > room).then(|| {
            let rule = format!(
                "its guest may take {} of memory ({} for the machine, {} for what its disks will \
                 hold), {room} are free",
                self.total(),
                self.machine,
                self.store
            );
            Refusal::new(contender, rule)
                .with_next("a smaller --scale, or a machine profile with less memory")
        })
    }
}

/// Memory guests may take now, together: what is available on the host and to this process's
/// control group, less a reserve.
pub(crate) fn room() -> Bytes {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = available(&meminfo).unwrap_or(Bytes::ZERO);
    let limit = control_group_room().unwrap_or(Bytes(u64::MAX));
    Bytes(available.0.min(limit.0).saturating_sub(RESERVE.0))
}

fn available(meminfo: &str) -> Option<Bytes> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(Bytes::from_kib(line.split_whitespace().next()?.parse().ok()?))
}

/// What the control group of this process has left (version 2 only).
fn control_group_room() -> Option<Bytes> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let directory = std::path::Path::new("/sys/fs/cgroup").join(path);
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(directory.join(name)).ok()?.trim().parse().ok()
    };
    Some(Bytes(number("memory.max")?.saturating_sub(number("memory.current")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read() {
        let text = "MemTotal:       24682784 kB\nMemFree:  1 kB\nMemAvailable:   24261632 kB\n";
        assert_eq!(available(text), Some(Bytes(24_261_632 << 10)));
        assert!(room() > Bytes::ZERO);
    }

    #[test]
    fn a_refusal_has_the_figures() {
        let peak = Peak { machine: Bytes::from_gib(1), store: Bytes::from_gib(3) };
        assert!(peak.admit("ext4", Bytes::from_gib(5)).is_none());
        let refusal = peak.admit("ext4", Bytes::from_gib(2)).unwrap().to_string();
        assert!(refusal.contains("4.00 GiB") || refusal.contains("4 GiB"), "{refusal}");
        assert!(refusal.contains("2.00 GiB") || refusal.contains("2 GiB"), "{refusal}");
    }
}
