//! What Filebench's personalities have in common: a set of files, threads that go through a
//! list of actions again and again.

mod actor;
pub(super) mod model;
pub(super) mod own;
pub(super) mod personalities;
mod run;
mod set;

use units::{Bytes, Nanos};

use crate::engine::contents::{COMPRESSIBLE, DUPLICATE};
use crate::typed::{
    CountParameter, FractionParameter, OPS_MAX, SizeParameter, TIME_MAX, TimeParameter,
};
use crate::{OpDescription, Parameter, PhaseDescription};

pub(crate) use self::model::is_model as is_filebench_model;

/// Reads a model; `given` are values of its variables in place of its own.
///
/// # Errors
/// The line of what is wrong, and what it is.
pub(crate) fn filebench_model(
    text: &str,
    given: &std::collections::BTreeMap<String, String>,
) -> Result<(), (usize, String)> {
    let read = model::Model::read(text, given);
    read.map(drop).map_err(|problem| (problem.line, problem.what))
}

/// One entry of a personality's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Delete a file.
    Delete,
    /// Make a file that is not there, and keep it open.
    Create,
    /// Write the open file up to its size.
    WriteWhole,
    /// Append up to `append_size` to the open file.
    Append,
    /// fsync of the open file.
    Fsync,
    /// Close it.
    Close,
    /// Open a file that is there.
    Open,
    /// Read the open file to its end.
    ReadWhole,
    /// Attributes of a file by name.
    Stat,
    /// Append up to `append_size` to the one log that all threads share.
    Log,
}

/// Kinds of op, in the order of [`Action`].
const OPS: &[OpDescription] = &[
    OpDescription { name: "delete", span: "one unlink" },
    OpDescription { name: "create", span: "one open that makes the file" },
    OpDescription { name: "write", span: "writes of the whole file" },
    OpDescription { name: "append", span: "one write at the end" },
    OpDescription { name: "fsync", span: "one fsync" },
    OpDescription { name: "close", span: "one close" },
    OpDescription { name: "open", span: "one open" },
    OpDescription { name: "read", span: "reads of the whole file" },
    OpDescription { name: "stat", span: "one stat" },
    OpDescription { name: "log", span: "one write at the end of the log" },
];

static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "creates the part of the set of files that exists at the beginning",
    clock: "create, writes of `io_size`, close of each file; at the end a sync. Directories are \
            made beforehand",
    ops: &[OpDescription { name: "file", span: "create to close of one file" }],
    disk_bound: false,
};

static RUN: PhaseDescription = PhaseDescription {
    name: "run",
    summary: "threads repeat the list of ops",
    clock: "from the moment all threads are released until each has ended its last round; no cache \
            drop before, no sync after. Finding a free file of the set is part of an op",
    ops: OPS,
    disk_bound: true,
};

const FILES: CountParameter =
    CountParameter::new("files", "Slots for files in the set.", 1, 10_000_000, "1000").scaled();
const DIRECTORY_WIDTH: CountParameter = CountParameter::new(
    "directory_width",
    "Mean number of entries of a directory.",
    1,
    10_000_000,
    "20",
);
const MEAN_SIZE: SizeParameter = SizeParameter::new(
    "mean_size",
    "Mean size of a file; sizes follow a gamma distribution of shape 1.5.",
    Bytes(1),
    Bytes::from_gib(1024),
    "16K",
);
const APPEND_SIZE: SizeParameter = SizeParameter::new(
    "append_size",
    "Appends are of 1 byte to this size.",
    Bytes(1),
    Bytes::from_mib(64),
    "16K",
);
const IO_SIZE: SizeParameter = SizeParameter::new(
    "io_size",
    "Bytes of a read or write of a whole file.",
    Bytes(1),
    Bytes::from_mib(64),
    "1M",
);
const PREALLOCATED: FractionParameter = FractionParameter::new(
    "preallocated",
    "Share of the slots that hold a file at the beginning.",
    "1",
);
const THREADS: CountParameter = CountParameter::new("threads", "Threads.", 1, 1024, "16");
const TIME: TimeParameter = TimeParameter::new(
    "time",
    "How long threads keep starting new rounds.",
    Nanos::from_millis(1),
    TIME_MAX,
    "60s",
)
.scaled();
const LOOPS: CountParameter = CountParameter::new(
    "loops",
    "End after this many rounds of each thread instead; 0 for the time.",
    0,
    OPS_MAX,
    "0",
);

/// The parameters of a personality, with its defaults.
const fn parameters(
    files: &'static str,
    width: &'static str,
    mean_size: &'static str,
    threads: &'static str,
    preallocated: &'static str,
) -> [Parameter; 11] {
    [
        FILES.with_default(files).row,
        DIRECTORY_WIDTH.with_default(width).row,
        MEAN_SIZE.with_default(mean_size).row,
        APPEND_SIZE.row,
        IO_SIZE.row,
        PREALLOCATED.with_default(preallocated).row,
        THREADS.with_default(threads).row,
        TIME.row,
        LOOPS.row,
        COMPRESSIBLE.row,
        DUPLICATE.row,
    ]
}
