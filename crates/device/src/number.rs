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
    pub fn from_raw(raw: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
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
pub struct NotANumber(String);

impl FromStr for DeviceNumber {
    type Err = NotANumber;
    fn from_str(text: &str) -> Result<DeviceNumber, NotANumber> {
        let parse = || {
            let (major, minor) = text.trim().split_once(':')?;
            Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        parse().ok_or_else(|| NotANumber(text.to_owned()))
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
        assert_eq!(DeviceNumber::from_raw(0xfe00), DeviceNumber { major: 254, minor: 0 });
    }
}
