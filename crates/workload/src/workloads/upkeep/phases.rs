//! The timed phases of a filesystem's upkeep, and the parameters.

use units::Bytes;

use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{CountParameter, FILE_MAX, FractionParameter, SizeParameter};
use crate::{Description, Headline, Op, OpDescription, PhaseDescription, Preset};

/// A phase that is one program or system call.
const fn one(name: &'static str, summary: &'static str, clock: &'static str) -> PhaseDescription {
    PhaseDescription { name, summary, clock, ops: &[], disk_bound: true }
}

pub(super) static MKFS: PhaseDescription = one(
    "mkfs",
    "makes the filesystem, with the commands that every trial makes it with",
    "each program from its start to its end",
);
pub(super) static FIRST_MOUNT: PhaseDescription = one(
    "first-mount",
    "mounts it",
    "mount(2) alone; work that it leaves running is waited for outside",
);
pub(super) static FILL: PhaseDescription = PhaseDescription {
    name: "fill",
    summary: "creates files until it is as full as requested",
    clock: "mkdirs, creates, writes, closes; at the end a sync",
    ops: &[OpDescription { name: "create", span: "create, writes, close of one file" }],
    disk_bound: true,
};
pub(super) static CHANGE: PhaseDescription = PhaseDescription {
    name: "change",
    summary: "replaces randomly chosen files",
    clock: "a new file is written and renamed over the old one, each time; at the end a sync",
    ops: &[REPLACE_OP],
    disk_bound: true,
};
pub(super) static REFLINK: PhaseDescription = PhaseDescription {
    name: "reflink-copy",
    summary: "copies files so that they share their blocks (as `cp --reflink=always` does)",
    clock: "open, create, FICLONE, closes of each; at the end a sync",
    ops: &[OpDescription { name: "clone", span: "open, create, FICLONE, closes of one file" }],
    disk_bound: true,
};
pub(super) static SNAPSHOT: PhaseDescription = PhaseDescription {
    name: "snapshot",
    summary: "takes snapshots and replaces files after each",
    clock: "for each snapshot the program that takes it, then replacements as in `change`; at the \
end a sync; a first snapshot is taken outside",
    ops: &[
        OpDescription { name: "take", span: "the program, from its start to its end" },
        REPLACE_OP,
    ],
    disk_bound: true,
};
pub(super) static SNAPSHOT_DELETE: PhaseDescription = PhaseDescription {
    name: "snapshot-delete",
    summary: "removes the snapshots, the oldest first",
    clock: "the program for each; at the end a sync and, where the program returns before their \
room is free, a wait until it is: btrfs begins to free it with its next commit, every 30 s",
    ops: &[OpDescription { name: "remove", span: "the program, from its start to its end" }],
    disk_bound: true,
};
pub(super) static UNMOUNT: PhaseDescription = one(
    "unmount",
    "unmounts it, with `changes` replaced files still in memory",
    "umount(2), for a pool also its export",
);
pub(super) static MOUNT: PhaseDescription = one(
    "mount",
    "mounts it after that clean unmount, with nothing of it in memory",
    "mount(2), for a pool also its import; work that it leaves running is waited for outside",
);
pub(super) static MOUNT_AFTER_POWER_LOSS: PhaseDescription = one(
    "mount-after-power-loss",
    "mounts it after a power failure that followed `changes` replaced files and one fsync",
    "as `mount`; includes the replay of a log",
);
pub(super) static CHECK: PhaseDescription = one(
    "check",
    "checks it without repairing, after a clean unmount and with nothing of it in memory",
    "each program from its start to its end",
);
pub(super) static REPAIR: PhaseDescription = one(
    "repair",
    "restores its first superblock, which was overwritten with zeros",
    "the repairing program from its start to its end; the check after it is outside",
);

const REPLACE_OP: OpDescription = OpDescription {
    name: "replace",
    span: "create, writes, close of a new file, its rename over the old one",
};
pub(super) const CREATE: Op = Op(0);
pub(super) const REPLACE: Op = Op(0);
pub(super) const CLONE: Op = Op(0);
pub(super) const TAKE: Op = Op(0);
pub(super) const REPLACE_AFTER: Op = Op(1);
pub(super) const REMOVE: Op = Op(0);

pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Smallest size of the filesystem. A filesystem more than four times as large is refused, since \
`full` is a share of the whole.",
    Bytes::from_kib(64),
    FILE_MAX,
    "1G",
);
pub(super) const FULL: FractionParameter =
    FractionParameter::new("full", "How full the filesystem becomes.", "0.5");
pub(super) const MEAN: SizeParameter = SizeParameter::new(
    "file_size",
    "Mean size of a file; sizes are from 1 byte to twice the mean.",
    Bytes(1),
    Bytes::from_gib(1),
    "64K",
);
pub(super) const CHANGES: CountParameter = CountParameter::new(
    "changes",
    "Files replaced in `change`, before the unmount, and before the power fails; also files \
copied in `reflink-copy`.",
    1,
    10_000_000,
    "500",
);
pub(super) const SNAPSHOTS: CountParameter =
    CountParameter::new("snapshots", "Snapshots taken; 0 for none.", 0, 500, "10");
pub(super) const BETWEEN: CountParameter = CountParameter::new(
    "changes_between",
    "Files replaced after each snapshot.",
    0,
    1_000_000,
    "20",
);

pub(super) static DESCRIPTION: Description = Description {
    name: "upkeep",
    summary: "mkfs, mounts, unmount, power loss, check, repair, snapshots at a fill level",
    origin: "Our own: what it costs to administer a filesystem. It is first made again, so that \
nothing remains of earlier workloads of a sequence. Then it is filled, and everything is done to \
it at that fill level; for several levels name several workloads (`upkeep:full=0.5 \
upkeep:full=0.95`).\n\n\
In the lab the power fails for the disks: they accept no further write, and keep everything they \
had accepted, including their write cache. On devices the filesystem itself is told to stop \
without writing its log (FS_IOC_SHUTDOWN), which ext4, xfs and f2fs can do; elsewhere the phase is \
missing. The file that was synced just before must be there afterwards; if it is not, a note says \
so.\n\n\
Repairs are compared for one kind of damage, an overwritten first superblock, of \
which formats keep copies; a filesystem that is too small for one (ext4 below 128 MiB, btrfs below \
64 MiB) is not damaged, and the phase is missing. After the repair, the filesystem's own check must find no errors and all files \
must be there. Times of programs leave out what fstrial does around them to keep devices safe; on \
devices, the reads that this causes are included in the counts.\n\n\
Operations that a filesystem does not support are missing, with the reason.",
    headline: Headline {
        question: "a mount after the power failed",
        phase: "mount-after-power-loss",
        metric: "wall",
        things: "",
    },
    presets: &[Preset {
        name: "nearly-full",
        question: "a mount after the power failed, on a filesystem 95 % full",
        set: &[("full", "0.95")],
    }],
    inputs: &[],
    parameters: &[
        SIZE.row,
        FULL.row,
        MEAN.row,
        CHANGES.row,
        SNAPSHOTS.row,
        BETWEEN.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[
        &MKFS,
        &FIRST_MOUNT,
        &FILL,
        &CHANGE,
        &REFLINK,
        &SNAPSHOT,
        &SNAPSHOT_DELETE,
        &UNMOUNT,
        &MOUNT,
        &MOUNT_AFTER_POWER_LOSS,
        &CHECK,
        &REPAIR,
    ],
};
