//! PostMark's description, parameters and phases.

use units::Bytes;

use crate::typed::{CountParameter, SizeParameter, SwitchParameter};
use crate::{Description, Headline, OpDescription, PhaseDescription};

const CREATE_OP: OpDescription =
    OpDescription { name: "create", span: "open (truncating), fstat, writes, close of a new file" };
const DELETE_OP: OpDescription = OpDescription { name: "delete", span: "one unlink" };

pub(super) static CREATE: PhaseDescription = PhaseDescription {
    name: "create",
    summary: "creates the initial files",
    clock: "the creates with their closes; no sync. Subdirectories are made before the clock",
    ops: &[CREATE_OP],
    disk_bound: false,
};
pub(super) static TRANSACTIONS: PhaseDescription = PhaseDescription {
    name: "transactions",
    summary: "each transaction reads or appends to a file, then creates or deletes one",
    clock: "all transactions with their closes; no sync, no cache drop before",
    ops: &[
        CREATE_OP,
        OpDescription { name: "read", span: "open, fstat, reads of the whole file, close" },
        OpDescription { name: "append", span: "open, seek to the end, fstat, writes, close" },
        DELETE_OP,
    ],
    disk_bound: false,
};
pub(super) static DELETE: PhaseDescription = PhaseDescription {
    name: "delete",
    summary: "deletes the files that are left",
    clock: "the unlinks in the order of the file table. Subdirectories are removed after it. With \
            verification every file is read back beforehand, outside the clock",
    ops: &[DELETE_OP],
    disk_bound: false,
};

/// The largest size that PostMark's own arithmetic takes.
pub(in crate::workloads) const LARGEST: Bytes = Bytes((1 << 30) - 1);

pub(super) const NUMBER: CountParameter =
    CountParameter::new("number", "Files created at the beginning.", 1, 100_000_000, "500")
        .scaled();
pub(super) const TRANSACTIONS_PARAMETER: CountParameter =
    CountParameter::new("transactions", "Transactions, each of two ops.", 1, 100_000_000, "500")
        .scaled();
pub(super) const SUBDIRECTORIES: CountParameter = CountParameter::new(
    "subdirectories",
    "Directories over which files are spread; 0 and 1: none.",
    0,
    1_000_000,
    "0",
);
pub(super) const SIZE_LOW: SizeParameter =
    SizeParameter::new("size_low", "Smallest size of a new file.", Bytes(1), LARGEST, "500");
pub(super) const SIZE_HIGH: SizeParameter = SizeParameter::new(
    "size_high",
    "Largest size of a file; new ones stay below it.",
    Bytes(1),
    LARGEST,
    "10000",
);
pub(super) const READ_BLOCK: SizeParameter =
    SizeParameter::new("read_block", "Size of a read when unbuffered.", Bytes(1), LARGEST, "512");
pub(super) const WRITE_BLOCK: SizeParameter =
    SizeParameter::new("write_block", "Size of a write when unbuffered.", Bytes(1), LARGEST, "512");
pub(super) const BIAS_READ: CountParameter = CountParameter::new(
    "bias_read",
    "Tenths of the transactions that read; the others append.",
    0,
    10,
    "5",
);
pub(super) const BIAS_CREATE: CountParameter = CountParameter::new(
    "bias_create",
    "Tenths of the transactions that create; the others delete.",
    0,
    10,
    "5",
);
pub(super) const BUFFERED: SwitchParameter = SwitchParameter::new(
    "buffered",
    "Whether reads and writes go through a buffer as the C library's do.",
    "on",
);
pub(super) const PM_SEED: CountParameter = CountParameter::new(
    "pm_seed",
    "PostMark's own seed; 0 takes it from the trial's.",
    0,
    u32::MAX as u64,
    "42",
);

pub(super) static DESCRIPTION: Description = Description {
    name: "postmark",
    summary: "PostMark 1.51: many small short-lived files of a mail server",
    origin: "PostMark 1.51 (Katcher, Network Appliance TR3022, 1997). The generator is the \
original's, MT19937 in its version of 1999, and so is every draw from it: with equal settings the \
same files are created, read, appended and deleted in the same order. `number=10000 \
transactions=10000 subdirectories=1`, 10 and 100 are the *postmark 1, 10, 100* of the study of \
2007. System calls are those of the original with glibc's buffered streams: a buffer of the file's \
preferred block, at most 8 KiB.\n\n\
In addition to the times of fstrial's clock, the phase `delete` has the original's figures, \
computed from whole seconds, at least one (`original_total_s`, `original_transactions_s` and rates \
in MB of 1024² bytes over the total).\n\n\
Departures: the sequence is drawn before the clocks start; there is only one location; a bias \
cannot be switched off; an error ends the phase, where the original prints it and exits \
successfully; when no file is left the phase fails with that reason, where the original crashes. \
The seed is PostMark's own and by default the same in every trial; `pm_seed=0` takes it from the \
trial.",
    headline: Headline {
        question: "a mail server's small files (PostMark)",
        phase: "transactions",
        metric: "ops_rate",
        things: "ops",
    },
    presets: &[],
    inputs: &[],
    parameters: &[
        NUMBER.row,
        TRANSACTIONS_PARAMETER.row,
        SUBDIRECTORIES.row,
        SIZE_LOW.row,
        SIZE_HIGH.row,
        READ_BLOCK.row,
        WRITE_BLOCK.row,
        BIAS_READ.row,
        BIAS_CREATE.row,
        BUFFERED.row,
        PM_SEED.row,
    ],
    phases: &[&CREATE, &TRANSACTIONS, &DELETE],
};
