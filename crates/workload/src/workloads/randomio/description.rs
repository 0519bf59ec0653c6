//! The description of randomio, its parameters and phases.

use units::{Bytes, Nanos};

use crate::engine::cold_cache::COLD;
use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{
    ChoiceParameter, CountParameter, FILE_MAX, FractionParameter, OPS_MAX, SizeParameter,
    SwitchParameter, TIME_MAX, TimeParameter, choice,
};
use crate::{Description, Headline, OpDescription, PhaseDescription, Preset};

pub(super) static PREPARE: PhaseDescription = PhaseDescription {
    name: "prepare",
    summary: "writes the file, unless an earlier workload has left one",
    clock: "create, writes of 1 MiB, fsync, close",
    ops: &[
        OpDescription { name: "write", span: "one write of 1 MiB" },
        OpDescription { name: "fsync", span: "the fsync at the end" },
    ],
    disk_bound: false,
};
pub(super) static RANDOM: PhaseDescription = PhaseDescription {
    name: "random",
    summary: "threads read and write at random offsets",
    clock: "from the moment all threads are released until the last has ended its last I/O. No \
            warm-up; the file is opened before. Begins cold if `cold` asks for it",
    ops: &[
        OpDescription { name: "read", span: "one pread, and drawing its offset" },
        OpDescription { name: "write", span: "one pwrite, and the fsync if one follows" },
    ],
    disk_bound: true,
};
pub(super) const SIZE: SizeParameter = SizeParameter::new(
    "size",
    "Size of the file, where an earlier workload has not left one.",
    Bytes::from_kib(1),
    FILE_MAX,
    "4G",
)
.scaled();
pub(super) const THREADS: CountParameter =
    CountParameter::new("threads", "Threads.", 1, 1024, "10");
pub(super) const WRITE_SHARE: FractionParameter =
    FractionParameter::new("write_share", "Share of writes among the I/Os.", "0.25");
pub(super) const FSYNC_SHARE: FractionParameter =
    FractionParameter::new("fsync_share", "Share of the writes that an fsync follows.", "0.01");
pub(super) const IO_SIZE: SizeParameter = SizeParameter::new(
    "io_size",
    "Bytes of an I/O, a multiple of 512.",
    Bytes(512),
    Bytes::from_mib(64),
    "2048",
)
.in_steps_of(512);
pub(super) const TIME: TimeParameter =
    TimeParameter::new("time", "How long the threads run.", Nanos::from_millis(1), TIME_MAX, "60s")
        .scaled();
pub(super) const OPS: CountParameter = CountParameter::new(
    "ops",
    "End after this many I/Os instead; 0 for the time.",
    0,
    OPS_MAX,
    "0",
);
pub(super) const DIRECT: SwitchParameter =
    SwitchParameter::new("direct", "Whether I/Os bypass the page cache (O_DIRECT).", "on");
choice! {
    /// Where the sequence comes from.
    pub(super) enum Draws {
        Original = "original": "the unseeded generator: the same in every trial",
        Seed = "seed": "the same generator, seeded from the trial's seed",
    }
}
pub(super) const DRAWS: ChoiceParameter<Draws> =
    ChoiceParameter::of("draws", "Where the sequence comes from.", "original");

pub(super) static DESCRIPTION: Description = Description {
    name: "randomio",
    summary: "randomio 1.3: threads read and write a large file at random offsets",
    origin: "randomio 1.3 (Dean Gaudet) as the study of 2007 calls it: `randomio bigfile 10 .25 \
.01 2048 60 1`. All threads share one descriptor with O_DIRECT and one unseeded `drand48`; two \
draws give the offset and the kind of an I/O; the latency of a write includes its fsync. Figures \
are those of the original's output row, in ms, with the sample standard deviation; histograms and \
the I/Os of each second are given beside them.\n\n\
`consistency` is the measured I/Os per second divided by those expected from the mean latencies if \
this many threads never waited for anything else; all rows of the study lie within 0.98 and \
1.02.\n\n\
The file is the `bigfile` that an earlier workload of that name has left (`keep=on`); otherwise \
the workload writes its own, which neither compresses nor repeats. Departures: writing that file \
ends with fsync, so that its write-back does not compete with the random I/Os; each write stores \
its offset; `ops` ends the phase after this many I/Os instead of after a time, and a digest then \
covers them.",
    headline: Headline {
        question: "random reads and writes in a large file",
        phase: "random",
        metric: "ops_rate",
        things: "I/Os",
    },
    presets: &[
        Preset {
            name: "database",
            question: "a database's pages: 8 KiB, three reads to a write",
            set: &[("io_size", "8K"), ("threads", "16"), ("fsync_share", "0.1")],
        },
        Preset {
            name: "vm-image",
            question: "a virtual machine's disk in a file: 4 KiB, half of them writes, some made durable",
            set: &[
                ("io_size", "4K"),
                ("threads", "8"),
                ("write_share", "0.5"),
                ("fsync_share", "0.05"),
            ],
        },
    ],
    inputs: &[],
    parameters: &[
        SIZE.row,
        THREADS.row,
        WRITE_SHARE.row,
        FSYNC_SHARE.row,
        IO_SIZE.row,
        TIME.row,
        OPS.row,
        DIRECT.row,
        DRAWS.row,
        COLD.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ],
    phases: &[&PREPARE, &RANDOM],
};
