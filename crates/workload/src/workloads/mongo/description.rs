//! Mongo's description, parameters and phases.

use crate::typed::CountParameter;
use crate::{Description, Headline, OpDescription, PhaseDescription};

const MKDIR_OP: OpDescription = OpDescription { name: "mkdir", span: "one mkdir" };

pub(super) static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "makes the first trees",
    clock: "mkdirs; create exclusively, writes of at most 4095 bytes and close of each file; no \
            sync. A sync and counting of fragments follow after the clock",
    ops: &[OpDescription { name: "create", span: "create, writes, close" }, MKDIR_OP],
    disk_bound: false,
};
pub(super) static COPY: PhaseDescription = PhaseDescription {
    name: "copy",
    summary: "copies each tree as `cp -r` does",
    clock: "listing, mkdirs; lstat, open, reads and writes of 4096 bytes, close of each file; no \
            sync and no cache drop before. A sync and counting of fragments follow after the clock",
    ops: &[OpDescription { name: "copy", span: "listing before it, lstat to close" }, MKDIR_OP],
    disk_bound: false,
};
pub(super) static SYMLINKS: PhaseDescription = PhaseDescription {
    name: "symlinks",
    summary: "makes a symbolic link beside each file of the first trees, and reads it",
    clock: "listing, symlink to the absolute path, lstat, readlink; sync after the clock",
    ops: &[OpDescription { name: "symlink", span: "symlink, lstat, readlink" }],
    disk_bound: false,
};
pub(super) static READ: PhaseDescription = PhaseDescription {
    name: "read",
    summary: "reads every file of all trees, once for each first tree",
    clock: "listing, open, reads of 4096 bytes, close; no cache drop before",
    ops: &[OpDescription { name: "read", span: "listing before it, open to close" }],
    disk_bound: false,
};
pub(super) static STATS: PhaseDescription = PhaseDescription {
    name: "stats",
    summary: "finds all files of all trees, once for each first tree",
    clock: "listing and lstat of every entry",
    ops: &[OpDescription { name: "stat", span: "listing before it, one lstat" }],
    disk_bound: false,
};
pub(super) static RENAME: PhaseDescription = PhaseDescription {
    name: "rename",
    summary: "renames each file of the first trees",
    clock: "listing and renames within the same directory; sync after the clock",
    ops: &[OpDescription { name: "rename", span: "listing before it, one rename" }],
    disk_bound: false,
};
pub(super) static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes all trees as `rm -r` does",
    clock: "listing, unlinks, rmdirs; sync after the clock. Verification comes before it",
    ops: &[OpDescription { name: "delete", span: "one unlink or rmdir" }],
    disk_bound: false,
};

pub(super) const MEDIAN: CountParameter = CountParameter::new(
    "median",
    "Median size of a file in bytes: 100, 1000, 10000.",
    0,
    1_000_000,
    "100",
);
pub(super) const FILES: CountParameter =
    CountParameter::new("files", "Files of a tree.", 1, 100_000_000, "11_500").scaled();
pub(super) const REPETITIONS: CountParameter = CountParameter::new(
    "repetitions",
    "How often each phase is done, on trees of its own.",
    1,
    100,
    "3",
);
pub(super) const PROCESSES: CountParameter =
    CountParameter::new("processes", "Threads, each with trees of its own.", 1, 256, "1");

pub(super) static DESCRIPTION: Description = Description {
    name: "mongo",
    summary: "Namesys Mongo: trees of small files created, copied, linked, read, renamed, deleted",
    origin: "Mongo of Namesys (2000, 2001). The generator of its trees is the original's, with \
glibc's `rand()` of fixed seed, so every trial has the same trees; sizes have a heavy tail (P(size \
> s) = m/(m+s) for m = median + 1). With three repetitions and one process `median=100 \
files=11500`, `median=1000 files=2000` and `median=10000 files=383` are the trees of a published \
seminar: 69,000, 12,000 and 2,300 files in 241, 43 and 31 directories. A phase is the sum of its \
repetitions, as reported there.\n\n\
`fragments_per_file` is the mean number of pieces in which a regular file above 16 KiB lies on the \
device, up to its first hole (1 is ideal), by FIEMAP, or by FIBMAP, which the original uses, where \
a filesystem has only that.\n\n\
Departures: the size of a tree is given in files, not in bytes; each median is a trial of its own; \
processes are threads and do not wait for one another between repetitions; a single program does \
the work of find, cp, rm and shell loops, so the cost of starting programs is missing; paths are \
resolved from the target directory; sync is syncfs.",
    headline: Headline {
        question: "trees of small files (Mongo)",
        phase: "create",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[],
    parameters: &[MEDIAN.row, FILES.row, REPETITIONS.row, PROCESSES.row],
    phases: &[&CREATE, &COPY, &SYMLINKS, &READ, &STATS, &RENAME, &DELETE],
};
