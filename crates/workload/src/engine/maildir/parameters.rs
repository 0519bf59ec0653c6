//! The switches of the Maildir workloads.

use super::names::Tree;
use super::sources::Sources;
use crate::Parameters;
use crate::typed::{ChoiceParameter, CountParameter, FractionParameter, SwitchParameter, choice};

pub(crate) const MAILS: CountParameter = CountParameter::new(
    "mails",
    "Mails in `write_src`. A corpus with fewer mails is repeated under new names.",
    1,
    10_000_000,
    "77133",
)
.scaled();
pub(crate) const READ_MAILS: CountParameter =
    CountParameter::new("read_mails", "Mails in `read_src`.", 1, 10_000_000, "1177").scaled();
pub(crate) const MAILDIRS: CountParameter = CountParameter::new(
    "maildirs",
    "Maildirs, each with `tmp`, `new` and `cur`.",
    1,
    10_000_000,
    "10100",
)
.scaled();
pub(crate) const MAILDIRS_PER_BASE: CountParameter = CountParameter::new(
    "maildirs_per_base",
    "Maildirs in each base directory.",
    1,
    10_000_000,
    "100",
);
pub(crate) const OPS: CountParameter =
    CountParameter::new("ops", "Deliveries and reads together.", 1, 100_000_000, "10000").scaled();
pub(crate) const WRITE_SHARE: FractionParameter = FractionParameter::new(
    "write_share",
    "Probability that an op is a delivery; each op is drawn independently.",
    "0.8",
);
choice! {
    /// How a delivery writes.
    pub(crate) enum Flush {
        PerLine = "per-line": "one write(2) for each line",
        Buffered = "buffered": "writes of 4096 bytes, the buffer of the Perl of that time",
    }
}
pub(crate) const FLUSH: ChoiceParameter<Flush> = ChoiceParameter::of(
    "flush",
    "How a delivery writes. The single-disk study of 2004 flushed, the RAID study did not.",
    "per-line",
);
choice! {
    /// When a directory is listed.
    pub(crate) enum Relist {
        PerOp = "per-op": "before each op",
        Once = "once": "before the first op",
    }
}
pub(crate) const RELIST: ChoiceParameter<Relist> = ChoiceParameter::of(
    "relist",
    "When the directory that an op draws from is listed. The original's CPU time shows that it \
           listed all 77,133 names for each op.",
    "per-op",
);
pub(crate) const RELIST_ONCE: ChoiceParameter<Relist> = RELIST.with_default("once").with_help(
    "When the directory that an op draws from is listed. The original's CPU time in its read test \
           shows that it listed the directory once.",
);
choice! {
    /// How a mail gets into `new`.
    pub(crate) enum Delivery {
        Simple = "simple": "create in tmp without a stat, write, rename: as the original seems to do",
        Classic = "classic": "the Maildir specification: stat, create exclusively, write, link, unlink",
        Rename = "rename": "as today's servers: stat, create exclusively, write, rename",
    }
}
pub(crate) const DELIVERY: ChoiceParameter<Delivery> =
    ChoiceParameter::of("delivery", "How a mail gets into `new`.", "simple");
choice! {
    /// What is made durable before a delivery counts as done.
    pub(crate) enum Durable {
        Nothing = "none": "nothing; the original shows no sign of fsync",
        File = "file": "the mail, before it is closed",
        FileAndDirectory = "file+dir": "the mail, and the directory `new` after the mail was moved there",
    }
}
pub(crate) const FSYNC: ChoiceParameter<Durable> =
    ChoiceParameter::of("fsync", "What is made durable before a delivery counts as done.", "none");
choice! {
    /// Where a delivery gets its mail.
    pub(crate) enum CopyFrom {
        WriteSrc = "write_src": "from a file on the filesystem under test, as in the original",
        Memory = "memory": "from memory, as a mail server gets it from the network",
    }
}
pub(crate) const COPY_FROM: ChoiceParameter<CopyFrom> =
    ChoiceParameter::of("copy_from", "Where a delivery gets its mail.", "write_src");
choice! {
    /// Where reads go.
    pub(crate) enum Pool {
        WriteSrc = "write_src": "the large flat directory",
        ReadSrc = "read_src": "the small flat directory",
        Maildirs = "maildirs": "mails delivered earlier, in the maildirs",
    }
}
pub(crate) const POOL: ChoiceParameter<Pool> =
    ChoiceParameter::of("pool", "Where reads go.", "read_src");
pub(crate) const POOL_WRITE_SRC: ChoiceParameter<Pool> = POOL.with_default("write_src").with_help(
    "Where reads go. The original's times rule out the small directory, which fits into any cache.",
);
pub(crate) const MARK_SEEN: SwitchParameter = SwitchParameter::new(
    "mark_seen",
    "Whether the first read of a mail in a maildir moves it from `new` to `cur` with the \
           flag `S`, as the specification asks of a reader.",
    "off",
);
pub(crate) const POPULATE: CountParameter = CountParameter::new(
    "populate",
    "With pool=maildirs: mails delivered beforehand when the maildirs are empty.",
    1,
    10_000_000,
    "8000",
)
.scaled();
pub(crate) const SETTLE: SwitchParameter = SwitchParameter::new(
    "settle",
    "Whether the data written by unpacking and setup is made durable, outside any clock, before \
           the ops begin. Off: as in the original, whose steps ran directly after each other.",
    "on",
);

impl Pool {
    /// The flat directory of this pool.
    pub(crate) fn sources(self, parameters: &Parameters) -> Option<Sources> {
        match self {
            Pool::WriteSrc => Some(write_sources(parameters)),
            Pool::ReadSrc => Some(Sources::read(parameters.get(&READ_MAILS) as u32)),
            Pool::Maildirs => None,
        }
    }
}

pub(crate) fn write_sources(parameters: &Parameters) -> Sources {
    Sources::write(parameters.get(&MAILS) as u32)
}

pub(crate) fn tree(parameters: &Parameters) -> Tree {
    Tree {
        maildirs: parameters.get(&MAILDIRS) as u32,
        per_base: parameters.get(&MAILDIRS_PER_BASE) as u32,
    }
}
