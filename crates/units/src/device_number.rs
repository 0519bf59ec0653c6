//! A device's number: the one name of a block device that no symlink can change.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Major and minor number, shown as `8:16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceNumber {
    /// The driver's number.
    pub major: u32,
    /// Which of the driver's devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// From the number as `stat` reports it in `st_rdev` or `st_dev`.
    ///
    /// The kernel gives the major number bits 8 to 19, and further ones from bit 32 for libraries
    /// with wider numbers; the minor number has the rest (makedev(3)).
    pub fn from_raw(raw: u64) -> DeviceNumber {
        let major = (raw >> 8 & 0xfff) | (raw >> 32 & 0xffff_f000);
        let minor = (raw & 0xff) | (raw >> 12 & 0xffff_ff00);
        DeviceNumber { major: major as u32, minor: minor as u32 }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A text that is not `major:minor`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a device number such as 8:16")]
pub struct ParseDeviceNumberError(String);

impl FromStr for DeviceNumber {
    type Err = ParseDeviceNumberError;
    fn from_str(text: &str) -> Result<DeviceNumber, ParseDeviceNumberError> {
        let parse = || {
            let (major, minor) = text.trim().split_once(':')?;
            Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        parse().ok_or_else(|| ParseDeviceNumberError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_sysfs_writes() {
        let number = DeviceNumber { major: 259, minor: 3 };
        assert_eq!("259:3\n".parse(), Ok(number));
        assert_eq!(number.to_string(), "259:3");
        assert!("259".parse::<DeviceNumber>().is_err());
    }

    /// Raw numbers as glibc's makedev makes them.
    #[test]
    fn takes_a_raw_number_apart_as_makedev_made_it() {
        for (raw, major, minor) in [
            (0xfe00, 254, 0),
            (0x10303, 259, 3),
            (0x11_0300, 259, 256),
            (0xffff_f000_0001_2345, 0xffff_f123, 0x45),
            (0x123_4560_0878, 8, 0x1234_5678),
        ] {
            assert_eq!(DeviceNumber::from_raw(raw), DeviceNumber { major, minor }, "{raw:#x}");
        }
    }
}
