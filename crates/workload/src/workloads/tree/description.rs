//! The description of `tree`, its phases and parameters.

use units::Bytes;

use crate::typed::{
    ChoiceParameter, CountParameter, FILE_MAX, SizeParameter, SwitchParameter, WordsParameter,
    choice,
};
use crate::{Description, Headline, InputKind, OpDescription, PhaseDescription};

pub(super) static COPY_ARCHIVE: PhaseDescription = PhaseDescription {
    name: "copy-archive",
    summary: "copies the archive onto the filesystem",
    clock: "reads of 128 KiB from where the archive lies and writes of the same size, close; no \
            sync. A synthetic archive is generated while it is written, in records of 10 KiB",
    ops: &[OpDescription { name: "file", span: "the whole archive" }],
    disk_bound: false,
};
pub(super) static UNTAR: PhaseDescription = PhaseDescription {
    name: "untar",
    summary: "unpacks the archive beside it",
    clock: "reads of 10 KiB records of the archive, for each entry the calls of GNU tar (create \
            exclusively, writes, time and, as root, owner and mode, close), times of directories \
            at the end; no sync",
    ops: &[
        OpDescription { name: "file", span: "read of the entry, create to close" },
        OpDescription { name: "directory", span: "one mkdir" },
        OpDescription { name: "link", span: "one symlink or link" },
    ],
    disk_bound: false,
};
pub(super) static COPY: PhaseDescription = PhaseDescription {
    name: "copy",
    summary: "copies the tree as `find | cpio -pdm` does",
    clock: "listing, and for each entry lstat of both, open, reads and writes of 512 bytes, \
            owner (as root), mode, times, close; no sync. Begins cold where that can be done \
            (`cold`)",
    ops: &[
        OpDescription { name: "file", span: "listing before it, lstat to close" },
        OpDescription { name: "other", span: "directory or link" },
    ],
    disk_bound: false,
};
pub(super) static TAR: PhaseDescription = PhaseDescription {
    name: "tar",
    summary: "packs the tree into a tar file on the same filesystem",
    clock: "listing, and for each entry lstat, open, two fstat, reads, close; writes of 10 KiB \
            records; close; no sync. Begins cold where that can be done (`cold`)",
    ops: &[
        OpDescription { name: "file", span: "listing before it, lstat to close, its records" },
        OpDescription { name: "other", span: "directory or link" },
    ],
    disk_bound: false,
};
pub(super) static FIND: PhaseDescription = PhaseDescription {
    name: "find",
    summary: "lists the tree and stats everything in it",
    clock: "listing and one lstat an entry. Begins cold where that can be done (`cold`)",
    ops: &[OpDescription { name: "stat", span: "listing before it, one lstat" }],
    disk_bound: false,
};
pub(super) static REMOVE: PhaseDescription = PhaseDescription {
    name: "remove",
    summary: "removes both trees and both archives",
    clock: "listing, unlinks in that order, rmdirs; no sync. Verification comes before, outside \
            the clock",
    ops: &[OpDescription { name: "remove", span: "listing before it, one unlink or rmdir" }],
    disk_bound: false,
};

choice! {
    /// Where a tree comes from.
    pub(super) enum Source {
        Auto = "auto": "the trial's source tree, or a synthetic one if it has none",
        Archive = "archive": "the trial's source tree",
        Synthetic = "synthetic": "drawn from the seed",
    }
}
pub(super) const SOURCE: ChoiceParameter<Source> =
    ChoiceParameter::of("source", "Where the tree comes from (`--source-tree` names it).", "auto");
pub(super) const FILES: CountParameter =
    CountParameter::new("files", "Files of a synthetic tree.", 1, 10_000_000, "22_500").scaled();
pub(super) const BYTES: SizeParameter =
    SizeParameter::new("bytes", "Size of a synthetic tree.", Bytes(0), FILE_MAX, "250M").scaled();
pub(super) const COLD: SwitchParameter =
    SwitchParameter::new("cold", "Whether copy, tar and find begin with an empty cache.", "on");
pub(super) const PHASES: WordsParameter = WordsParameter::new(
    "phases",
    "Which phases run. What an earlier part has left is used, and stays unless `remove` is among \
                   the phases.",
    &[
        ("copy-archive", "needs nothing"),
        ("untar", "needs what copy-archive leaves"),
        ("copy", "needs what untar leaves"),
        ("tar", "needs what untar leaves"),
        ("find", "needs what untar leaves"),
        ("remove", "removes everything that is there"),
    ],
    "all",
);
pub(super) const REMOVE_PARAMETER: SwitchParameter =
    SwitchParameter::new("remove", "Whether everything is removed at the end of all phases.", "on");

pub(super) static DESCRIPTION: Description = Description {
    name: "tree",
    summary: "a source tree: untar, copy as cpio does, tar, find, remove",
    origin: "The kernel-tree tests of the study of 2007 (`tar xf`, `find linux | cpio -pdm`, `tar \
-cf` to a real file, in whole seconds). Without a source tree (`--source-tree`) the tree is \
synthetic, with the statistics of Linux 2.6.22: 22,500 files in 1,406 directories, 250 MiB; its \
distribution of sizes is assumed, not measured. `linux-6.1` is a real tree, four times as \
large.\n\n\
`phases` selects some of the phases, so that a sequence can have other work in between, as in the \
study: what they create stays for the next part.\n\n\
System calls per file are those of GNU tar 1.34 and GNU cpio 2.13. Departures: paths are resolved \
from the target directory, not from the directory they are in; `find` asks for attributes by full \
path; find and cpio are one thread instead of two processes and a pipe; the archive is a plain \
tar, never compressed, so that no decompression is timed with the filesystem; the time of \
symbolic links, which tar sets, is left as it is, and as root also their owner and, unlike tar, that \
of directories. In the study the copy and the last tar came after a file of 4 GB had pushed \
the tree out of the cache: here these phases begin cold. `find` and `remove` are ours. An archive \
of your own may hold files, directories and links; from a scaled one, files are chosen by a digest \
of their paths, with their directories. Links that the filesystem does not support are left out, \
and the phase is marked as not comparable.",
    headline: Headline {
        question: "unpacking a source tree",
        phase: "untar",
        metric: "wall",
        things: "",
    },
    presets: &[],
    inputs: &[InputKind::SourceTree],
    parameters: &[SOURCE.row, FILES.row, BYTES.row, COLD.row, PHASES.row, REMOVE_PARAMETER.row],
    phases: &[&COPY_ARCHIVE, &UNTAR, &COPY, &TAR, &FIND, &REMOVE],
};
