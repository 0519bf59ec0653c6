//! What can be done to a filesystem after it was made: another size, a snapshot, a repair. Data,
//! like everything a driver says; `fstrial lab capabilities` tries it, the workload `upkeep` times
//! it.

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
    /// Name of the snapshot that is to be taken or removed: letters, digits, dashes.
    pub snapshot: &'a str,
}

/// What the filesystem's own tools or the kernel can do. An empty list means that there is no way.
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
    /// How a lost superblock is brought back.
    pub repair: Option<Repair>,
    /// What is run after a power cut before it is mounted, where the kernel does not replay the
    /// journal itself: what Linux runs when it boots.
    pub recover: Vec<Command>,
}

/// How to restore a filesystem whose first superblock is lost. Formats keep copies of the
/// superblock, so repairs of different filesystems can be compared; a small filesystem may have
/// none.
#[derive(Debug, Clone)]
pub struct Repair {
    /// The superblock's first byte on the device.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The commands that restore it, unmounted and without asking a question.
    pub commands: Vec<Command>,
    /// Whether the filesystem with these bytes at `offset` has a copy of them elsewhere.
    pub has_copy: fn(&[u8]) -> bool,
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
    /// Where its contents appear.
    pub shown: Shown,
    /// Removes it, while mounted; `None` where that takes more than its name.
    pub remove: Option<Command>,
    /// Returns when the room of removed snapshots is free again, where removing does not wait for
    /// that.
    pub freed: Option<Command>,
}

/// Where the contents of a snapshot appear.
#[derive(Debug, Clone)]
pub enum Shown {
    /// In a directory of the filesystem.
    Below(PathBuf),
    /// In a mount of its own.
    Mounted(Mount),
}

impl Snapshot {
    /// A snapshot in a directory of the filesystem.
    pub(super) fn below(take: Command, directory: &str, remove: Command) -> Snapshot {
        let shown = Shown::Below(directory.into());
        Snapshot { take, number: None, shown, remove: Some(remove), freed: None }
    }

    /// The same, whose room is free when this command has ended.
    pub(super) fn freed_by(self, command: Command) -> Snapshot {
        Snapshot { freed: Some(command), ..self }
    }
}

impl Repair {
    /// By one command, for a superblock of this length in bytes at this byte, of which there is
    /// always a copy.
    pub(super) fn by(offset: u64, length: u64, command: Command) -> Option<Repair> {
        let commands = vec![command.destructive()];
        Some(Repair { offset, length, commands, has_copy: |_| true })
    }

    /// The same, for a format that has a copy only where its geometry has room for one.
    pub(super) fn where_there_is(self, has_copy: fn(&[u8]) -> bool) -> Repair {
        Repair { has_copy, ..self }
    }

    /// The plan's own check, with other arguments in place of those that keep it from writing; it
    /// exits with one of these codes when it has repaired everything.
    pub(super) fn by_check(
        plan: &Plan,
        (offset, length): (u64, u64),
        instead: &[(&str, &[&str])],
        success: &[i32],
    ) -> Option<Repair> {
        let mut command = plan.check.first()?.clone().succeeding_with(success);
        let words = std::mem::take(&mut command.args).into_iter();
        command.args = words
            .flat_map(|word| match instead.iter().find(|(known, _)| *known == word) {
                Some((_, others)) => others.iter().map(|&other| other.to_owned()).collect(),
                None => vec![word],
            })
            .collect();
        Repair::by(offset, length, command)
    }
}

/// One program.
pub(super) fn run(program: &str, args: &[&str]) -> Vec<Change> {
    vec![Change::Run(Command::new(program, args.iter().copied()))]
}
