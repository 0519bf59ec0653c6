//! Parameters that our workload shares with the one that runs the original program.

use units::Bytes;

use crate::typed::{CountParameter, SizeParameter, SwitchParameter};

pub(in crate::workloads) const CHUNK: SizeParameter = SizeParameter::new(
    "chunk",
    "Bytes of a read or write.",
    Bytes(256),
    Bytes::from_mib(1),
    "8192",
);

pub(in crate::workloads) const FAST: SwitchParameter =
    SwitchParameter::new("fast", "As `-f`: leaves out the phases that go byte by byte.", "off");

pub(in crate::workloads) const FILES: CountParameter = CountParameter::new(
    "files",
    "Small files, in units of 1024; 0 leaves their phases out.",
    0,
    100_000,
    "16",
)
.scaled();

pub(in crate::workloads) const MAX_SIZE: SizeParameter = SizeParameter::new(
    "max_size",
    "Small files stay below this size.",
    Bytes(0),
    Bytes::from_gib(1),
    "0",
);

pub(in crate::workloads) const MIN_SIZE: SizeParameter = SizeParameter::new(
    "min_size",
    "Smallest size of a small file.",
    Bytes(0),
    Bytes::from_gib(1),
    "0",
);

pub(in crate::workloads) const DIRECTORIES: CountParameter = CountParameter::new(
    "directories",
    "Directories over which small files are spread.",
    1,
    99_999,
    "1",
);
