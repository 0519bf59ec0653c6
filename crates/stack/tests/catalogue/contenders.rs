//! Every driver with its defaults, with each value of each option, with each preset.

use std::path::PathBuf;

use stack::filesystems::Request;
use stack::{Contender, FILESYSTEMS};
use units::Bytes;

pub(crate) const UUID: &str = "6f7374f5-1a4e-4b7a-9c51-0123456789ab";
pub(crate) const HASH_SEED: &str = "0d6b4f6e-54f3-47a5-8b1d-ba9876543210";

/// The contender written so.
pub(crate) fn one(text: &str) -> Contender {
    Contender::parse_list(text).unwrap_or_else(|error| panic!("{text}: {error}")).remove(0)
}

/// A request for it, with a disk for its journal where the layout has one.
pub(crate) fn request(contender: &Contender, size: Bytes) -> Request<'_> {
    let needs_device =
        stack::filesystems::find(&contender.filesystem).unwrap().describe().needs_device;
    Request {
        contender,
        data: needs_device.then(|| PathBuf::from("/dev/disk0")),
        members: Vec::new(),
        journal: contender.layout.has_journal_disk().then(|| PathBuf::from("/dev/disk1")),
        size,
        uuid: UUID.to_owned(),
        hash_seed: HASH_SEED.to_owned(),
    }
}

/// What is tried of an option that takes a size or a number.
fn samples(option: &str) -> &'static [&'static str] {
    match option {
        "journal_size" => &["64M", "256M"],
        "block_size" => &["1K", "2K", "4K"],
        "record_size" => &["4K", "1M"],
        "sector_size" => &["4K"],
        "inode_size" => &["128", "512", "1K"],
        "inode_ratio" => &["4K", "1M"],
        "node_size" => &["4K", "64K"],
        "stripe_unit" => &["64K"],
        "stripe_width" => &["5"],
        "allocation_groups" => &["16"],
        "commit_interval" => &["1", "300"],
        "reserved_percent" => &["0"],
        "compression_level" => &["9"],
        other => panic!("no sample for the option {other}"),
    }
}

/// Every contender of the golden file.
pub(crate) fn all() -> Vec<String> {
    let mut texts = Vec::new();
    for filesystem in FILESYSTEMS {
        let description = filesystem.describe();
        let name = description.name;
        texts.push(name.to_owned());
        texts.extend(description.presets.iter().map(|preset| format!("{name}@{}", preset.name)));
        for option in description.options {
            let values: Vec<_> = match option.values {
                "SIZE" | "NUMBER" => samples(option.name).to_vec(),
                words => words.split('|').collect(),
            };
            texts.extend(values.iter().map(|value| format!("{name}:{}={value}", option.name)));
        }
        if description.options.iter().any(|option| option.name == "journal") {
            texts.push(format!("{name}:layout=single+journal"));
            texts.push(format!("{name}:journal=external:layout=single+journal"));
        }
    }
    texts.extend(
        [
            "ext3@2004:journal_size=256M:inode_ratio=4K",
            "ext3@2004:journal_size=256M:inode_ratio=4K:dir_index=on",
            "ext4:stripe_unit=64K:stripe_width=5",
            "ext4:journal_size=128M:layout=single+journal",
            "ext4:inode_size=512:inline_data=on",
            "xfs:stripe_unit=64K:stripe_width=5",
            "xfs@2004:block_size=1K:stripe_unit=16K:stripe_width=3:layout=single+journal",
            "xfs:journal_size=128M:layout=single+journal",
            "btrfs:compression=zstd:compression_level=9",
            "f2fs:compression=lz4:compression_level=9:metadata_checksum=on",
            "reiserfs:journal_size=64M:layout=single+journal",
        ]
        .map(str::to_owned),
    );
    texts
}
