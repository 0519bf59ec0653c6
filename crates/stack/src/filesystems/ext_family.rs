//! What ext2, ext3 and ext4 share: one mkfs, one kernel driver, one check. The members
//! differ in the feature flags they are made with and in the options they take.
//!
//! Every feature flag, the block size, the inode size and the inode ratio stand on the
//! command line, and `mke2fs.conf` is kept out by naming a file that does not exist: the
//! same request makes the same filesystem on every machine, and a small device gets the
//! blocks of a large one.

mod aliases;
mod mke2fs;

pub(super) use self::aliases::{EXT2_ALIASES, EXT3_ALIASES, EXT4_ALIASES};

use units::Bytes;

use self::mke2fs::outside_configuration;
use super::options::{Options, Placement};
use super::vocabulary::{
    BARRIER, BLOCK_SIZE, COMMIT_INTERVAL, DATA, DELALLOC, DIR_INDEX, DIRECTORY_HASH, EXTENTS,
    FEATURE_SET, INLINE_DATA, INODE_RATIO, INODE_SIZE, JOURNAL, JOURNAL_SIZE, LAZY_INIT,
    METADATA_CHECKSUM, RESIZE_INODE,
};
use super::{Description, Mount, Plan, Repair, Request, Settle, Upkeep, UpkeepRequest, upkeep};
use crate::{Command, Contender, Refusal};

/// A member of the family.
pub(super) struct Member {
    pub(super) description: &'static Description,
    /// The feature flags of each time, by the values of `feature_set`.
    pub(super) feature_sets: &'static [(&'static str, &'static [&'static str])],
    /// Whether it has a journal by default.
    pub(super) journal: bool,
}

/// Today's mke2fs without a configuration file, spelled out (e2fsprogs 1.47.0, Debian 12).
pub(super) const EXT2_TODAY: &[&str] =
    &["ext_attr", "resize_inode", "dir_index", "filetype", "sparse_super", "large_file"];

/// mke2fs 1.35 of February 2004. `large_file` is set by the kernel when the first file
/// passes 2 GiB, `ext_attr` with the first attribute.
pub(super) const EXT2_2004: &[&str] = &["filetype", "sparse_super"];

/// The number of blocks below which mke2fs makes no journal, and says so only on stderr.
const JOURNAL_BLOCKS_OF_DEVICE_MIN: u64 = 2048;
/// The smallest journal, in blocks.
const JOURNAL_BLOCKS_MIN: u64 = 1024;
/// The largest journal mke2fs makes, in blocks.
const JOURNAL_BLOCKS_MAX: u64 = 10_240_000;
/// Without a journal mke2fs takes less, but nothing can be measured on it.
const DEVICE_MIN: u64 = 1 << 20;

/// The numbers that a request resolves to.
struct Geometry {
    block: Bytes,
    inode: Bytes,
    ratio: Bytes,
    placement: Placement,
    journal: Option<Bytes>,
}

impl Member {
    fn geometry(&self, options: &Options<'_>, journal_disk: bool) -> Result<Geometry, Refusal> {
        let block = options.power_of_two(&BLOCK_SIZE, 1024, 4096)?.unwrap_or(Bytes::from_kib(4));
        let inode = options.power_of_two(&INODE_SIZE, 128, block.0)?.unwrap_or(Bytes(256));
        let ratio = options.size(&INODE_RATIO).unwrap_or(Bytes::from_kib(16));
        if ratio.0 < 1024 || ratio.0 > 64 << 20 {
            return Err(options.refuse(&INODE_RATIO, "it lies between 1 KiB and 64 MiB"));
        }
        if inode.0 * 2 > ratio.0 {
            let rule = format!("inodes of {inode} would take more than half of the device");
            return Err(options.refuse(&INODE_RATIO, rule));
        }
        let placement = if self.journal {
            options.placement(&JOURNAL, true, journal_disk)?
        } else {
            options.placement(&JOURNAL, false, journal_disk)?;
            Placement::None
        };
        let journal = options.size(&JOURNAL_SIZE);
        if let Some(size) = journal {
            let blocks = size.0 / block.0;
            if !size.0.is_multiple_of(1 << 20) {
                return Err(options.refuse(&JOURNAL_SIZE, "a journal is whole MiB"));
            }
            if !(JOURNAL_BLOCKS_MIN..=JOURNAL_BLOCKS_MAX).contains(&blocks) {
                let rule = format!(
                    "a journal has {JOURNAL_BLOCKS_MIN} to {JOURNAL_BLOCKS_MAX} blocks, of {block}"
                );
                return Err(options.refuse(&JOURNAL_SIZE, rule));
            }
        }
        if placement == Placement::None {
            for word in [&JOURNAL_SIZE, &DATA] {
                if options.text(word).is_some() {
                    return Err(options.refuse(word, "without a journal it means nothing"));
                }
            }
        }
        Ok(Geometry { block, inode, ratio, placement, journal })
    }

    /// See [`super::Filesystem::minimum_size`].
    pub(super) fn minimum_size(&self, contender: &Contender) -> Result<Bytes, Refusal> {
        let options = Options::of(self.description, contender)?;
        let disk = contender.layout.has_journal_disk();
        Ok(self.geometry(&options, disk)?.minimum())
    }

    /// See [`super::Filesystem::inodes`].
    pub(super) fn inodes(&self, contender: &Contender, size: Bytes) -> Result<u64, Refusal> {
        let options = Options::of(self.description, contender)?;
        let geometry = self.geometry(&options, contender.layout.has_journal_disk())?;
        // Eleven inodes are the filesystem's own.
        Ok((size.0 / geometry.ratio.0).saturating_sub(11))
    }

    fn features(&self, options: &Options<'_>, geometry: &Geometry) -> Vec<&'static str> {
        let time = options.text(&FEATURE_SET).unwrap_or("today");
        let listed = self.feature_sets.iter().find(|(name, _)| *name == time);
        let mut features = listed.map(|(_, features)| features.to_vec()).unwrap_or_default();
        let mut set = |feature, wanted: Option<bool>| match wanted {
            Some(true) if !features.contains(&feature) => features.push(feature),
            Some(false) => features.retain(|other| *other != feature),
            _ => {}
        };
        set("has_journal", Some(geometry.placement != Placement::None));
        set("dir_index", options.switch(&DIR_INDEX));
        set("resize_inode", options.switch(&RESIZE_INODE));
        set("extent", options.switch(&EXTENTS));
        set("inline_data", options.switch(&INLINE_DATA));
        set("metadata_csum", options.switch(&METADATA_CHECKSUM));
        if options.switch(&EXTENTS) == Some(false) {
            // Block numbers of 64 bits have no place in indirect blocks.
            set("64bit", Some(false));
        }
        if geometry.inode == Bytes(128) {
            // An inode of 128 bytes has no room for what the flag promises.
            set("extra_isize", Some(false));
        }
        features
    }

    /// See [`super::Filesystem::plan`].
    pub(super) fn plan(&self, request: &Request<'_>) -> Result<Plan, Refusal> {
        let options = Options::of(self.description, request.contender)?;
        let geometry = self.geometry(&options, request.journal.is_some())?;
        let device = options.device(request, geometry.minimum())?;
        let journal = options.journal(request)?;
        let features = self.features(&options, &geometry);
        if options.switch(&INLINE_DATA) == Some(true) && geometry.inode == Bytes(128) {
            return Err(options.refuse(&INLINE_DATA, "inodes of 128 bytes have no room for it"));
        }

        let mut make = Vec::new();
        if let Some(journal) = journal {
            make.push(self.make_journal(&options, &geometry, request, journal));
        }
        make.push(self.make(&options, &geometry, request, &features, device, journal)?);
        if let Some(hash) = options.text(&DIRECTORY_HASH) {
            // mke2fs takes the hash only from its configuration file.
            let hash = format!("hash_alg={hash}");
            make.push(outside_configuration(Command::new("tune2fs", ["-E", &hash, device])));
        }

        let mount = options.mount(self.mount_options(&options, journal)?);
        let name = self.description.name;
        let mut inspect = vec![Command::new("dumpe2fs", ["-h", device])];
        let mut check = vec!["-fn".to_owned()];
        if let Some(journal) = journal {
            inspect.push(Command::new("dumpe2fs", ["-h", journal]));
            check.extend(["-j".to_owned(), journal.to_owned()]);
        }
        check.push(device.to_owned());
        Ok(Plan {
            make,
            durability: options.durability(&mount),
            mount: Mount {
                kernel_type: name.to_owned(),
                source: device.to_owned(),
                options: mount,
            },
            settle: vec![settle(&options)],
            check: vec![Command::new("e2fsck", check)],
            inspect,
            attachment: None,
            served_by: match (name, options.text(&FEATURE_SET)) {
                ("ext4", None | Some("today")) => "ext4.ko".to_owned(),
                (name, None | Some("today")) => format!("ext4.ko, feature set of {name}"),
                (name, Some(time)) => format!("ext4.ko, feature set of {name} in {time}"),
            },
        })
    }

    fn mount_options(
        &self,
        options: &Options<'_>,
        journal: Option<&str>,
    ) -> Result<Vec<String>, Refusal> {
        let mut mount = Vec::new();
        if let Some(journal) = journal {
            // The superblock names the journal by device number, which can change.
            mount.push(format!("journal_path={journal}"));
        }
        if let Some(barrier) = options.switch(&BARRIER) {
            mount.push(format!("barrier={}", u8::from(barrier)));
        }
        if let Some(data) = options.text(&DATA) {
            mount.push(format!("data={data}"));
        }
        if let Some(seconds) = options.number_within(&COMMIT_INTERVAL, 1, 900)? {
            mount.push(format!("commit={seconds}"));
        }
        match options.switch(&DELALLOC) {
            Some(true) if options.text(&DATA) == Some("journal") => {
                return Err(options.refuse(&DELALLOC, "data=journal excludes it"));
            }
            Some(true) => mount.push("delalloc".to_owned()),
            Some(false) => mount.push("nodelalloc".to_owned()),
            None => {}
        }
        Ok(mount)
    }
}

impl Geometry {
    fn minimum(&self) -> Bytes {
        // Room for the inode tables grows with the device.
        let grown = |bytes: u64| {
            let share = self.inode.0 as f64 / self.ratio.0 as f64;
            Bytes((bytes as f64 / (1.0 - share)).ceil() as u64).round_up(64 << 10)
        };
        match (self.placement, self.journal) {
            (Placement::Internal, None) => Bytes(JOURNAL_BLOCKS_OF_DEVICE_MIN * self.block.0),
            // mke2fs refuses a journal that takes more than half of what is free once
            // superblocks, descriptors and room for growth (4 MiB is enough) are placed.
            (Placement::Internal, Some(size)) => grown(size.0 * 2 + (4 << 20)),
            (Placement::External | Placement::None, _) => Bytes(DEVICE_MIN),
        }
    }
}

/// The feature flags in the output of `dumpe2fs -h`, without those that describe its present state
/// (mounted) rather than its format.
pub(super) fn features_in(inspected: &[(String, String)]) -> Vec<String> {
    let dumps = inspected.iter().filter(|(command, _)| command.starts_with("dumpe2fs"));
    let mut lines = dumps.flat_map(|(_, output)| output.lines());
    lines
        .find_map(|line| line.strip_prefix("Filesystem features:"))
        .map(|features| {
            let features = features.split_whitespace();
            features.filter(|feature| *feature != "needs_recovery").map(str::to_owned).collect()
        })
        .unwrap_or_default()
}

/// The command that resizes all of them.
pub(super) const UPKEEP_PROGRAMS: &[&str] = &["resize2fs"];

/// resize2fs, which requires a check before it resizes an unmounted filesystem.
pub(super) fn upkeep_of(request: &UpkeepRequest<'_>) -> Upkeep {
    let sectors = format!("{}s", request.size.0 / 512);
    let resize = upkeep::run("resize2fs", &[request.device, &sectors]);
    let mut unmounted = upkeep::run("e2fsck", &["-f", "-y", request.device]);
    unmounted.extend(resize.clone());
    Upkeep {
        resize_unmounted: unmounted,
        grow_mounted: resize.clone(),
        shrink_mounted: resize,
        // It finds a copy by itself, and ends with 1 when it has repaired something.
        repair: Repair::by_check(request.plan, (1024, 1024), &[("-fn", &["-fy"])], &[0, 1])
            .map(|repair| repair.where_there_is(has_second_group)),
        ..Upkeep::default()
    }
}

/// Whether there is a second block group, which begins with a copy of the superblock.
fn has_second_group(superblock: &[u8]) -> bool {
    let field = |at: usize| {
        let bytes = superblock.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let (Some(blocks), Some(first), Some(in_group)) = (field(4), field(20), field(32)) else {
        return false;
    };
    blocks > first.saturating_add(in_group)
}

/// Background work after mounting. It happens even where mkfs has written every inode table: since
/// 5.13 the same thread prefetches the block bitmaps after each mount.
fn settle(options: &Options<'_>) -> Settle {
    let thread = "ext4lazyinit".to_owned();
    if options.switch(&LAZY_INIT) == Some(true) {
        return Settle::KernelThreadGone(thread);
    }
    Settle::ReadAhead { thread, file: "/proc/fs/ext4/{device}/mb_groups".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_superblock_says_whether_there_is_a_second_group() {
        let superblock = |blocks: u32, first: u32, in_group: u32| {
            let mut bytes = vec![0; 1024];
            for (at, field) in [(4, blocks), (20, first), (32, in_group)] {
                bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
            }
            has_second_group(&bytes)
        };
        // 64 MiB in blocks of 4 KiB; 8 MiB and a block in blocks of 1 KiB.
        assert!(!superblock(16_384, 0, 32_768) && !superblock(32_768, 0, 32_768));
        assert!(superblock(40_000, 0, 32_768) && superblock(8194, 1, 8192));
        assert!(!superblock(8193, 1, 8192) && !has_second_group(&[]));
    }
}
