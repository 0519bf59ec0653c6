//! One request makes one image. Where clock or chance remain in it, no more of it differs
//! than the driver says.

use skippable::Ending;
use units::Bytes;

use crate::contender::{makeable, stage};
use crate::machine::{LoopDevice, able, differing_bytes};

/// The most bytes in which two images of a filesystem differ that `varies`.
fn bound(name: &str) -> usize {
    match name {
        // Four time stamps of 8 bytes and a checksum in each of its first three inodes.
        "xfs" => 108,
        // UUIDs of the device and of its trees stand in every node, beside the nodes'
        // checksums, in two copies; and the root directories carry times.
        "btrfs" => 4096,
        // The journal's magic number, twice, and times.
        "reiserfs" => 32,
        // The room for the log of fsck, filled with what was in memory.
        "jfs" => 256 << 10,
        // Times in every inode of the first segment, the seed, and checksums over them.
        "nilfs2" => 256,
        // The number it draws, and times in the root directory.
        "reiser4" => 64,
        other => panic!("{other} varies, by how much?"),
    }
}

/// A little more than it needs.
fn roomy(name: &str) -> Bytes {
    let filesystem = stack::filesystems::find(name).unwrap();
    let minimum = filesystem.minimum_size(&stack::Contender::plain(name)).unwrap();
    minimum + Bytes::from_mib(16)
}

/// In how many bytes two filesystems differ that one request made on the same devices.
fn differing(text: &str, size: Bytes) -> usize {
    let staged = stage(text, size);
    let make = || {
        staged.make();
        let images: Vec<_> = staged.devices.iter().map(LoopDevice::image).collect();
        staged.devices.iter().for_each(LoopDevice::zero);
        images
    };
    let (first, second) = (make(), make());
    first.iter().zip(&second).map(|(first, second)| differing_bytes(first, second)).sum()
}

pub(crate) fn a_filesystem_is_made_again_over_itself() -> Ending {
    able()?;
    for filesystem in makeable() {
        let staged = stage(filesystem.describe().name, roomy(filesystem.describe().name));
        staged.make();
        // No question asked, no UUID refused: trials of one seed follow on one device.
        staged.make();
        staged.check();
    }
    Ok(())
}

pub(crate) fn the_same_request_makes_the_same_image() -> Ending {
    able()?;
    for filesystem in makeable() {
        let description = filesystem.describe();
        let name = description.name;
        let differing = differing(name, roomy(name));
        eprintln!("{name}: {differing} bytes differ");
        match description.varies {
            None => assert_eq!(differing, 0, "{name}"),
            Some(_) => assert!(differing <= bound(name), "{name}: {differing} bytes differ"),
        }
    }
    Ok(())
}

pub(crate) fn options_do_not_bring_chance_back() -> Ending {
    able()?;
    for text in [
        "ext4:directory_hash=tea:journal_size=16M",
        "ext3@2004",
        "ext4:layout=single+journal",
        "f2fs:compression=zstd:metadata_checksum=on",
        "exfat:block_size=64K",
        "ntfs3:compression=on",
    ] {
        assert_eq!(differing(text, Bytes::from_mib(80)), 0, "{text}");
    }
    Ok(())
}
