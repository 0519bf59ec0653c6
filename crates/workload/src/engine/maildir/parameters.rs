//! The switches of the Maildir workloads.

use super::names::Tree;
use super::sources::Sources;
use crate::{Kind, Parameter, Parameters};

pub(crate) const MAILS: Parameter = Parameter {
    name: "mails",
    help: "Mails in `write_src`. A corpus with fewer is used again under new names.",
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: "77133",
    scales: true,
};
pub(crate) const READ_MAILS: Parameter = Parameter {
    name: "read_mails",
    help: "Mails in `read_src`.",
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: "1177",
    scales: true,
};
pub(crate) const MAILDIRS: Parameter = Parameter {
    name: "maildirs",
    help: "Maildirs, each with `tmp`, `new` and `cur`.",
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: "10100",
    scales: true,
};
pub(crate) const MAILDIRS_PER_BASE: Parameter = Parameter {
    name: "maildirs_per_base",
    help: "Maildirs in each base directory.",
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: "100",
    scales: false,
};
pub(crate) const OPS: Parameter = Parameter {
    name: "ops",
    help: "Deliveries and reads together.",
    kind: Kind::Count { min: 1, max: 100_000_000 },
    default: "10000",
    scales: true,
};
pub(crate) const WRITE_SHARE: Parameter = Parameter {
    name: "write_share",
    help: "Probability that an op is a delivery; each op is drawn on its own.",
    kind: Kind::Fraction,
    default: "0.8",
    scales: false,
};
pub(crate) const FLUSH: Parameter = Parameter {
    name: "flush",
    help: "How a delivery writes. The single-disk study of 2004 flushed, the RAID study did not.",
    kind: Kind::Choice(&[
        ("per-line", "one write(2) for each line"),
        ("buffered", "writes of 4096 bytes, the buffer of the Perl of that time"),
    ]),
    default: "per-line",
    scales: false,
};
pub(crate) const RELIST: Parameter = Parameter {
    name: "relist",
    help: "When the directory that an op draws from is listed. The original's CPU time says \
           that it listed all 77,133 names for each op.",
    kind: Kind::Choice(&[("per-op", "before each op"), ("once", "before the first op")]),
    default: "per-op",
    scales: false,
};
pub(crate) const RELIST_ONCE: Parameter = Parameter {
    default: "once",
    help: "When the directory that an op draws from is listed. The original's CPU time in its \
           read test says: once.",
    ..RELIST
};
pub(crate) const DELIVERY: Parameter = Parameter {
    name: "delivery",
    help: "How a mail gets into `new`.",
    kind: Kind::Choice(&[
        ("simple", "create in tmp without asking, write, rename: as the original seems to do"),
        ("classic", "the Maildir specification: stat, create exclusively, write, link, unlink"),
        ("rename", "as today's servers: stat, create exclusively, write, rename"),
    ]),
    default: "simple",
    scales: false,
};
pub(crate) const FSYNC: Parameter = Parameter {
    name: "fsync",
    help: "What is made durable before a delivery counts as done.",
    kind: Kind::Choice(&[
        ("none", "nothing; the original shows no sign of fsync"),
        ("file", "the mail, before it is closed"),
        ("file+dir", "the mail, and `new` after the mail got there"),
    ]),
    default: "none",
    scales: false,
};
pub(crate) const COPY_FROM: Parameter = Parameter {
    name: "copy_from",
    help: "Where a delivery gets its mail.",
    kind: Kind::Choice(&[
        ("write_src", "from a file on the filesystem under test, as the original"),
        ("memory", "from memory, as a mail server gets it from the network"),
    ]),
    default: "write_src",
    scales: false,
};
const POOLS: Kind = Kind::Choice(&[
    ("write_src", "the large flat directory"),
    ("read_src", "the small flat directory"),
    ("maildirs", "mails delivered before, in the maildirs"),
]);
pub(crate) const POOL: Parameter = Parameter {
    name: "pool",
    help: "Where reads go.",
    kind: POOLS,
    default: "read_src",
    scales: false,
};
pub(crate) const POOL_WRITE_SRC: Parameter = Parameter {
    default: "write_src",
    help: "Where reads go. The original's times exclude the small directory, which fits into \
           any cache.",
    ..POOL
};
pub(crate) const MARK_SEEN: Parameter = Parameter {
    name: "mark_seen",
    help: "Whether the first read of a mail in a maildir moves it from `new` to `cur` with the \
           flag `S`, as the specification asks of a reader.",
    kind: Kind::Switch,
    default: "off",
    scales: false,
};
pub(crate) const POPULATE: Parameter = Parameter {
    name: "populate",
    help: "With pool=maildirs: mails delivered beforehand when the maildirs are empty.",
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: "8000",
    scales: true,
};
pub(crate) const SETTLE: Parameter = Parameter {
    name: "settle",
    help: "Whether what unpacking and setup wrote is made durable, outside any clock, before \
           the ops begin. Off: as the original, whose steps ran one after the other.",
    kind: Kind::Switch,
    default: "on",
    scales: false,
};

/// Where reads go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    WriteSrc,
    ReadSrc,
    Maildirs,
}

impl Pool {
    pub(crate) fn of(parameters: &Parameters) -> Pool {
        match parameters.text("pool") {
            "write_src" => Pool::WriteSrc,
            "maildirs" => Pool::Maildirs,
            _ => Pool::ReadSrc,
        }
    }

    /// The flat directory of this pool.
    pub(crate) fn sources(self, parameters: &Parameters) -> Option<Sources> {
        match self {
            Pool::WriteSrc => Some(write_sources(parameters)),
            Pool::ReadSrc => Some(Sources::read(parameters.count("read_mails") as u32)),
            Pool::Maildirs => None,
        }
    }
}

pub(crate) fn write_sources(parameters: &Parameters) -> Sources {
    Sources::write(parameters.count("mails") as u32)
}

pub(crate) fn tree(parameters: &Parameters) -> Tree {
    Tree {
        maildirs: parameters.count("maildirs") as u32,
        per_base: parameters.count("maildirs_per_base") as u32,
    }
}
