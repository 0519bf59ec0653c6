//! All access to block devices: nothing in fstrial overwrites one without a [`Claim`].
//!
//! * [`Claim`] refuses devices that are in use or not known to be empty.
//! * [`LoopFile`] makes disks out of files, on machines without a spare disk.
//! * [`Ledger`] records what was made, so that fstrial cleans up after a killed process at its next
//!   start.
//!
//! This crate runs no mkfs and mounts nothing; it reads, locks, allocates and attaches. It unmounts
//! and deletes only what the ledger proves to be fstrial's own, and restores the queue settings
//! that a disk had before a trial.

mod allocation;
mod assembled;
mod attachment;
mod claim;
mod contents;
mod exclusive;
mod holes;
mod identity;
mod ioctl;
mod known;
mod ledger;
mod loop_file;
mod medium;
mod objection;
mod owned;
mod owner;
mod patience;
mod queue;
mod queue_settings;
mod record;
mod search;
mod share;
mod sweep;
mod sysfs;
mod tools;
mod usage;

pub use attachment::{LoopError, loop_devices};
pub use claim::{Claim, ClaimRequest, ClaimState, SMALLEST_DEVICE};
pub use contents::{Contents, Signature};
pub use identity::Identity;
pub use ledger::Ledger;
pub use loop_file::{LoopFile, check_loop_directory};
pub use owned::{MARKER, OwnedDirectory, OwnedLoopFile, OwnedMount};
pub use owner::ProcessIdentity;
pub use queue::OwnedQueue;
pub use record::LedgerError;
pub use search::{Emptiness, Progress, Reading};
pub use share::Share;
pub use sweep::{Left, SweepReport};
pub use tools::ToolPath;
pub use usage::Use;
