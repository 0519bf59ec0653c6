//! The requests that a block device has served, from the kernel's counters.

use serde::{Deserialize, Serialize};
use units::{Bytes, DeviceNumber, Nanos, SECTOR_BYTES};

/// A reading of `/sys/dev/block/M:m/stat`
/// (Linux, Documentation/block/stat.rst; flush fields since 5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCounters {
    reads: u64,
    read_sectors: u64,
    writes: u64,
    write_sectors: u64,
    discards: u64,
    flushes: Option<u64>,
    busy: Nanos,
}

/// The difference of two readings: what happened in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Discard requests completed.
    pub discards: u64,
    /// Cache flushes completed; `None` on kernels that do not count them.
    pub flushes: Option<u64>,
    /// Time during which at least one request was in flight, to the millisecond.
    pub busy: Nanos,
}

impl DeviceUse {
    /// Sums two devices of one layout. Busy time adds up and can exceed the wall time.
    pub fn plus(self, other: DeviceUse) -> DeviceUse {
        DeviceUse {
            reads: self.reads + other.reads,
            read_bytes: self.read_bytes + other.read_bytes,
            writes: self.writes + other.writes,
            write_bytes: self.write_bytes + other.write_bytes,
            discards: self.discards + other.discards,
            flushes: self.flushes.zip(other.flushes).map(|(a, b)| a + b),
            busy: self.busy + other.busy,
        }
    }
}

impl DeviceCounters {
    /// Reads the counters; `None` if the device has none (tmpfs, network, btrfs's anonymous
    /// device numbers).
    pub fn read(device: DeviceNumber) -> Option<DeviceCounters> {
        let path = format!("/sys/dev/block/{device}/stat");
        DeviceCounters::parse(&std::fs::read_to_string(path).ok()?)
    }

    fn parse(stat: &str) -> Option<DeviceCounters> {
        let fields: Vec<u64> =
            stat.split_whitespace().map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let at = |index: usize| fields.get(index).copied();
        Some(DeviceCounters {
            reads: at(0)?,
            read_sectors: at(2)?,
            writes: at(4)?,
            write_sectors: at(6)?,
            busy: Nanos::from_millis(at(9)?),
            discards: at(11).unwrap_or(0),
            flushes: at(15),
        })
    }

    /// What happened since `earlier`.
    pub fn since(self, earlier: DeviceCounters) -> DeviceUse {
        let bytes = |now: u64, then: u64| Bytes(now.wrapping_sub(then) * SECTOR_BYTES);
        DeviceUse {
            reads: self.reads.wrapping_sub(earlier.reads),
            read_bytes: bytes(self.read_sectors, earlier.read_sectors),
            writes: self.writes.wrapping_sub(earlier.writes),
            write_bytes: bytes(self.write_sectors, earlier.write_sectors),
            discards: self.discards.wrapping_sub(earlier.discards),
            flushes: self.flushes.zip(earlier.flushes).map(|(now, then)| now.wrapping_sub(then)),
            busy: self.busy - earlier.busy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_two_readings() {
        let early = "  10 0 80 5 20 0 160 9 0 12 14 1 0 8 0 3 1\n";
        let late = "  15 0 120 5 30 0 320 9 0 20 14 1 0 8 0 7 1\n";
        let read = |text| DeviceCounters::parse(text).unwrap();
        let used = read(late).since(read(early));
        assert_eq!(used.reads, 5);
        assert_eq!(used.read_bytes, Bytes(40 * 512));
        assert_eq!(used.writes, 10);
        assert_eq!(used.write_bytes, Bytes(160 * 512));
        assert_eq!(used.flushes, Some(4));
        assert_eq!(used.busy, Nanos::from_millis(8));
    }

    #[test]
    fn two_devices_are_added() {
        let used = |factor: u64, flushes| DeviceUse {
            reads: factor,
            read_bytes: Bytes(2 * factor),
            writes: 3 * factor,
            write_bytes: Bytes(4 * factor),
            discards: 5 * factor,
            flushes,
            busy: Nanos(6 * factor),
        };
        assert_eq!(used(10, Some(7)).plus(used(100, Some(70))), used(110, Some(77)));
        assert_eq!(used(10, Some(7)).plus(used(1, None)), used(11, None));
    }

    #[test]
    fn an_old_kernel_counts_no_flushes() {
        let old = DeviceCounters::parse("1 0 8 1 1 0 8 1 0 1 1").unwrap();
        assert_eq!(old.since(old).flushes, None);
        assert!(DeviceCounters::parse("1 2").is_none());
    }
}
