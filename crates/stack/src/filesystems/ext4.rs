//! ext4: extents, delayed allocation, checksums. The default of most distributions.

use units::Bytes;

use super::aliases::Alias;
use super::ext_family::{EXT4_ALIASES, Member, UPKEEP_PROGRAMS, features_in, upkeep_of};
use super::vocabulary::{
    ATIME, BARRIER, BLOCK_SIZE, COMMIT_INTERVAL, DATA, DELALLOC, DIR_INDEX, DIRECTORY_HASH,
    EXTENTS, FEATURE_SET, INLINE_DATA, INODE_RATIO, INODE_SIZE, JOURNAL, JOURNAL_SIZE, LAZY_INIT,
    METADATA_CHECKSUM, RESERVED_PERCENT, RESIZE_INODE, STRIPE_UNIT, STRIPE_WIDTH, SYNC,
};
use super::{Description, Filesystem, Plan, Preset, Request, Upkeep, UpkeepRequest};
use crate::{Contender, Refusal};

pub(super) struct Ext4;

static DESCRIPTION: Description = Description {
    name: "ext4",
    summary: "extents, journal, delayed allocation; the default of most distributions",
    kernel_type: "ext4",
    module: "ext4",
    package: Some("e2fsprogs"),
    programs: &["mke2fs", "e2fsck", "dumpe2fs", "tune2fs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("default on"),
        JOURNAL.here("default: external if the layout has a journal disk; none: no journal at all"),
        JOURNAL_SIZE.here("whole MiB, 1024 blocks at least; default by device size"),
        DATA.here("default ordered; journal excludes delayed allocation"),
        COMMIT_INTERVAL.here("seconds, 1 to 900; default 5"),
        BLOCK_SIZE.here("1K, 2K or 4K (default), at every device size"),
        INODE_SIZE.here("128 up to the block size; default 256"),
        INODE_RATIO.here("one inode per this many bytes; default 16K"),
        DIR_INDEX.here("default on"),
        DIRECTORY_HASH.only("half_md4|tea|legacy", "default half_md4"),
        EXTENTS.here("default on"),
        INLINE_DATA.here("default off"),
        DELALLOC.here("default on"),
        RESIZE_INODE.here("default on"),
        METADATA_CHECKSUM.here("default on"),
        LAZY_INIT.here(
            "default off, so that no work is left to run during the measurement. With on, fstrial \
             waits until the kernel thread has ended; what lies on the device then is the same",
        ),
        RESERVED_PERCENT.here("0 to 50; default 5"),
        STRIPE_UNIT.here("default: what the device reports"),
        STRIPE_WIDTH.here("disks that hold data; needs stripe_unit"),
        FEATURE_SET.only("today|2007|2011", "default today"),
    ],
    presets: &[
        Preset {
            name: "2007",
            help: "the development version of ext4 in Linux 2.6.22 (the study of August 2007): \
                   what mke2fs 1.40 made for ext3, mounted with extents; inodes of 128 bytes, one \
                   per 8 KiB, no delayed allocation. Its block allocator no longer exists",
            options: &[
                ("feature_set", "2007"),
                ("inode_size", "128"),
                ("inode_ratio", "8K"),
                ("delalloc", "off"),
            ],
            mkfs: &[],
        },
        Preset {
            name: "2011",
            help: "mke2fs 1.41 (the 2 GB study of February 2011): uninitialised block groups \
                   instead of metadata checksums, 32-bit block numbers",
            options: &[("feature_set", "2011")],
            mkfs: &[],
        },
    ],
    varies: None,
    needs_device: true,
};

/// Today's mke2fs, spelled out (e2fsprogs 1.47.0, Debian 12).
const TODAY: &[&str] = &[
    "has_journal",
    "ext_attr",
    "resize_inode",
    "dir_index",
    "filetype",
    "extent",
    "64bit",
    "flex_bg",
    "sparse_super",
    "large_file",
    "huge_file",
    "dir_nlink",
    "extra_isize",
    "metadata_csum",
];

/// The base features of mke2fs 1.40; `extent` is what mounting with extents set.
const IN_2007: &[&str] =
    &["has_journal", "resize_inode", "dir_index", "filetype", "sparse_super", "extent"];

/// mke2fs 1.41.
const IN_2011: &[&str] = &[
    "has_journal",
    "ext_attr",
    "resize_inode",
    "dir_index",
    "filetype",
    "extent",
    "flex_bg",
    "sparse_super",
    "large_file",
    "huge_file",
    "uninit_bg",
    "dir_nlink",
    "extra_isize",
];

static MEMBER: Member = Member {
    description: &DESCRIPTION,
    feature_sets: &[("today", TODAY), ("2007", IN_2007), ("2011", IN_2011)],
    journal: true,
};

impl Filesystem for Ext4 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        EXT4_ALIASES
    }

    fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        MEMBER.minimum_size(contender)
    }

    fn inodes(&self, contender: &Contender, size: Bytes) -> Result<Option<u64>, Refusal> {
        MEMBER.inodes(contender, size).map(Some)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        MEMBER.plan(request)
    }

    fn features(&self, inspected: &[(String, String)]) -> Vec<String> {
        features_in(inspected)
    }

    fn upkeep(&self, request: &UpkeepRequest<'_>) -> Upkeep {
        upkeep_of(request)
    }

    fn upkeep_programs(&self) -> &'static [&'static str] {
        UPKEEP_PROGRAMS
    }
}
