//! Bonnie's description, phases, and the parameters that are its own.

use super::parameters;
use units::Bytes;

use crate::engine::cold_cache::COLD;
use crate::typed::{
    ChoiceParameter, CountParameter, FILE_MAX, SizeParameter, SwitchParameter, choice,
};
use crate::{Description, Headline, OpDescription, PhaseDescription};

const FSYNC_OP: OpDescription =
    OpDescription { name: "fsync", span: "the fsync before close, where there is one" };
const SYNC_OP: OpDescription =
    OpDescription { name: "syncfs", span: "the sync at the end, in the manner of 2.00a" };

pub(super) static WRITE_CHAR: PhaseDescription = PhaseDescription {
    name: "write-char",
    summary: "writes byte by byte",
    clock: "from the open file to its close. 1.03a: the whole file through a buffer of 4096 \
            bytes, no fsync. 2.00a: 3 MiB in writes of one byte, fsync",
    ops: &[
        OpDescription { name: "write", span: "4096 bytes, including filling a buffer" },
        FSYNC_OP,
    ],
    disk_bound: false,
};
pub(super) static WRITE_BLOCK: PhaseDescription = PhaseDescription {
    name: "write-block",
    summary: "writes the whole file anew in chunks",
    clock: "from the open file, which is new, to its close. 1.03a: no fsync, so what is still in \
            memory is not waited for. 2.00a: fsync",
    ops: &[OpDescription { name: "write", span: "one write of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
pub(super) static REWRITE: PhaseDescription = PhaseDescription {
    name: "rewrite",
    summary: "reads each chunk, changes a byte, goes back and writes it",
    clock: "from the open file to its close. 1.03a: no fsync. 2.00a: fsync. Each byte counts once \
            in the figures; no cache drop before unless `cold`",
    ops: &[OpDescription { name: "rewrite", span: "read, lseek, write of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
pub(super) static READ_CHAR: PhaseDescription = PhaseDescription {
    name: "read-char",
    summary: "reads byte by byte",
    clock: "from the open file to its close; no cache drop before unless `cold`. 1.03a: the whole file through \
            a buffer of 4096 bytes. 2.00a: 3 MiB in reads of one byte, fsync",
    ops: &[
        OpDescription { name: "read", span: "4096 bytes, including emptying a buffer" },
        FSYNC_OP,
    ],
    disk_bound: false,
};
pub(super) static READ_BLOCK: PhaseDescription = PhaseDescription {
    name: "read-block",
    summary: "reads the whole file in chunks",
    clock: "from the open file to its close; no cache drop before unless `cold`. 2.00a: fsync, though nothing \
            was written",
    ops: &[OpDescription { name: "read", span: "one read of a chunk" }, FSYNC_OP],
    disk_bound: false,
};
pub(super) static SEEKS: PhaseDescription = PhaseDescription {
    name: "seeks",
    summary: "several seekers read random chunks and rewrite a tenth of them",
    clock: "from the moment all seekers are released until the last one has closed the file; no \
            cache drop before unless `cold`. 2.00a: one fsync at the start, and one at the end of \
            each seeker; the first to end removes the file, so that the last to close it frees it \
            (not with `--verify`)",
    ops: &[
        OpDescription { name: "read", span: "lseek, read of a chunk" },
        OpDescription { name: "rewrite", span: "lseek, read, lseek, write of a chunk" },
        FSYNC_OP,
    ],
    disk_bound: false,
};

macro_rules! file_phase {
    ($name:ident, $text:literal, $summary:literal, $clock:literal, $($op:expr),+) => {
        pub(super) static $name: PhaseDescription = PhaseDescription {
            name: $text,
            summary: $summary,
            clock: $clock,
            ops: &[$($op),+],
            disk_bound: false,
        };
    };
}

const CREATE_OP: OpDescription =
    OpDescription { name: "create", span: "create, writes, close of a file, or one link" };
const STAT_OP: OpDescription =
    OpDescription { name: "stat", span: "one stat; with contents also open, reads, close" };
const DELETE_OP: OpDescription = OpDescription { name: "delete", span: "one unlink" };

file_phase!(
    CREATE_SEQUENTIAL,
    "create-sequential",
    "creates files whose names begin with a counter",
    "creates; 2.00a: and sync. Directories are made before",
    CREATE_OP,
    SYNC_OP
);
file_phase!(
    STAT_SEQUENTIAL,
    "stat-sequential",
    "stats and reads each file while the directory is being listed",
    "listing, stats, reads; no cache drop before",
    STAT_OP
);
file_phase!(
    DELETE_SEQUENTIAL,
    "delete-sequential",
    "deletes files while the directory is being listed",
    "listing, unlinks, rmdirs; 2.00a: also a sync",
    DELETE_OP,
    SYNC_OP
);
file_phase!(
    CREATE_RANDOM,
    "create-random",
    "creates files whose names begin with random letters",
    "creates; 2.00a: and sync. Directories are made before",
    CREATE_OP,
    SYNC_OP
);
file_phase!(
    STAT_RANDOM,
    "stat-random",
    "stats and reads each file in random order",
    "stats, reads; no cache drop before. The order is drawn beforehand",
    STAT_OP
);
file_phase!(
    DELETE_RANDOM,
    "delete-random",
    "deletes in another random order",
    "unlinks, rmdirs; 2.00a: also a sync. The order is drawn beforehand",
    DELETE_OP,
    SYNC_OP
);

/// The order of fields in Bonnie++'s lines.
pub(super) static LARGE_PHASES: &[&PhaseDescription] =
    &[&WRITE_CHAR, &WRITE_BLOCK, &REWRITE, &READ_CHAR, &READ_BLOCK, &SEEKS];
pub(super) static SMALL_PHASES: &[&PhaseDescription] = &[
    &CREATE_SEQUENTIAL,
    &STAT_SEQUENTIAL,
    &DELETE_SEQUENTIAL,
    &CREATE_RANDOM,
    &STAT_RANDOM,
    &DELETE_RANDOM,
];

choice! {
    /// Which version is followed.
    pub(in crate::workloads) enum Manner {
        V103a = "1.03a": "buffered bytes, no fsync, three seekers",
        V200a = "2.00a": "a system call for each byte, fsync, sync, five seekers",
    }
}
pub(super) const MANNER: ChoiceParameter<Manner> =
    ChoiceParameter::of("manner", "Which version's behaviour to follow.", "2.00a");
pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the large file, at least twice the memory; 0 leaves its phases out.",
    Bytes::from_kib(1),
    FILE_MAX,
    "2G",
)
.or_zero()
.scaled();
choice! {
    /// What small files after the first are.
    pub(in crate::workloads) enum Links {
        None = "none": "files of their own",
        Hard = "hard": "hard links",
        Symbolic = "symbolic": "symbolic links",
    }
}
pub(super) const LINKS: ChoiceParameter<Links> =
    ChoiceParameter::of("links", "Whether small files after the first are links to it.", "none");
pub(super) const FSYNC: SwitchParameter = SwitchParameter::new(
    "fsync",
    "As `-b`: fsync at each close, rewritten seek, created and deleted file.",
    "off",
);
pub(super) const SEEKS_PARAMETER: CountParameter =
    CountParameter::new("seeks", "Total number of seeks of all seekers.", 1, 100_000_000, "8192");
pub(super) const SEEKERS: CountParameter = CountParameter::new(
    "seekers",
    "Number of seekers; 0 for that of the version (3 or 5).",
    0,
    1024,
    "0",
);

pub(super) static DESCRIPTION: Description = Description {
    name: "bonnie",
    summary: "Bonnie++ 1.03a or 2.00a: one large file by byte, by block and at random, then many \
              small ones",
    origin: "Bonnie++ (Russell Coker), in the manner of 1.03a (2003, used for older published \
results) or of 2.00a (current). They differ in how single bytes are read and written, in fsync and \
sync, in the number of seekers and in file names; each phase says how. Figures are always given, \
however short a phase is: `k_per_sec` in KiB/s, `seeks_per_sec`, `files_per_sec`, `cpu_percent` of \
the process alone, as in the original. Lines in the original's format are made from them, with its \
`+++++` for anything that took less than half a second.\n\n\
The system calls of 2.00a are taken from a trace, those of 1.03a from its source code. Departures: \
sizes, names and orders come from the trial's seed; `size` is not derived from the machine's \
memory (a note says when it is less than twice the memory); seekers are threads that take their \
offsets from a list drawn beforehand instead of from a pipe, and start together instead of after a \
pause; with `cold`, even a file that fits into memory is written to the disk and read from it; \
sync is syncfs, so that the rest of the machine is not affected; paths are resolved from the \
target directory; `-D` is not offered. With `max_size=0` files are empty, which is the original's \
default.",
    headline: Headline {
        question: "one large file and many small ones (bonnie++)",
        phase: "write-block",
        metric: "write_rate",
        things: "written",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        MANNER.row,
        SIZE.row,
        parameters::CHUNK.row,
        parameters::FAST.row,
        parameters::FILES.row,
        parameters::MAX_SIZE.row,
        parameters::MIN_SIZE.row,
        parameters::DIRECTORIES.row,
        LINKS.row,
        FSYNC.row,
        COLD.with_help(
            "For a large file that fits into memory: whether phases that write it end with fsync \
             and phases that read it begin with an empty cache, where the testbed can.",
        )
        .row,
        SEEKS_PARAMETER.row,
        SEEKERS.row,
    ],
    phases: &[
        &WRITE_CHAR,
        &WRITE_BLOCK,
        &REWRITE,
        &READ_CHAR,
        &READ_BLOCK,
        &SEEKS,
        &CREATE_SEQUENTIAL,
        &STAT_SEQUENTIAL,
        &DELETE_SEQUENTIAL,
        &CREATE_RANDOM,
        &STAT_RANDOM,
        &DELETE_RANDOM,
    ],
};
