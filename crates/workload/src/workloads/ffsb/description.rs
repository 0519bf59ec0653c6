//! FFSB's description, parameters and phases.

use units::{Bytes, Nanos};

use crate::engine::cold_cache::COLD;
use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{
    ChoiceParameter, CountParameter, DocumentParameter, FILE_MAX, FractionParameter, OPS_MAX,
    SizeParameter, SwitchParameter, TIME_MAX, TextParameter, TimeParameter, choice,
};
use crate::{Description, Headline, OpDescription, PhaseDescription};

pub(super) static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "makes the set of files",
    clock: "create, writes of `create_block`, close of each file in the cache; at the end a sync",
    ops: &[OpDescription { name: "create", span: "create to close of one file" }],
    disk_bound: false,
};
pub(super) static AGE: PhaseDescription = PhaseDescription {
    name: "age",
    summary: "creates, appends to and deletes other files until the filesystem is as full as \
              requested",
    clock: "all of it and a sync; no cache drop before",
    ops: &[
        OpDescription { name: "create", span: "create, writes of 64 KiB, close" },
        OpDescription { name: "append", span: "open, writes at the end, close" },
        OpDescription { name: "delete", span: "one unlink" },
    ],
    disk_bound: true,
};
pub(super) static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "threads do ops, drawn by weight, on randomly chosen files",
    clock: "from the moment all threads are released until each has ended its last op, and a sync; \
            no cache drop before unless `cold`",
    ops: &[
        OpDescription { name: "read", span: "open, reads of blocks, close" },
        OpDescription { name: "readall", span: "open, reads of the whole file, close" },
        OpDescription { name: "write", span: "open, writes of blocks, fsync if asked, close" },
        OpDescription { name: "create", span: "create, writes, fsync if asked, close" },
        OpDescription { name: "append", span: "open, writes at the end, fsync if asked, close" },
        OpDescription { name: "delete", span: "one unlink" },
        OpDescription { name: "meta", span: "two mkdirs, a rmdir, a rename" },
    ],
    disk_bound: true,
};

pub(super) const PROFILE: DocumentParameter = DocumentParameter::new(
    "profile",
    "What the threads do.",
    &[
        ("read", "reads of 4 KiB at random places"),
        ("write", "writes of 4 KiB at random places"),
        ("mixed", "four reads for each write, 4 KiB at random places"),
        ("huge", "reads and writes of 1 MiB in blocks of 4 KiB"),
    ],
    "mixed",
);
pub(super) const WEIGHTS: TextParameter = TextParameter::new(
    "weights",
    "Weights of ops instead of the profile's, such as `read=4 write=1`; kinds are \
                   read, readall, write, create, append, delete, meta.",
    "",
);
pub(super) const OP_SIZE: SizeParameter = SizeParameter::new(
    "op_size",
    "Bytes of a read, write or append; 0 for the profile's.",
    Bytes(1),
    Bytes::from_gib(1),
    "0",
)
.or_zero();
pub(super) const BLOCK: SizeParameter = SizeParameter::new(
    "block",
    "Bytes of one call; 0 for the profile's.",
    Bytes(1),
    Bytes::from_mib(64),
    "0",
)
.or_zero();
choice! {
    /// At which offsets the blocks of an op lie.
    pub(super) enum Places {
        Profile = "profile": "as the profile says",
        Random = "random": "each at its own random offset",
        Sequential = "sequential": "one after the other from a random start",
    }
}
pub(super) const PLACES: ChoiceParameter<Places> =
    ChoiceParameter::of("places", "At which offsets the blocks of an op lie.", "profile");
pub(super) const FILES: CountParameter =
    CountParameter::new("files", "Files at the beginning.", 1, 10_000_000, "100").scaled();
pub(super) const DIRECTORIES: CountParameter = CountParameter::new(
    "directories",
    "Directories over which the files are spread.",
    1,
    9999,
    "10",
);
pub(super) const MIN_SIZE: SizeParameter =
    SizeParameter::new("min_size", "Smallest size of a new file.", Bytes(1), FILE_MAX, "40M");
pub(super) const MAX_SIZE: SizeParameter =
    SizeParameter::new("max_size", "Largest size of a new file.", Bytes(1), FILE_MAX, "40M");
pub(super) const CREATE_BLOCK: SizeParameter = SizeParameter::new(
    "create_block",
    "Bytes of a write when the set of files is made.",
    Bytes(1),
    Bytes::from_mib(64),
    "4096",
);
pub(super) const THREADS: CountParameter = CountParameter::new(
    "threads",
    "Threads of each group; 0 for the profile's, which is 32 in those shipped.",
    0,
    1024,
    "0",
);
pub(super) const TIME: TimeParameter = TimeParameter::new(
    "time",
    "How long threads keep starting new ops.",
    Nanos::from_millis(1),
    TIME_MAX,
    "300s",
)
.scaled();
pub(super) const OPS: CountParameter = CountParameter::new(
    "ops",
    "End after this many ops of each thread instead; 0 for the time.",
    0,
    OPS_MAX,
    "0",
);
pub(super) const DIRECT: SwitchParameter =
    SwitchParameter::new("direct", "Whether ops bypass the page cache (O_DIRECT).", "on");
pub(super) const ALIGN: SwitchParameter = SwitchParameter::new(
    "align",
    "Whether offsets are multiples of 4 KiB; with direct I/O they always are.",
    "on",
);
pub(super) const FSYNC: SwitchParameter = SwitchParameter::new(
    "fsync",
    "Whether fsync follows each write, even where the profile does not ask for it.",
    "off",
);
pub(super) const DELAY: TimeParameter = TimeParameter::new(
    "delay",
    "How long a thread waits after an op; 0 for the profile's.",
    Nanos(1),
    Nanos::from_secs(3600),
    "0s",
)
.or_zero();
pub(super) const AGE_PARAMETER: FractionParameter = FractionParameter::new(
    "age",
    "How full the filesystem is made before the ops; 0 leaves it as it is.",
    "0",
);
pub(super) const KEEP: SwitchParameter =
    SwitchParameter::new("keep", "Whether the files stay, for the next FFSB of a sequence.", "off");

pub(super) static DESCRIPTION: Description = Description {
    name: "ffsb",
    summary: "FFSB 5.2.1: many threads read, write, create and delete files by weight",
    origin: "FFSB 5.2.1 (IBM), the version of the study of 2007, whose four profiles were not \
published: `read`, `write`, `mixed` and `huge` are assumed from its figures (direct I/O, many \
threads, 4 KiB; huge moves 1 MiB in blocks of 4 KiB). A profile of your own is a TOML file: \
docs/howto/ffsb.md shows one. `weights`, `op_size`, `block`, `places`, `threads`, `fsync` and \
`delay` change each of a profile's groups.\n\n\
With `age` the filesystem is filled before the ops: files of 4 KiB to 1 MiB are created, appended \
to by 4 KiB to 1 MiB and deleted, in the ratio 10 : 10 : 1, until the filesystem is as full as \
requested. These files stay until the end.\n\n\
FFSB counts every system call for a block as an operation, so `huge` counts 256 for each 1 MiB \
moved: this is the figure `transactions_per_sec`. The ops of the tables are whole ones \
(`ops_per_sec`); both are given beside MiB/s. As in the original, the time includes the last ops \
and a final sync, and no other thread touches a file while one writes, appends to or deletes \
it.\n\n\
Files that an earlier FFSB of a sequence has left (`keep=on`) are used as they are, as by the \
original with `reuse`.\n\n\
Departures: draws come from the trial's seed, one stream for each thread; files are named after \
their slots in a table twice as large, and an op that finds no file, or no empty slot, is left \
out; several filesystems are not supported; ageing is done by one thread; sync is syncfs.",
    headline: Headline {
        question: "threads reading, writing and deleting by weights",
        phase: "run",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        PROFILE.row,
        WEIGHTS.row,
        OP_SIZE.row,
        BLOCK.row,
        PLACES.row,
        FILES.row,
        DIRECTORIES.row,
        MIN_SIZE.row,
        MAX_SIZE.row,
        CREATE_BLOCK.row,
        THREADS.row,
        TIME.row,
        OPS.row,
        DIRECT.row,
        ALIGN.row,
        FSYNC.row,
        DELAY.row,
        AGE_PARAMETER.row,
        KEEP.row,
        COLD.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[&CREATE, &AGE, &RUN],
};
