//! The steps that a trial goes through.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The steps of a trial, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Claiming devices, making loop files, starting a guest.
    Prepare,
    /// Assembling the layout.
    Layout,
    /// Making the filesystem.
    Mkfs,
    /// Mounting it.
    Mount,
    /// Waiting for what mkfs and mount left running.
    Settle,
    /// Starting the user's own program: it ended before it had done anything.
    Start,
    /// The workloads.
    Work,
    /// Unmounting.
    Unmount,
    /// Checking the filesystem.
    Check,
    /// Taking everything apart.
    Dismantle,
    /// Storing the results.
    Record,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Step::Prepare => "prepare",
            Step::Layout => "layout",
            Step::Mkfs => "mkfs",
            Step::Mount => "mount",
            Step::Settle => "settle",
            Step::Start => "start",
            Step::Work => "work",
            Step::Unmount => "unmount",
            Step::Check => "check",
            Step::Dismantle => "dismantle",
            Step::Record => "record",
        })
    }
}
