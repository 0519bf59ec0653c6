//! The description of `fsync-append`, its phases and parameters.

use units::Bytes;

use crate::engine::contents::COMPRESSIBLE;
use crate::typed::{ChoiceParameter, CountParameter, SizeParameter, choice};
use crate::{Description, Headline, OpDescription, PhaseDescription, Preset};

pub(super) static PREPARE: PhaseDescription = PhaseDescription {
    name: "prepare",
    summary: "reserves room for the logs, if requested",
    clock: "for each segment create, fallocate or writes of zeros, fsync, close",
    ops: &[OpDescription { name: "segment", span: "create to close of one segment" }],
    disk_bound: false,
};
pub(super) static APPEND: PhaseDescription = PhaseDescription {
    name: "append",
    summary: "writers append records, each made durable before the next",
    clock: "from the moment all writers are released until the last has closed its log: beginning \
            each segment, with fsync of its directory; writes; syncs",
    ops: &[
        OpDescription { name: "commit", span: "the sync of one record, or its write with O_DSYNC" },
        OpDescription { name: "write", span: "the write of one record, left out of its commit" },
        OpDescription {
            name: "segment",
            span: "create or open of a segment, fsync of the directory",
        },
    ],
    disk_bound: true,
};
pub(super) const RECORDS: CountParameter =
    CountParameter::new("records", "Records of each writer.", 1, 1_000_000_000, "10_000").scaled();
pub(super) const RECORD: SizeParameter =
    SizeParameter::new("record", "Bytes of a record.", Bytes(1), Bytes::from_mib(64), "8K");
choice! {
    /// What makes a record durable.
    pub(super) enum Sync {
        Fsync = "fsync": "fsync",
        Fdatasync = "fdatasync": "fdatasync, which may leave out timestamps",
        Dsync = "dsync": "the file is open with O_DSYNC",
        None = "none": "nothing: for comparison",
    }
}
pub(super) const SYNC: ChoiceParameter<Sync> =
    ChoiceParameter::of("sync", "What makes a record durable.", "fsync");
choice! {
    /// State of a segment before records are written to it.
    pub(super) enum Room {
        None = "none": "it does not exist",
        Fallocate = "fallocate": "reserved blocks",
        Zeros = "zeros": "blocks of zeros, so that no append changes metadata",
    }
}
pub(super) const ROOM: ChoiceParameter<Room> =
    ChoiceParameter::of("room", "State of a segment before records are written to it.", "none");
pub(super) const SEGMENT_PARAMETER: SizeParameter = SizeParameter::new(
    "segment",
    "Size at which a new file is begun, a multiple of the record.",
    Bytes(1),
    Bytes::from_gib(1024),
    "16M",
);
pub(super) const WRITERS: CountParameter =
    CountParameter::new("writers", "Threads, each with a log of its own.", 1, 1024, "1");

pub(super) static DESCRIPTION: Description = Description {
    name: "fsync-append",
    summary: "a database's log: append a record, make it durable, again",
    origin: "Our own, after what databases do with their write-ahead logs: SQLite and many \
key-value stores append and fsync; PostgreSQL writes segments of 16 MiB that hold zeros already, \
and calls fdatasync. Each writer has a log of its own. A segment that does not exist yet is \
created, and its directory made durable, before its first record. A commit's latency is that of \
its sync alone; the write before it has a row of its own.",
    headline: Headline {
        question: "a database's commits to its log",
        phase: "append",
        metric: "ops_rate",
        things: "commits",
    },
    presets: &[
        Preset {
            name: "postgresql",
            question: "committing to PostgreSQL's log: fdatasync of 8 KiB in segments of zeros",
            set: &[("sync", "fdatasync"), ("room", "zeros")],
        },
        Preset {
            name: "kv-store",
            question: "committing to a key-value store's log: small records, fdatasync, a file that grows",
            set: &[("record", "512"), ("sync", "fdatasync"), ("room", "none")],
        },
    ],
    inputs: &[],
    parameters: &[
        RECORDS.row,
        RECORD.row,
        SYNC.row,
        ROOM.row,
        SEGMENT_PARAMETER.row,
        WRITERS.row,
        COMPRESSIBLE.row,
    ],
    phases: &[&PREPARE, &APPEND],
};
