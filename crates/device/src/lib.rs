//! The one door to block devices: nothing in fstrial overwrites one without a [`Claim`].
//!
//! * [`Claim`] refuses devices in use and devices that carry something.
//! * [`LoopFile`] makes disks out of files on machines that have none to spare.
//!
//! This crate runs no mkfs and mounts nothing; it reads, locks, allocates and attaches.

mod allocation;
mod attachment;
mod claim;
mod contents;
mod ioctl;
mod loop_file;
mod number;
mod proc_tables;
mod sysfs;
mod tools;
mod usage;

pub use claim::{Claim, ClaimRequest, ClaimState, Identity, SMALLEST_DEVICE};
pub use contents::{Contents, Signature};
pub use loop_file::{HEADROOM, LoopError, LoopFile};
pub use number::{DeviceNumber, NotANumber};
pub use proc_tables::{Mount, parse_mountinfo};
pub use tools::ToolPath;
pub use usage::Use;
