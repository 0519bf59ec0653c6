//! What can be seen without mounting: every mkfs, check and inspection runs, at the minimum
//! size too, and no mkfs gives allocated blocks of the loop file back.

use skippable::Ending;
use units::Bytes;

use crate::contender::{makeable, stage};
use crate::machine::able;

/// A size on which every filesystem can be made with its defaults.
const ROOMY: Bytes = Bytes::from_mib(320);

pub(crate) fn every_filesystem_is_made_checked_and_inspected() -> Ending {
    able()?;
    for filesystem in makeable() {
        let name = filesystem.describe().name;
        let staged = stage(name, ROOMY);
        let before = staged.devices[0].allocated();
        staged.make();
        assert!(staged.devices[0].allocated() >= before, "{name} punched holes into its file");
        staged.check();
        let inspected = staged.inspect();
        assert!(inspected.iter().all(|(_, output)| output.len() > 50), "{name}: {inspected:?}");
        assert_eq!(inspected.is_empty(), name == "exfat", "{name}: exfat shows itself when made");
        let dump: String = inspected.into_iter().map(|(_, output)| output.to_lowercase()).collect();
        let shown = match name {
            "jfs" | "f2fs" | "ntfs3" | "exfat" => None, // Their dumps show no UUID.
            _ => Some(staged.uuid.as_str()),
        };
        assert!(shown.is_none_or(|shown| dump.contains(shown)), "{name}:\n{dump}");
    }
    Ok(())
}

pub(crate) fn each_can_be_made_on_its_minimum() -> Ending {
    able()?;
    let plain = makeable().map(|filesystem| filesystem.describe().name);
    let optioned = [
        "ext2:block_size=1K:inode_ratio=1K",
        "ext2:inode_size=4K:inode_ratio=8K",
        "ext3:block_size=1K",
        "ext3@2004",
        "ext3@2004:journal_size=256M:inode_ratio=4K",
        "ext3:journal_size=4M",
        "ext4:journal_size=8M:inode_ratio=1K",
        "ext4:journal_size=64M:block_size=1K",
        "ext4:journal_size=400M:inode_size=1K:inode_ratio=4K",
        "ext4:journal=none:inode_size=128",
        "ext4@2007",
        "ext4@2011",
        "ext4:layout=single+journal",
        "xfs@2004",
        "xfs@2011",
        "xfs:journal_size=128M",
        "xfs:journal_size=100M:block_size=1K",
        "xfs:allocation_groups=8:inode_size=2K",
        "xfs:stripe_unit=64K:stripe_width=5",
        "xfs:layout=single+journal",
        "xfs@2004:block_size=1K:stripe_unit=16K:stripe_width=3:layout=single+journal",
        "btrfs@2011",
        "btrfs:metadata_copies=1",
        "btrfs:node_size=64K",
        "btrfs:layout=btrfs-raid1",
        "btrfs:layout=btrfs-raid10",
        "btrfs:layout=btrfs-raid0x3",
        "reiserfs:block_size=1K",
        "reiserfs:journal_size=64M",
        "reiserfs:journal_size=4M:directory_hash=tea",
        "reiserfs:layout=single+journal",
        "jfs:journal_size=4M",
        "jfs:layout=single+journal",
        "f2fs:compression=zstd:metadata_checksum=on",
        "nilfs2:block_size=1K",
        "exfat:block_size=1M",
        "exfat:block_size=512",
        "ntfs3:block_size=64K",
        "ntfs3:block_size=512:compression=on",
    ];
    for text in plain.chain(optioned) {
        let contender = stack::Contender::parse_list(text).unwrap().remove(0);
        let filesystem = stack::filesystems::find(&contender.filesystem).unwrap();
        let minimum = filesystem.minimum_size(&contender).unwrap();
        let staged = stage(text, minimum);
        eprintln!("{text} on {minimum}");
        staged.make();
        staged.check();
        staged.inspect();
        if matches!(contender.filesystem.as_str(), "ext3" | "ext4")
            && !text.contains("journal=none")
        {
            let features = staged.filesystem.features(&staged.inspect());
            assert!(features.contains(&"has_journal".to_owned()), "{text}: {features:?}");
        }
    }
    Ok(())
}
