//! A device is empty only when that is known: whatever is left on it, and wherever, is found.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use device::{Claim, ClaimRequest, Emptiness, Reading, SMALLEST_DEVICE, ToolPath};
use skippable::{Attached, Ending, Part};

use crate::scratch::{Disk, enters_as_root, run};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// Refused with a rule that says one of `expected`, divided by `|`, unless it is named; not written
/// to in any case.
fn refused(disk: &Disk, what: &str, expected: &str) {
    let state = || {
        let metadata = std::fs::metadata(disk.image()).unwrap();
        (metadata.mtime(), metadata.mtime_nsec(), metadata.blocks())
    };
    run("blockdev", &["--flushbufs", disk.text()]);
    let before = state();
    let refusal = Claim::take(&disk.node, &[]).expect_err(what);
    let says = expected.split('|').any(|name| refusal.rule.contains(name));
    assert!(says, "{what}: expected `{expected}`: {refusal}");
    let way_out = format!("--destroy {}", disk.text());
    assert!(refusal.next.as_ref().unwrap().contains(&way_out), "{what}: {refusal}");
    Claim::take(&disk.node, std::slice::from_ref(&disk.node)).unwrap().recheck().unwrap();
    assert_eq!(before, state(), "{what}: the guard wrote to the device");
}

/// A disk of this many bytes on which these bytes are all there is.
fn only(size: u64, offset: u64, bytes: &[u8]) -> Disk {
    let disk = Disk::blank(size / MIB);
    disk.write(offset, bytes);
    disk
}

/// A copy that is kept of the start of something.
struct Copy {
    /// As it is named here, and by a blkid that knows the copy as well.
    name: &'static str,
    /// As little of it as makes it one, and where in it that lies.
    magic: &'static [u8],
    offset: u64,
    /// Sizes of devices, and where on them it is kept.
    places: &'static [(u64, u64)],
}

const COPIES: &[Copy] = &[
    Copy {
        name: "ext2, ext3 or ext4",
        magic: b"\x53\xef",
        offset: 56,
        places: &[
            // Groups of 8,192 blocks of 1 KiB.
            (256 * MIB, 8193 * KIB),
            (256 * MIB, 24_577 * KIB),
            (256 * MIB, 57_345 * KIB),
            (256 * MIB, 73_729 * KIB),
            (256 * MIB, 204_801 * KIB),
            // Groups of 16,384 blocks of 2 KiB.
            (GIB, 16_384 * 2 * KIB),
            (GIB, 81_920 * 2 * KIB),
            (GIB, 114_688 * 2 * KIB),
            // Groups of 32,768 blocks of 4 KiB.
            (8 * GIB, 32_768 * 4 * KIB),
            (8 * GIB, 98_304 * 4 * KIB),
            (8 * GIB, 884_736 * 4 * KIB),
            (8 * GIB, 1_605_632 * 4 * KIB),
            // The last group, as sparse_super2 has it, and blocks of 64 KiB.
            (GIB, 7 * 128 * MIB),
            (8 * GIB, 65_528 * 64 * KIB),
        ],
    },
    Copy {
        name: "XFS|xfs",
        magic: b"XFSB",
        offset: 0,
        places: &[
            (320 * MIB, 80 * MIB),
            (320 * MIB, 240 * MIB),
            (GIB, 512 * MIB),
            // An array of 100 GiB has 16, one of more than 4 TiB has some of the largest size.
            (100 * GIB, 3 * 100 * GIB / 16),
            (5 * TIB, 2 * (TIB - 4 * KIB)),
        ],
    },
    Copy {
        name: "btrfs",
        magic: b"_BHRfS_M",
        offset: 64,
        places: &[(128 * MIB, 64 * MIB), (300 * GIB, 256 * GIB)],
    },
    Copy {
        name: "partition table (gpt)",
        magic: b"EFI PART",
        offset: 0,
        places: &[(64 * MIB, 64 * MIB - 512), (64 * MIB, 64 * MIB - 4096)],
    },
    Copy {
        name: "ZFS|zfs_member",
        magic: &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
        offset: 0,
        places: &[
            (64 * MIB, 128 * KIB),
            (64 * MIB, 400 * KIB),
            (64 * MIB + 128 * KIB, 64 * MIB - 384 * KIB),
            (64 * MIB, 64 * MIB - 100 * KIB),
        ],
    },
    Copy {
        name: "LUKS2|crypto_LUKS",
        magic: b"SKUL\xba\xbe",
        offset: 0,
        places: &[(64 * MIB, 16 * KIB), (64 * MIB, 512 * KIB), (64 * MIB, 4 * MIB)],
    },
    Copy {
        name: "a superblock of md|linux_raid_member",
        magic: &[0xfc, 0x4e, 0x2b, 0xa9],
        offset: 0,
        places: &[
            (64 * MIB, 0),
            (64 * MIB, 4 * KIB),
            (64 * MIB, 64 * MIB - 64 * KIB),
            (64 * MIB, 64 * MIB - 8 * KIB),
        ],
    },
    Copy {
        name: "LVM|LVM2_member",
        magic: b" LVM2 x[5A%r0N*>",
        offset: 4,
        places: &[(64 * MIB, 4 * KIB), (64 * MIB, 63 * MIB)],
    },
    Copy { name: "LVM|LVM2_member", magic: b"LABELONE", offset: 0, places: &[(64 * MIB, 512)] },
    Copy {
        name: "swap",
        magic: b"SWAPSPACE2",
        offset: 0,
        places: &[(64 * MIB, 4 * KIB - 10), (64 * MIB, 16 * KIB - 10), (64 * MIB, 64 * KIB - 10)],
    },
    Copy { name: "JFS|jfs", magic: b"JFS1", offset: 0, places: &[(64 * MIB, 60 * KIB)] },
    Copy {
        name: "NILFS2|nilfs2",
        magic: b"\x34\x34",
        offset: 6,
        places: &[(256 * MIB, 256 * MIB - 4 * KIB)],
    },
    Copy {
        name: "F2FS|f2fs",
        magic: &[0x10, 0x20, 0xf5, 0xf2],
        offset: 0,
        places: &[(64 * MIB, 5 * KIB)],
    },
    Copy {
        name: "bcachefs",
        magic: b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
        offset: 24,
        places: &[(64 * MIB, MIB + 4 * KIB), (64 * MIB, 63 * MIB)],
    },
    Copy { name: "NTFS", magic: b"NTFS    ", offset: 3, places: &[(64 * MIB, 64 * MIB - 512)] },
    Copy { name: "exFAT", magic: b"EXFAT   ", offset: 3, places: &[(64 * MIB, 6 * KIB)] },
    Copy { name: "FAT32", magic: b"FAT32   ", offset: 82, places: &[(64 * MIB, 3 * KIB)] },
];

/// One copy on each device, in each of the places in which it is kept.
pub(crate) fn copies_of_what_is_gone() -> Ending {
    enters_as_root()?;
    for Copy { name, magic, offset, places } in COPIES {
        for &(size, place) in *places {
            let disk = only(size, place + offset, magic);
            refused(&disk, &format!("{name} at {place} of {size}"), name);
        }
    }
    Ok(())
}

/// Real ones, made by their tools, with zeros over the start: disks that wait to be rescued.
pub(crate) fn filesystems_whose_head_is_gone() -> Ending {
    enters_as_root()?;
    let made: &[(u64, u64, &str, &[&str], &str)] = &[
        (256, 1, "mkfs.ext4", &["-q", "-F", "-b", "1024"], "ext2, ext3 or ext4 at byte 8389632"),
        (256, 1, "mkfs.ext4", &["-q", "-F", "-b", "2048"], "ext4 at byte 33554432"),
        (256, 100, "mkfs.ext4", &["-q", "-F", "-b", "4096"], "ext4 at byte 134217728"),
        (
            256,
            1,
            "mkfs.ext2",
            &["-q", "-F", "-O", "^sparse_super,^resize_inode"],
            "ext2, ext3 or ext4",
        ),
        (320, 70, "mkfs.xfs", &["-q"], "XFS at byte 83886080"),
        (256, 60, "mkfs.btrfs", &["-q"], "btrfs at byte 67108864"),
        (256, 8, "mkfs.nilfs2", &["-q"], "NILFS2|nilfs2"),
        (64, 1, "mkfs.ntfs", &["-q", "-F"], "NTFS"),
        (64, 1, "parted", &["-s", "mklabel", "gpt"], "gpt"),
    ];
    for &(mib, head, program, args, expected) in made {
        let disk = Disk::blank(mib);
        let mut all = args.to_vec();
        all.insert(if program == "parted" { 1 } else { args.len() }, disk.text());
        run(program, &all);
        let zeros = vec![0; (head * MIB) as usize];
        disk.write(0, &zeros);
        refused(&disk, &format!("{program} {args:?}"), expected);
    }
    Ok(())
}

pub(crate) fn data_anywhere() -> Ending {
    enters_as_root()?;
    let block = [0xa5; 4096];
    let places = [
        (128 * MIB, 3108 * KIB),
        (10 * GIB, 7 * GIB + 77 * MIB + 4 * KIB),
        (10 * GIB, 10 * GIB - MIB - 4 * KIB),
        (256 * MIB, 70_000),
        (256 * MIB, 199 * MIB + 12 * KIB),
    ];
    for (size, place) in places {
        let what = format!("4 KiB at {place} of {size}");
        refused(&only(size, place, &block), &what, &format!("byte {place} is not zero"));
    }
    // No pattern: the places follow from each other (a generator with a full period).
    let mut place = 1_u64;
    for _ in 0..10 {
        place = (place * 1_664_525 + 1_013_904_223) % (1 << 28);
        let what = format!("1 byte at {place}");
        refused(&only(1 << 28, place, b"x"), &what, &format!("byte {place} is not zero"));
    }
    let many: Vec<u8> = (0..20 * MIB).map(|index| (index * 31 % 251) as u8 | 1).collect();
    refused(&only(GIB, 10 * MIB, &many), "20 MiB", "is not zero");
    let erased = vec![0xff; (16 * MIB) as usize];
    refused(&only(16 * MIB, 0, &erased), "all bytes 0xff", "byte 0 is not zero");
    refused(&only(16 * MIB, 16 * MIB - 1, b"x"), "the last byte", "byte 16777215 is not zero");
    Ok(())
}

/// Claims, and says how often the device was read to see whether it is empty.
fn take(node: &std::path::Path, most: Duration) -> (Result<Claim, stack::Refusal>, u64) {
    let read = Cell::new(0);
    let follow = |_| {
        read.set(read.get() + 1);
        ControlFlow::Continue(())
    };
    let request = ClaimRequest {
        path: node,
        destroy: &[],
        minimum: SMALLEST_DEVICE,
        tools: ToolPath::from_environment(),
        emptiness: Emptiness::Read(Reading { most, follow: &follow }),
    };
    (request.take(), read.get())
}

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn a_terabyte_of_holes_is_empty_without_reading() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(TIB / MIB);
    let (claim, read) = take(&disk.node, HOUR);
    claim.unwrap().recheck().unwrap();
    assert_eq!(read, 0);
    // Zeros that were written are read, and are as empty as a hole.
    disk.write(500 * GIB, &[0; 65536]);
    let (claim, read) = take(&disk.node, HOUR);
    claim.unwrap();
    assert!(read >= 1);
    // Written to the device and not yet stored.
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(&disk.node).unwrap();
    file.write_all_at(b"x", 700 * GIB + 5).unwrap();
    drop(file);
    let refusal = take(&disk.node, HOUR).0.unwrap_err();
    assert!(refusal.rule.contains(&format!("byte {}", 700 * GIB + 5)), "{refusal}");
    Ok(())
}

/// A file of holes under the name of the attached one says nothing about it.
pub(crate) fn the_map_is_that_of_the_very_file() -> Ending {
    enters_as_root()?;
    let disk = only(64 * MIB, 33 * MIB + 4096, b"x");
    let expected = format!("byte {} is not zero", 33 * MIB + 4096);
    let image = disk.image();
    std::fs::rename(&image, image.with_extension("moved")).unwrap();
    std::fs::File::create(&image).unwrap().set_len(64 * MIB).unwrap();
    // The kernel knows the new name; the old one is told of only by what was kept.
    refused(&disk, "renamed", &expected);
    std::fs::remove_file(image.with_extension("moved")).unwrap();
    refused(&disk, "deleted", &expected);
    Ok(())
}

/// A loop device over a part of a file: what lies around the part is not its own.
pub(crate) fn part_of_a_file() -> Ending {
    enters_as_root()?;
    let part = Part { offset: 3 * MIB, length: 32 * MIB, ..Part::default() };
    let disk = Disk::of(64, part);
    let image = std::fs::OpenOptions::new().write(true).open(disk.image()).unwrap();
    use std::os::unix::fs::FileExt;
    for around in [0, 3 * MIB - 1, 35 * MIB] {
        image.write_all_at(b"x", around).unwrap();
    }
    image.sync_all().unwrap();
    Claim::take(&disk.node, &[]).unwrap();
    image.write_all_at(b"x", 35 * MIB - 512).unwrap();
    refused(&disk, "its last sector", &format!("byte {} is not zero", 32 * MIB - 512));
    // Where no sample is taken, and the file's own place lies beyond the device's length.
    image.write_all_at(&[0; 512], 35 * MIB - 512).unwrap();
    image.write_all_at(b"x", 33 * MIB + MIB / 2).unwrap();
    image.sync_all().unwrap();
    refused(&disk, "in between", &format!("byte {} is not zero", 30 * MIB + MIB / 2));
    Ok(())
}

/// A loop device over a block device has no map: it is read, as any disk is.
pub(crate) fn without_a_map_it_is_read() -> Ending {
    enters_as_root()?;
    let below = Disk::blank(64);
    let attached = Attached::over(&below.node);
    let node = attached.node().to_owned();
    let late = take(&node, Duration::ZERO).0.map(drop);
    let (whole, reads) = take(&node, HOUR);
    let whole = whole.map(drop);
    // What the samples show needs no further reading.
    let sampled_at = 45 * MIB / 4 + 5;
    below.write(sampled_at, b"x");
    let sampled = take(&node, Duration::ZERO).0.map(drop);
    below.write(40 * MIB + 3, b"x");
    let data = take(&node, HOUR).0.map(drop);
    let named = Claim::take(&node, std::slice::from_ref(&node)).map(drop);
    let late = late.unwrap_err().to_string();
    assert!(late.contains("nothing was found in less than 0.1 % of it"), "{late}");
    assert!(late.contains(&format!("say so with --destroy {}", node.display())), "{late}");
    whole.unwrap();
    assert!(reads > 1, "{reads}");
    let sampled = sampled.unwrap_err().rule;
    assert!(sampled.contains(&format!("byte {sampled_at} is not zero")), "{sampled}");
    let data = data.unwrap_err().rule;
    assert!(data.contains(&format!("byte {} is not zero", 40 * MIB + 3)), "{data}");
    named.unwrap();
    Ok(())
}
