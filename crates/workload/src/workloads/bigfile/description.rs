//! The description of `bigfile`, its phases and parameters.

use units::Bytes;

use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{FILE_MAX, SizeParameter, SwitchParameter};
use crate::{Description, Headline, OpDescription, PhaseDescription};

const READ_OP: OpDescription = OpDescription { name: "read", span: "one read of a block" };
const WRITE_OP: OpDescription = OpDescription { name: "write", span: "one write of a block" };
const FSYNC_OP: OpDescription = OpDescription { name: "fsync", span: "the fsync at the end" };

pub(super) static DD: PhaseDescription = PhaseDescription {
    name: "dd",
    summary: "creates a file of zeros in blocks of 1 MiB",
    clock: "open (truncating), clearing the buffer before each write as /dev/zero does, writes, \
            close; no fsync and no sync, as dd does without conv=fsync, unless `dd_fsync`",
    ops: &[WRITE_OP, FSYNC_OP],
    disk_bound: false,
};
pub(super) static WRITE: PhaseDescription = PhaseDescription {
    name: "write",
    summary: "writes one file from memory",
    clock: "create, writes, fsync (unless `fsync=off`), close",
    ops: &[WRITE_OP, FSYNC_OP],
    disk_bound: true,
};
pub(super) static READ: PhaseDescription = PhaseDescription {
    name: "read",
    summary: "reads that file",
    clock: "open, reads to the end, close. Begins cold where that can be done",
    ops: &[READ_OP],
    disk_bound: true,
};
pub(super) static READ_WRITE: PhaseDescription = PhaseDescription {
    name: "read-write",
    summary: "reads that file while another thread writes a second one",
    clock: "until both streams have ended, the writer with fsync (unless `fsync=off`) and close. \
            Begins cold where that can be done. The rate of each stream, over its own time, is \
            reported as a figure",
    ops: &[READ_OP, WRITE_OP, FSYNC_OP],
    disk_bound: true,
};
pub(super) static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes the first file",
    clock: "one unlink; no sync. The figure is the size over that time. The other files are \
            removed after the clock",
    ops: &[OpDescription { name: "unlink", span: "one unlink" }],
    disk_bound: false,
};

pub(super) const DD_SIZE: SizeParameter = SizeParameter::new(
    "dd_size",
    "Size of the file of zeros; 0 leaves the phase out.",
    Bytes(1),
    FILE_MAX,
    "4G",
)
.or_zero()
.scaled();
pub(super) const DD_FSYNC: SwitchParameter = SwitchParameter::new(
    "dd_fsync",
    "As dd's conv=fsync: whether writing the file of zeros ends with fsync.",
    "off",
);
pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the other files; 0 leaves their phases out.",
    Bytes(1),
    FILE_MAX,
    "2G",
)
.or_zero()
.scaled();
pub(super) const BLOCK: SizeParameter = SizeParameter::new(
    "block",
    "Bytes of a read or write of the other files.",
    Bytes(512),
    Bytes::from_mib(256),
    "1M",
);
pub(super) const FSYNC: SwitchParameter =
    SwitchParameter::new("fsync", "Whether writing the other files ends with fsync.", "on");
pub(super) const KEEP: SwitchParameter = SwitchParameter::new(
    "keep",
    "Whether the file of zeros stays, for the next workload of a sequence.",
    "off",
);

pub(super) static DESCRIPTION: Description = Description {
    name: "bigfile",
    summary: "large files: create as dd does, write, read, both at once, delete",
    origin: "Two studies. 2007: `dd if=/dev/zero of=bigfile bs=1048576 count=4096`, the phase \
`dd`. 2011: files of 2 GB written from a RAM disk, read, both at once, deleted, in MB/s; the \
script was not published. Assumed: the write ends with fsync, caches are dropped before reads, the \
two streams of `read-write` are one reader of the first file and one writer of a second.\n\n\
Departures: contents come from memory instead of a RAM disk, and by default they neither compress \
nor repeat, like a video; `dd` clears its buffer itself instead of reading /dev/zero. Rates are in \
MiB/s over each stream's own time.",
    headline: Headline {
        question: "writing one large file",
        phase: "write",
        metric: "write_rate",
        things: "written",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        DD_SIZE.row,
        DD_FSYNC.row,
        SIZE.row,
        BLOCK.row,
        FSYNC.row,
        KEEP.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[&DD, &WRITE, &READ, &READ_WRITE, &DELETE],
};
