//! The phases that the Maildir workloads have in common, and their op loop.

#[cfg(test)]
mod tests;

use std::os::fd::BorrowedFd;

use units::Bytes;

use super::deliver::Courier;
use super::names::Tree;
use super::parameters::Relist;
use super::plan::{Plan, Planned};
use super::retrieve::{Reader, Stored};
use super::setup;
use super::sources::Sources;
use crate::Space;
use crate::engine::file_io::list;
use crate::engine::path_buffer::PathBuffer;
use crate::{Context, Failure, Op, OpDescription, OpError, PhaseDescription, Recorder};

pub(crate) static UNPACK: PhaseDescription = PhaseDescription {
    name: "unpack",
    summary: "unpacks the flat directories that the ops need, one file a mail",
    clock: "making the directory, and for each file what GNU tar does: create exclusively, write \
            in pieces of a 10 KiB record, set the time and, as root, owner and mode, close. The \
            archive is generated in memory while it is read: no decompression, no read(2). No \
            sync. A directory that an earlier workload left is used as it is; if all are there, \
            the phase is left out",
    ops: &[OpDescription { name: "extract", span: "openat to close of one file" }],
    disk_bound: false,
};
pub(crate) const EXTRACT: Op = Op(0);

pub(crate) static SETUP: PhaseDescription = PhaseDescription {
    name: "setup",
    summary: "makes the base directories and the maildirs with tmp, new and cur",
    clock: "mkdir of each directory, base directories first; where an earlier workload left \
            them, mkdir finds that they exist. No sync",
    ops: &[OpDescription { name: "mkdir", span: "one mkdirat" }],
    disk_bound: false,
};
const MKDIR: Op = Op(0);

pub(crate) static SYNC: PhaseDescription = PhaseDescription {
    name: "sync",
    summary: "makes durable what is still in memory",
    clock: "one syncfs of the filesystem. The original has no such step: there the cost fell on \
            the step that ran next. It is timed separately, so that io can be compared with the \
            original",
    ops: &[OpDescription { name: "syncfs", span: "one syncfs" }],
    disk_bound: false,
};
const SYNCFS: Op = Op(0);

/// Phase `unpack`, for the directories of `wanted` that do not exist yet.
pub(crate) fn unpack(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    wanted: &[Sources],
) -> Result<(), Failure> {
    let corpus = context.mail()?;
    let mut missing = Vec::new();
    for sources in wanted {
        if !sources.present(target)? {
            missing.push(*sources);
        }
    }
    if missing.is_empty() {
        let reason = if wanted.is_empty() {
            "no op needs a flat directory"
        } else {
            "an earlier workload has left the directories"
        };
        context.skip(&UNPACK, reason);
        return Ok(());
    }
    corpus.prefault();
    let files = missing.iter().map(|sources| u64::from(sources.count)).sum();
    context.phase(&UNPACK, files, |recorder| {
        missing.iter().try_for_each(|sources| sources.unpack(target, corpus, recorder, EXTRACT))
    })
}

/// Phase `setup`. Returns whether maildirs were there before.
pub(crate) fn set_up(
    context: &mut Context<'_>,
    target: BorrowedFd<'_>,
    tree: Tree,
) -> Result<bool, Failure> {
    context.phase_with(
        &SETUP,
        setup::steps(tree),
        |recorder| setup::make(tree, target, recorder, MKDIR),
        |found, result| {
            if *found {
                result.notes.push("maildirs of an earlier workload were kept".to_owned());
            }
        },
    )
}

/// Phase `sync`.
pub(crate) fn sync(context: &mut Context<'_>, target: BorrowedFd<'_>) -> Result<(), Failure> {
    context.phase(&SYNC, 1, |recorder| {
        rustix::fs::syncfs(target).map_err(|error| OpError::new("syncfs", ".", error))?;
        recorder.done(SYNCFS);
        Ok(())
    })
}

/// Makes durable what was written, outside any clock.
pub(crate) fn settle(target: BorrowedFd<'_>) -> Result<(), Failure> {
    rustix::fs::syncfs(target)
        .map_err(|error| Failure::Op { phase: "settle", error: OpError::new("syncfs", ".", error) })
}

/// The op kinds of a phase as [`Ops::perform`] records them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kinds {
    pub(crate) deliver: Op,
    pub(crate) read: Op,
    pub(crate) list: Op,
    pub(crate) mark: Op,
}

/// Everything the op loop needs, prepared before its clock starts.
pub(crate) struct Ops<'a> {
    pub(crate) target: BorrowedFd<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) stored: Stored<'a>,
    /// The directory deliveries copy from, if they do.
    pub(crate) copied: Option<Sources>,
    /// The flat directory reads take from, unless they go to the maildirs.
    pub(crate) pool: Option<Sources>,
    pub(crate) relist: Relist,
    pub(crate) mark_seen: bool,
    pub(crate) kinds: Kinds,
}

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) writes: u64,
    pub(crate) reads: u64,
}

impl Ops<'_> {
    /// Performs the plan.
    pub(crate) fn perform(
        &self,
        courier: &mut Courier<'_>,
        reader: &mut Reader<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<Counts, OpError> {
        let mut counts = Counts::default();
        let mut path = PathBuffer::new();
        recorder.restart();
        if self.relist == Relist::Once {
            let both = [self.copied, self.pool];
            let second = if both[0] == both[1] { None } else { both[1] };
            for sources in [both[0], second].into_iter().flatten() {
                path.clear().text(sources.directory);
                self.list(&path, recorder)?;
            }
        }
        for op in &self.plan.ops {
            match *op {
                Planned::Deliver { mail, maildir } => {
                    if let (Relist::PerOp, Some(sources)) = (self.relist, self.copied) {
                        path.clear().text(sources.directory);
                        self.list(&path, recorder)?;
                    }
                    let moved = courier.deliver(counts.writes, mail, maildir)?;
                    counts.writes += 1;
                    recorder.read(moved.read);
                    recorder.wrote(moved.wrote);
                    recorder.digest(u64::from(mail) << 32 | u64::from(maildir));
                    recorder.done(self.kinds.deliver);
                }
                Planned::Read { mail } => {
                    let Some(pool) = self.pool else { continue };
                    if self.relist == Relist::PerOp {
                        path.clear().text(pool.directory);
                        self.list(&path, recorder)?;
                    }
                    let bytes = reader.entry(pool, mail)?;
                    self.has_read(bytes, mail, &mut counts, recorder);
                }
                Planned::Retrieve { stored, seen } => {
                    if self.relist == Relist::PerOp {
                        for part in ["/new", "/cur"] {
                            self.stored.tree.maildir(self.stored.maildir(stored), &mut path);
                            path.text(part);
                            self.list(&path, recorder)?;
                        }
                    }
                    let bytes = reader.stored(self.stored, stored, seen)?;
                    self.has_read(bytes, stored, &mut counts, recorder);
                    if self.mark_seen && !seen && self.stored.is_new(stored) {
                        reader.mark(self.stored, stored)?;
                        recorder.part(self.kinds.mark);
                    }
                }
            }
        }
        Ok(counts)
    }

    fn has_read(&self, bytes: u64, mail: u32, counts: &mut Counts, recorder: &mut Recorder<'_>) {
        counts.reads += 1;
        recorder.read(bytes);
        recorder.digest(1 << 63 | u64::from(mail));
        recorder.done(self.kinds.read);
    }

    fn list(&self, path: &PathBuffer, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        list(self.target, path.c_str(), |name| {
            std::hint::black_box(name);
        })
        .map_err(path.failed("list"))?;
        recorder.part(self.kinds.list);
        Ok(())
    }
}

/// Room for files of a mean size and directories: half a block of 4 KiB is lost at the end
/// of each file, and a directory takes at least one.
pub(crate) fn room(files: u64, mean_input: Bytes, directories: u64) -> Space {
    const BLOCK: u64 = 4096;
    Space {
        bytes: Bytes(mean_input.0 + BLOCK / 2) * files + Bytes(BLOCK) * directories,
        inodes: files + directories,
    }
}

/// Directories of a tree of maildirs.
pub(crate) fn directories(tree: Tree) -> u64 {
    setup::steps(tree)
}
