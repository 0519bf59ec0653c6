//! Ranges that parameters of every model have.

use units::{Bytes, Nanos};

/// A parameter's key, and what is wrong with its value.
pub(crate) type Problem = (&'static str, String);

/// The longest time of a parameter. No device takes as long for anything.
const TIME_MAX: Nanos = Nanos::from_secs(10);

/// The most memory of a device.
const MEMORY_MAX: Bytes = Bytes::from_gib(64);

/// The most sectors of a device: 512 TiB.
const SECTORS_MAX: u64 = 1 << 40;

/// Each time by its key.
pub(crate) fn times(times: &[(&'static str, Nanos)]) -> Result<(), Problem> {
    match times.iter().find(|(_, time)| *time > TIME_MAX) {
        Some((key, time)) => Err((key, format!("is {time}: must be at most {TIME_MAX}"))),
        None => Ok(()),
    }
}

/// Each amount of memory by its key.
pub(crate) fn memory(amounts: &[(&'static str, Bytes)]) -> Result<(), Problem> {
    match amounts.iter().find(|(_, amount)| *amount > MEMORY_MAX) {
        Some((key, amount)) => Err((key, format!("is {amount}: must be at most {MEMORY_MAX}"))),
        None => Ok(()),
    }
}

/// The sectors of a whole device.
pub(crate) fn sectors(sectors: u64) -> Result<(), Problem> {
    match sectors {
        1..=SECTORS_MAX => Ok(()),
        _ => Err(("sectors", format!("must be between 1 and {SECTORS_MAX} (512 TiB)"))),
    }
}
