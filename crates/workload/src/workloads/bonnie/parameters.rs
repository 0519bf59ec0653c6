//! Parameters that ours and the original program have in common.

use crate::{Kind, Parameter};

pub(in crate::workloads) const CHUNK: Parameter = Parameter {
    name: "chunk",
    help: "Bytes of a read or write.",
    kind: Kind::Size,
    default: "8192",
    scales: false,
};

pub(in crate::workloads) const FAST: Parameter = Parameter {
    name: "fast",
    help: "As `-f`: leaves out the phases that go byte by byte.",
    kind: Kind::Switch,
    default: "off",
    scales: false,
};

pub(in crate::workloads) const FILES: Parameter = Parameter {
    name: "files",
    help: "Small files, in units of 1024; 0 leaves their phases out.",
    kind: Kind::Count { min: 0, max: 100_000 },
    default: "16",
    scales: true,
};

pub(in crate::workloads) const MAX_SIZE: Parameter = Parameter {
    name: "max_size",
    help: "Small files stay below this size.",
    kind: Kind::Size,
    default: "0",
    scales: false,
};

pub(in crate::workloads) const MIN_SIZE: Parameter = Parameter {
    name: "min_size",
    help: "Smallest size of a small file.",
    kind: Kind::Size,
    default: "0",
    scales: false,
};

pub(in crate::workloads) const DIRECTORIES: Parameter = Parameter {
    name: "directories",
    help: "Directories over which small files are spread.",
    kind: Kind::Count { min: 1, max: 99_999 },
    default: "1",
    scales: false,
};
