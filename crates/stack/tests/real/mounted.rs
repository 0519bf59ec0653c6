//! The filesystems that this kernel has: defaults, options, presets, external journals. What
//! was asked for is looked for in the filesystem's own dump and in the kernel's mount options.

use skippable::{Ending, Skipped, skip};
use units::Bytes;

use crate::contender::{Seen, stage};
use crate::machine::{able, kernel_has};

/// Runs a contender on a device of `mib` MiB; skips the test where this machine cannot.
fn seen(text: &str, mib: u64) -> Result<Seen, Skipped> {
    able()?;
    let staged = stage(text, Bytes::from_mib(mib));
    let kernel_type = staged.plan.mount.kernel_type.clone();
    if !kernel_has(&kernel_type) {
        return skip(format!("this kernel has no {kernel_type}"));
    }
    let seen = staged.run_mounted();
    let shown: Vec<_> = seen.mount_options.split(',').collect();
    assert!(shown.contains(&"noatime"), "{text}: {}", seen.mount_options);
    if staged.filesystem.describe().needs_device {
        assert!(seen.dump.contains(&seen.uuid), "{text}: another UUID\n{}", seen.dump);
        assert!(!seen.features.is_empty(), "{text}: no features in\n{}", seen.dump);
    }
    Ok(seen)
}

/// The value behind a name in a dump of `name: value` lines.
fn field<'a>(seen: &'a Seen, name: &str) -> &'a str {
    seen.dump
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))
        .map(str::trim)
        .unwrap_or_else(|| panic!("no `{name}` in\n{}", seen.dump))
}

fn has(seen: &Seen, feature: &str) -> bool {
    seen.features.iter().any(|other| other == feature)
}

fn shows(seen: &Seen, option: &str) -> bool {
    seen.mount_options.split(',').any(|other| other == option)
}

pub(crate) fn ext2_today_and_in_2004() -> Ending {
    let today = seen("ext2", 64)?;
    assert!(!has(&today, "has_journal") && has(&today, "dir_index"));
    assert_eq!(field(&today, "Inode size"), "256");
    assert_eq!(field(&today, "Block size"), "4096", "also on a small device");
    assert_eq!(field(&today, "Inode count"), "4096");
    assert!(field(&today, "Filesystem created").contains("2020"), "not from the clock");
    assert_eq!(field(&today, "Directory Hash Seed"), crate::contender::HASH_SEED);
    let then = seen("ext2@2004", 64)?;
    assert!(!has(&then, "dir_index") && !has(&then, "resize_inode"), "{:?}", then.features);
    assert_eq!(field(&then, "Inode size"), "128");
    assert_eq!(field(&then, "Inode count"), "8192");
    Ok(())
}

pub(crate) fn ext3_as_the_study_of_2004_made_it() -> Ending {
    let plain = seen("ext3@2004:journal_size=256M:inode_ratio=4K", 600)?;
    assert_eq!(plain.features, ["has_journal", "filetype", "sparse_super"]);
    assert_eq!(field(&plain, "Total journal size"), "256M");
    assert_eq!(field(&plain, "Inode size"), "128");
    assert_eq!(field(&plain, "Inode count"), "153600");
    let indexed = seen("ext3@2004:journal_size=256M:inode_ratio=4K:dir_index=on", 600)?;
    assert!(has(&indexed, "dir_index"));
    let today = seen("ext3", 64)?;
    assert!(has(&today, "dir_index") && has(&today, "has_journal") && !has(&today, "extent"));
    Ok(())
}

pub(crate) fn ext3_barriers_off_and_data_modes() -> Ending {
    let off = seen("ext3:barrier=off:data=writeback:commit_interval=20", 64)?;
    assert!(shows(&off, "nobarrier") && shows(&off, "data=writeback") && shows(&off, "commit=20"));
    Ok(())
}

pub(crate) fn ext4_options_reach_the_superblock() -> Ending {
    let made = seen(
        "ext4:journal_size=32M:inode_size=512:dir_index=off:reserved_percent=0:directory_hash=tea",
        128,
    )?;
    assert!(!has(&made, "dir_index") && has(&made, "extent"));
    assert_eq!(field(&made, "Total journal size"), "32M");
    assert_eq!(field(&made, "Inode size"), "512");
    assert_eq!(field(&made, "Reserved block count"), "0");
    assert_eq!(field(&made, "Default directory hash"), "tea");

    let striped = seen("ext4:block_size=1K:stripe_unit=64K:stripe_width=5", 64)?;
    assert_eq!(field(&striped, "Block size"), "1024");
    assert_eq!(field(&striped, "RAID stride"), "64");
    assert_eq!(field(&striped, "RAID stripe width"), "320");

    let bare = seen("ext4:journal=none:extents=off:metadata_checksum=off:resize_inode=off", 64)?;
    for absent in ["has_journal", "extent", "metadata_csum", "resize_inode"] {
        assert!(!has(&bare, absent), "{absent}");
    }

    let raw = seen("ext4:mkfs=-O ^huge_file -T news:inline_data=on", 64)?;
    assert!(!has(&raw, "huge_file") && has(&raw, "inline_data"));
    assert_eq!(field(&raw, "Inode count"), "16384", "as `-T news` says");
    Ok(())
}

pub(crate) fn ext4_mount_options_reach_the_kernel() -> Ending {
    let off = seen("ext4:barrier=off:delalloc=off:sync=on", 64)?;
    assert!(shows(&off, "nobarrier") && shows(&off, "nodelalloc") && shows(&off, "sync"));
    let journalled = seen("ext4:data=journal", 64)?;
    assert!(shows(&journalled, "data=journal"));
    let lazy = seen("ext4:lazy_init=on", 64)?;
    assert!(has(&lazy, "metadata_csum"));
    Ok(())
}

pub(crate) fn ext4_of_2007_and_2011() -> Ending {
    let old = seen("ext4@2007", 64)?;
    assert!(has(&old, "extent") && !has(&old, "flex_bg") && !has(&old, "metadata_csum"));
    assert!(shows(&old, "nodelalloc"));
    assert_eq!(field(&old, "Inode size"), "128");
    let later = seen("ext4@2011", 64)?;
    assert!(has(&later, "uninit_bg") && has(&later, "flex_bg") && !has(&later, "64bit"));
    assert_eq!(field(&later, "Inode size"), "256");
    Ok(())
}

pub(crate) fn ext_journals_on_a_disk_of_their_own() -> Ending {
    for text in ["ext3:layout=single+journal", "ext4:journal_size=64M:layout=single+journal"] {
        let seen = seen(text, 64)?;
        let other = format!("{}a1", &seen.uuid[..34]);
        assert_eq!(field(&seen, "Journal UUID"), other, "{text}");
        assert!(seen.dump.contains("journal_dev"), "{text}: the journal's own dump is there too");
    }
    Ok(())
}

pub(crate) fn xfs_options_reach_the_superblock() -> Ending {
    let plain = seen("xfs", 320)?;
    assert!(has(&plain, "V5") && has(&plain, "REFLINK"));
    let made = seen("xfs:block_size=1K:reflink=off:allocation_groups=2:journal_size=96M", 320)?;
    assert!(!has(&made, "REFLINK"));
    assert!(made.dump.contains("bsize=1024") && made.dump.contains("agcount=2,"), "{}", made.dump);
    assert!(made.dump.contains("blocks=98304"), "96 MiB of log: {}", made.dump);
    let striped = seen("xfs:stripe_unit=64K:stripe_width=3:inode_size=1K", 540)?;
    assert!(striped.dump.contains("sunit=16") && striped.dump.contains("swidth=48"));
    assert!(striped.dump.contains("isize=1024"));
    Ok(())
}

pub(crate) fn xfs_log_on_a_disk_of_its_own() -> Ending {
    let seen = seen("xfs:journal_size=128M:layout=single+journal", 320)?;
    assert!(seen.mount_options.contains("logdev=/dev/loop"), "{}", seen.mount_options);
    assert!(seen.dump.contains("log      =external"), "{}", seen.dump);
    Ok(())
}

pub(crate) fn btrfs_options_reach_the_kernel() -> Ending {
    let plain = seen("btrfs", 128)?;
    assert!(has(&plain, "NO_HOLES") && has(&plain, "FREE_SPACE_TREE"), "{:?}", plain.features);
    let packed = seen("btrfs:compression=zstd:compression_level=5:barrier=off", 128)?;
    assert!(shows(&packed, "compress-force=zstd:5") && shows(&packed, "nobarrier"));
    let made = seen("btrfs:node_size=4K:metadata_copies=1:checksum=xxhash", 128)?;
    assert!(made.dump.contains("(xxhash64)"), "{}", made.dump);
    let nodes = made.dump.lines().find(|line| line.starts_with("nodesize")).unwrap();
    assert!(nodes.ends_with("4096"), "{nodes}");
    let in_place = seen("btrfs:copy_on_write=off:commit_interval=5", 128)?;
    assert!(shows(&in_place, "nodatacow") && shows(&in_place, "commit=5"));
    Ok(())
}

pub(crate) fn btrfs_of_2011() -> Ending {
    let old = seen("btrfs@2011", 128)?;
    for absent in ["NO_HOLES", "SKINNY_METADATA", "EXTENDED_IREF", "FREE_SPACE_TREE"] {
        assert!(!has(&old, absent), "{absent} in {:?}", old.features);
    }
    Ok(())
}

pub(crate) fn btrfs_over_several_disks() -> Ending {
    for (text, disks) in [
        ("btrfs:layout=btrfs-raid0", 2),
        ("btrfs:layout=btrfs-raid1x3", 3),
        ("btrfs:layout=btrfs-raid10", 4),
    ] {
        let seen = seen(text, 256)?;
        let count = seen.dump.lines().find(|line| line.starts_with("num_devices")).unwrap();
        assert!(count.ends_with(&disks.to_string()), "{text}: {count}");
    }
    Ok(())
}

pub(crate) fn tmpfs_needs_nothing() -> Ending {
    let seen = seen("tmpfs:sync=on", 64)?;
    assert!(shows(&seen, "size=65536k"), "{}", seen.mount_options);
    Ok(())
}
