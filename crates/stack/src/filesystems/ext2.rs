//! ext2: no journal, and a check of the whole device after a crash.

use units::Bytes;

use super::aliases::Alias;
use super::ext_family::{
    EXT2_2004, EXT2_ALIASES, EXT2_TODAY, Member, UPKEEP_PROGRAMS, features_in, upkeep_of,
};
use super::vocabulary::{
    ATIME, BARRIER, BLOCK_SIZE, DIR_INDEX, DIRECTORY_HASH, FEATURE_SET, INODE_RATIO, INODE_SIZE,
    RESERVED_PERCENT, RESIZE_INODE, STRIPE_UNIT, STRIPE_WIDTH, SYNC,
};
use super::{Description, Filesystem, Plan, Preset, Request, Upkeep, UpkeepRequest};
use crate::{Contender, Refusal};

pub(super) struct Ext2;

static DESCRIPTION: Description = Description {
    name: "ext2",
    summary: "no journal; the baseline that everything else was measured against",
    kernel_type: "ext2",
    module: "ext4",
    package: Some("e2fsprogs"),
    programs: &["mke2fs", "e2fsck", "dumpe2fs", "tune2fs"],
    options: &[
        ATIME.here("when reading updates the access time"),
        SYNC.here("synchronous writing"),
        BARRIER.here("flushes on fsync"),
        BLOCK_SIZE.here("1K, 2K or 4K (default), at every device size"),
        INODE_SIZE.here("128 up to the block size; default 256"),
        INODE_RATIO.here("one inode per this many bytes; default 16K, `-T news` used 4K"),
        DIR_INDEX.here("default on, as in mke2fs since 2006"),
        DIRECTORY_HASH.only("half_md4|tea|legacy", "default half_md4"),
        RESIZE_INODE.here("default on"),
        RESERVED_PERCENT.here("0 to 50; default 5"),
        STRIPE_UNIT.here("default: what the device reports"),
        STRIPE_WIDTH.here("disks that hold data; needs stripe_unit"),
        FEATURE_SET.only("today|2004", "default today"),
    ],
    presets: &[Preset {
        name: "2004",
        help: "mke2fs 1.35 (Fedora Core 2, the Maildir study of 2004): no dir_index, no room for \
               resizing, inodes of 128 bytes, one per 8 KiB",
        options: &[("feature_set", "2004"), ("inode_size", "128"), ("inode_ratio", "8K")],
        mkfs: &[],
    }],
    varies: None,
    needs_device: true,
};

static MEMBER: Member = Member {
    description: &DESCRIPTION,
    feature_sets: &[("today", EXT2_TODAY), ("2004", EXT2_2004)],
    journal: false,
};

impl Filesystem for Ext2 {
    fn describe(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn aliases(&self) -> &'static [Alias] {
        EXT2_ALIASES
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
