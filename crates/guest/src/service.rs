//! How long the simulated disks take for a request.

use units::Nanos;

/// How requests are served, as the value of [`crate::region::Word::Service`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Service {
    /// Every request completes as soon as its data was moved.
    Immediate = 0,
    /// Every request takes [`FIXED`].
    Fixed = 1,
    /// The disks' models.
    Models = 2,
}

/// Latency of [`Service::Fixed`].
pub const FIXED: Nanos = Nanos::from_millis(1);

impl Service {
    pub(crate) fn of(word: u64) -> Service {
        match word {
            0 => Service::Immediate,
            1 => Service::Fixed,
            _ => Service::Models,
        }
    }
}
