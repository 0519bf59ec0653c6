//! Names and UUIDs of what a layout makes: the same for the same trial on the same disks,
//! different on different disks, and recognisable as fstrial's own.

use super::Request;

/// The identity of one layout on its disks.
pub(super) struct Identity(u64);

impl Identity {
    /// FNV-1a (Fowler, Noll, Vo; 64 bits) over the choice, the disks' names and the trial's
    /// UUID: it has to be stable, not strong.
    pub(super) fn of(request: &Request<'_>) -> Identity {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut take = |bytes: &[u8]| {
            for byte in bytes.iter().chain(&[0]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        take(request.choice.to_string().as_bytes());
        for disk in request.disks {
            take(disk.as_os_str().as_encoded_bytes());
        }
        take(request.uuid.as_bytes());
        Identity(hash)
    }

    /// `fstrial_` and eight digits. No dash: device-mapper doubles it in node names.
    pub(super) fn name(&self) -> String {
        format!("fstrial_{:08x}", self.0 >> 32)
    }

    /// A UUID of version 8 (RFC 9562: contents of our own making).
    pub(super) fn uuid(&self) -> String {
        let second = self.0.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
            self.0 >> 32,
            (self.0 >> 16) & 0xffff,
            self.0 & 0xfff,
            0x8000 | (second >> 50),
            second & 0xffff_ffff_ffff,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::LayoutChoice;

    #[test]
    fn same_for_the_same_and_different_for_others() {
        let disks = [PathBuf::from("/dev/sda"), PathBuf::from("/dev/sdb")];
        let of = |text: &str, disks: &[PathBuf], uuid: &str| {
            let choice = LayoutChoice::parse(text).unwrap();
            Identity::of(&Request { choice: &choice, disks, uuid: uuid.to_owned() })
        };
        let identity = of("raid1", &disks, "1");
        assert_eq!(identity.uuid(), of("raid1", &disks, "1").uuid());
        assert_ne!(identity.uuid(), of("raid0", &disks, "1").uuid());
        assert_ne!(identity.uuid(), of("raid1", &disks, "2").uuid());
        assert_ne!(identity.name(), of("raid1", &disks[..1], "1").name());
        let shape: Vec<_> = identity.uuid().split('-').map(str::len).collect();
        assert_eq!(shape, [8, 4, 4, 4, 12]);
    }
}
