//! The catalogue of filesystems and layouts, held against what is true of every entry: names,
//! documentation, sizes, refusals, and the exact commands, in a snapshot.

mod contenders;
mod layouts;
mod plans;

use std::collections::BTreeSet;

use contenders::{all, one, request};
use stack::{Durability, FILESYSTEMS};
use units::Bytes;

#[test]
fn every_filesystem_is_named_once_and_documented() {
    let mut names = BTreeSet::new();
    for filesystem in FILESYSTEMS {
        let description = filesystem.describe();
        let name = description.name;
        assert!(names.insert(name), "{name} is there twice");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{name}"
        );
        assert!(!description.summary.is_empty() && !description.summary.ends_with('.'), "{name}");
        assert_eq!(description.package.is_some(), description.needs_device, "{name}");
        assert_eq!(description.programs.is_empty(), !description.needs_device, "{name}");
        let mut options = BTreeSet::new();
        for option in description.options {
            assert!(options.insert(option.name), "{name}: {} is there twice", option.name);
            assert!(!option.help.is_empty(), "{name}: {}", option.name);
        }
        assert!(options.contains("atime"), "{name}: everyone says what reading costs");
        let mut presets = BTreeSet::new();
        for preset in description.presets {
            assert!(presets.insert(preset.name), "{name}@{} is there twice", preset.name);
            assert!(preset.help.contains("20"), "{name}@{}: of what time, from where", preset.name);
        }
    }
}

#[test]
fn plans_use_only_the_programs_that_are_declared() {
    for text in all() {
        let contender = one(&text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        let Ok(plan) = filesystem.plan(&request(&contender, Bytes::from_gib(64))) else { continue };
        let programs = filesystem.describe().programs;
        for command in plan.make.iter().chain(&plan.check).chain(&plan.inspect) {
            assert!(programs.contains(&command.program.as_str()), "{text}: {command}");
        }
    }
}

#[test]
fn whatever_writes_to_a_device_says_so_and_never_discards() {
    for text in all() {
        let contender = one(&text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        let Ok(plan) = filesystem.plan(&request(&contender, Bytes::from_gib(64))) else { continue };
        for command in &plan.make {
            if matches!(command.program.as_str(), "dump.exfat" | "blockdev") {
                assert!(!command.destructive, "{text}: {command} only reads or flushes");
                continue;
            }
            assert!(command.destructive, "{text}: {command}");
            let has = |arg: &str| command.args.iter().any(|other| other.contains(arg));
            let keeps = match command.program.as_str() {
                "mke2fs" => has("nodiscard"),
                "mkfs.xfs" | "mkfs.btrfs" | "mkfs.nilfs2" => has("-K"),
                "mkfs.f2fs" => command.args.windows(2).any(|pair| pair == ["-t", "0"]),
                // These have no discard in them.
                "mkfs.reiserfs" | "mkfs.jfs" | "mkfs.exfat" | "mkfs.ntfs" | "tune2fs"
                | "mkfs.reiser4" | "wipefs" | "jfs_tune" | "nilfs-tune" | "tune.exfat"
                | "ntfslabel" | "zpool" => true,
                // Only with `--discard`, which is for later.
                "bcachefs" => !has("--discard"),
                _ => false,
            };
            assert!(keeps, "{text}: {command}");
        }
        for command in plan.check.iter().chain(&plan.inspect) {
            assert!(!command.destructive, "{text}: {command}");
        }
    }
}

#[test]
fn identity_comes_from_the_request() {
    for filesystem in FILESYSTEMS.iter().filter(|filesystem| filesystem.describe().needs_device) {
        let name = filesystem.describe().name;
        let contender = one(name);
        let plan = filesystem.plan(&request(&contender, Bytes::from_gib(64))).unwrap();
        let args = plan.make.iter().flat_map(|command| &command.args);
        let serial = ["6f7374f5", "6f7374f51a4e4b7a"];
        let carried = args.clone().any(|arg| {
            arg.contains(contenders::UUID) || serial.iter().any(|serial| arg.contains(serial))
        });
        assert!(carried, "{name}: {:?}", plan.make);
    }
}

#[test]
fn the_minimum_size_is_honoured_to_the_byte() {
    for text in all() {
        let contender = one(&text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        if !filesystem.describe().needs_device {
            continue;
        }
        let Ok(minimum) = filesystem.minimum_size(&contender) else { continue };
        if filesystem.plan(&request(&contender, Bytes::from_gib(1 << 10))).is_err() {
            continue;
        }
        filesystem
            .plan(&request(&contender, minimum))
            .unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        let below = Bytes(minimum.0 - 1);
        let refusal = filesystem.plan(&request(&contender, below)).unwrap_err().to_string();
        assert!(refusal.contains(&minimum.to_string()), "{text}: {refusal}");
        assert!(refusal.ends_with("make the device larger"), "{text}: {refusal}");
    }
}

#[test]
fn durability_is_lowered_by_meaning_and_by_raw_options_alike() {
    let durability = |text: &str| {
        let contender = one(text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        filesystem.plan(&request(&contender, Bytes::from_gib(64))).unwrap().durability
    };
    for full in ["ext2", "ext3", "ext4", "xfs", "btrfs", "reiserfs", "f2fs", "nilfs2", "exfat"] {
        assert_eq!(durability(full), Durability::Full, "{full}");
    }
    for lowered in [
        "jfs",
        "ext2:barrier=off",
        "ext4:barrier=off",
        "ext4:mount=nobarrier",
        "ext3:mount=barrier=0",
        "btrfs:barrier=off",
        "btrfs:mount=nobarrier",
        "reiserfs:barrier=off",
        "reiserfs:mount=barrier=none",
        "f2fs:mount=fsync_mode=nobarrier",
        "nilfs2:barrier=off",
    ] {
        assert_eq!(durability(lowered), Durability::NoBarriers, "{lowered}");
    }
    assert_eq!(durability("tmpfs"), Durability::None);
    assert_eq!(durability("zfs:fsync=ignored"), Durability::None);
}

#[test]
fn refusals_name_the_rule_and_what_is_taken_instead() {
    let refusal = |text: &str| one(text).validate().unwrap_err().to_string();
    for (text, parts) in [
        ("xfs:barrier=off", &["xfs has no such option", "it takes: atime, sync, journal"] as &[_]),
        (
            "ext4:colour=blue",
            &["fstrial has no option of that name", "mount=colour=blue", "it takes: atime"],
        ),
        ("ext4:dir_index=maybe", &["no such value", "dir_index takes on|off"]),
        ("ext4:journal_size=big", &["journal_size=big", "journal_size takes SIZE"]),
        ("ext4@1999", &["no such preset", "2007, 2011"]),
        ("ext2:journal_size=64M", &["ext2 has no such option", "size of the journal"]),
        ("ext4:journal_size=1M", &["1024 to 10240000 blocks"]),
        ("ext4:journal=none:journal_size=64M", &["without a journal"]),
        ("ext4:data=journal:delalloc=on", &["data=journal excludes it"]),
        ("ext4:mkfs=-E discard", &["punches holes", "leave it out"]),
        ("xfs:journal_size=32M", &["whole blocks, 64M to 2047M"]),
        ("xfs:block_size=64K", &["power of two from 1 KiB to 4 KiB"]),
        ("xfs:format=v4:reflink=on", &["format=v4 has no reflinks"]),
        ("xfs:stripe_unit=64K", &["needs stripe_width"]),
        ("btrfs:compression_level=3", &["needs compression"]),
        ("btrfs:compression=zstd:copy_on_write=off", &["copy_on_write=on"]),
        ("ext4:journal=external", &["no disk for the journal", "layout=single+journal"]),
        ("ext4:journal=internal:layout=single+journal", &["would stay unused"]),
        ("btrfs:layout=single+journal", &["cannot keep its journal elsewhere"]),
        ("ext2:layout=single+journal", &["cannot keep its journal elsewhere"]),
        ("ext4:layout=btrfs-raid1", &["only btrfs can"]),
        ("xfs:layout=zfs-mirror", &["only zfs can"]),
        ("zfs:compression=lz4:compression_level=3", &["only zlib and zstd have levels"]),
        ("zfs:sync=on:fsync=ignored", &["contradicts sync=on"]),
        ("tmpfs:layout=raid0", &["it sits on no disk"]),
        ("tmpfs:mkfs=-x", &["tmpfs has no mkfs"]),
        ("ext4:scheduler=cfq", &["no such value", "scheduler takes none|mq-deadline|bfq|kyber"]),
        ("xfs:read_ahead=5K", &["read_ahead=5K", "whole pages of 4 KiB, up to 1 GiB"]),
        ("xfs:read_ahead=2G", &["whole pages of 4 KiB, up to 1 GiB"]),
        ("zfs:read_ahead=1M", &["zfs prefetches by its own rules"]),
        ("tmpfs:scheduler=none", &["tmpfs has no such option", "order in which requests go"]),
        ("tmpfs:read_ahead=1M", &["tmpfs has no such option"]),
        ("jfs:journal_size=8M:layout=single+journal", &["takes all of it"]),
    ] {
        let refusal = refusal(text);
        for part in parts {
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}

#[test]
fn raw_arguments_join_the_drivers_own_and_win() {
    let make = |text: &str| {
        let contender = one(text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        filesystem.plan(&request(&contender, Bytes::from_gib(64))).unwrap().make[0].to_string()
    };
    // mke2fs heeds only the last -E and the last -O: given raw, they must not undo the rest.
    let ext4 = make(r"ext4:mkfs=-E stride=16\,stripe_width=80 -O ^dir_index -m 1");
    assert!(ext4.contains("nodiscard,hash_seed="), "{ext4}");
    assert!(ext4.contains(",stride=16,stripe_width=80"), "{ext4}");
    assert_eq!(ext4.matches(" -E ").count(), 1, "{ext4}");
    assert!(ext4.contains("metadata_csum,^dir_index"), "{ext4}");
    assert!(ext4.ends_with("-m 1 /dev/disk0"), "{ext4}");
    // A usage type decides the inode ratio, as it does without fstrial.
    assert!(!make("ext3:mkfs=-T news").contains(" -i "));
    assert!(make("ext3:inode_ratio=8K:mkfs=-T news").contains(" -i 8192 "));
    let xfs = make("xfs:mkfs=-m rmapbt=1");
    assert!(xfs.ends_with("-m rmapbt=1 /dev/disk0"), "{xfs}");
}

#[test]
fn access_time_is_the_same_for_everyone_unless_said() {
    for filesystem in FILESYSTEMS {
        let name = filesystem.describe().name;
        let mount = |text: &str| {
            let contender = one(text);
            filesystem.plan(&request(&contender, Bytes::from_gib(64))).unwrap().mount.options
        };
        assert_eq!(mount(name)[0], "noatime", "{name}");
        assert_eq!(mount(&format!("{name}:atime=strict"))[0], "strictatime", "{name}");
        let raw = mount(&format!("{name}:mount=relatime"));
        assert!(!raw.contains(&"noatime".to_owned()), "{name}: {raw:?}");
        assert_eq!(raw.last().unwrap(), "relatime", "{name}");
    }
}

#[test]
fn inodes_are_counted_where_mkfs_fixes_them() {
    let inodes = |text: &str, size| {
        let contender = one(text);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        filesystem.inodes(&contender, size).unwrap()
    };
    let size = Bytes::from_gib(1);
    assert_eq!(inodes("ext4", size), Some(65_536 - 11));
    assert_eq!(inodes("ext3:inode_ratio=4K", size), Some(262_144 - 11));
    assert_eq!(inodes("xfs", size), None);
    assert_eq!(inodes("btrfs", size), None);
}

#[test]
fn the_documented_way_to_add_a_filesystem_is_the_one_that_was_taken() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let page = read("../../docs/howto/add-a-filesystem.md");
    let driver = read("src/filesystems/reiser4.rs");
    assert!(page.contains(&driver), "the page shows another reiser4.rs");
    let table = read("src/filesystems/mod.rs");
    let mut inside = false;
    let mut added = 0;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => inside = kind == "diff",
            None if inside => {
                let shown = line.get(1..).unwrap_or_default();
                assert!(table.lines().any(|line| line == shown), "no such line: {shown}");
                added += usize::from(line.starts_with('+'));
            }
            None => {}
        }
    }
    assert_eq!(added, 2, "the module and its line in the table");
    let others = FILESYSTEMS.iter().filter(|one| one.describe().name == "reiser4").count();
    assert_eq!(others, 1);
}
