//! What can be done to a filesystem after it was made: another size, a snapshot. Data, like
//! everything a driver says; `fstrial lab capabilities` tries it.

use std::path::PathBuf;

use units::Bytes;

use super::{Mount, Plan};
use crate::Command;

/// What upkeep is asked for.
#[derive(Debug, Clone)]
pub struct UpkeepRequest<'a> {
    /// How it was made.
    pub plan: &'a Plan,
    /// The device, which is of the new size already when it has to grow.
    pub device: &'a str,
    /// Where it is mounted, when it is.
    pub mount_point: &'a str,
    /// The size it is to have.
    pub size: Bytes,
}

/// The ways a filesystem's own tools or kernel have. Where a list is empty there is none.
#[derive(Debug, Clone, Default)]
pub struct Upkeep {
    /// Another size while it is not mounted.
    pub resize_unmounted: Vec<Change>,
    /// A larger size while it is mounted.
    pub grow_mounted: Vec<Change>,
    /// A smaller size while it is mounted.
    pub shrink_mounted: Vec<Change>,
    /// A snapshot.
    pub snapshot: Option<Snapshot>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A program.
    Run(Command),
    /// A remount with these options, for a kernel that resizes by itself.
    Remount(String),
}

/// How a snapshot is taken and looked at.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Takes it, while mounted.
    pub take: Command,
    /// Prints its number, the first word of the last line, which takes the place of `%` in the
    /// mount options that show it.
    pub number: Option<Command>,
    /// Where it shows.
    pub shown: Shown,
}

/// Where a snapshot shows.
#[derive(Debug, Clone)]
pub enum Shown {
    /// In a directory of the filesystem.
    Below(PathBuf),
    /// In a mount of its own.
    Mounted(Mount),
}

impl Snapshot {
    /// A snapshot in a directory of the filesystem.
    pub(super) fn below(take: Command, directory: &str) -> Snapshot {
        Snapshot { take, number: None, shown: Shown::Below(directory.into()) }
    }
}

/// One program.
pub(super) fn run(program: &str, args: &[&str]) -> Vec<Change> {
    vec![Change::Run(Command::new(program, args.iter().copied()))]
}
