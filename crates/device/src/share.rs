//! Shares of a device, for people.

use std::fmt;

/// A share of a device, rounded down to tenths of a per cent: `99.9 %` is not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    /// `part` of `whole`.
    pub(crate) fn of(part: u64, whole: u64) -> Share {
        Share((u128::from(part) * 1000 / u128::from(whole.max(1))) as u64)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("less than 0.1 %"),
            tenths => write!(f, "{}.{} %", tenths / 10, tenths % 10),
        }
    }
}
