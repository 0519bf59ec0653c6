//! Where filesystems and the like keep copies of what their start says: the places that are left
//! of one whose start was overwritten, and from which it can be rescued.

use std::ops::Range;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

/// A kind of copy.
pub(crate) struct Known {
    /// What lies there.
    pub(crate) what: &'static str,
    /// Bytes that [`Known::is`] needs.
    length: u64,
    /// Where copies begin on a device of this many bytes. Some may lie beyond its end.
    places: fn(u64) -> Vec<u64>,
    /// Whether these bytes are one.
    is: fn(&[u8]) -> bool,
}

impl Known {
    /// The ranges of a device of this size in which copies lie.
    pub(crate) fn ranges(&self, size: u64) -> impl Iterator<Item = Range<u64>> {
        let inside = (self.places)(size).into_iter().filter_map(|place| {
            let end = place.checked_add(self.length)?;
            Some(place..end)
        });
        inside.filter(move |range| range.end <= size)
    }

    /// Whether these bytes, read from one of the ranges, are such a copy.
    pub(crate) fn recognises(&self, bytes: &[u8]) -> bool {
        (self.is)(bytes)
    }
}

/// Every kind of copy that is looked for. SECURITY.md lists them.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        what: "a superblock of ext2, ext3 or ext4",
        length: 1024,
        places: ext,
        is: |bytes| has(bytes, 56, &[0x53, 0xef]),
    },
    Known { what: "a superblock of XFS", length: 512, places: xfs, is: |b| has(b, 0, b"XFSB") },
    Known {
        what: "a superblock of btrfs",
        length: 4096,
        places: |_| vec![64 * KIB, 64 * MIB, 256 * KIB * MIB, KIB * TIB],
        is: |bytes| has(bytes, 64, b"_BHRfS_M"),
    },
    Known {
        what: "a partition table (gpt)",
        length: 512,
        places: |size| vec![512, 4096, size.wrapping_sub(512), size.wrapping_sub(4096)],
        is: |bytes| has(bytes, 0, b"EFI PART"),
    },
    Known { what: "a label of ZFS", length: 128 * KIB, places: zfs, is: is_zfs },
    Known {
        what: "a second header of LUKS2",
        length: 512,
        places: |_| (14..=22).map(|power| 1 << power).collect(),
        is: |bytes| has(bytes, 0, b"SKUL\xba\xbe"),
    },
    Known { what: "a superblock of md", length: 512, places: md, is: is_md },
    Known {
        what: "a label of LVM",
        length: 512,
        places: |_| (0..4).map(|sector| sector * 512).collect(),
        is: |bytes| has(bytes, 0, b"LABELONE"),
    },
    Known {
        what: "metadata of LVM",
        length: MIB,
        // One copy follows the label, the other ends the device.
        places: |size| vec![4 * KIB, size.saturating_sub(MIB) / 512 * 512],
        is: |bytes| bytes.chunks(512).any(|sector| has(sector, 4, b" LVM2 x[5A%r0N*>")),
    },
    Known {
        what: "a signature of swap",
        length: 10,
        places: |_| (12..=16).map(|power| (1 << power) - 10).collect(),
        is: |bytes| has(bytes, 0, b"SWAPSPACE2") || has(bytes, 0, b"SWAP-SPACE"),
    },
    Known {
        what: "a superblock of JFS",
        length: 512,
        places: |_| vec![32 * KIB, 60 * KIB],
        is: |bytes| has(bytes, 0, b"JFS1"),
    },
    Known {
        what: "a superblock of NILFS2",
        length: 1024,
        places: |size| vec![1024, (size / 4096).saturating_sub(1) * 4096],
        is: |bytes| has(bytes, 6, &[0x34, 0x34]),
    },
    Known {
        what: "a superblock of F2FS",
        length: 512,
        places: |_| vec![KIB, 5 * KIB],
        is: |bytes| has(bytes, 0, &0xf2f5_2010_u32.to_le_bytes()),
    },
    Known {
        what: "a superblock of bcachefs",
        length: 512,
        // Its copies are spaced by the largest superblock, which is a MiB by default.
        places: |size| vec![4 * KIB, 4 * KIB + MIB, size.saturating_sub(MIB) / MIB * MIB],
        is: |bytes| has(bytes, 24, &BCACHEFS),
    },
    Known {
        what: "a boot sector of NTFS",
        length: 512,
        places: |size| vec![0, size.wrapping_sub(512), size.wrapping_sub(4096)],
        is: |bytes| has(bytes, 3, b"NTFS    "),
    },
    Known {
        what: "a boot sector of exFAT",
        length: 512,
        places: |_| vec![0, 12 * 512, 12 * 4096],
        is: |bytes| has(bytes, 3, b"EXFAT   "),
    },
    Known {
        what: "a boot sector of FAT32",
        length: 512,
        places: |_| vec![0, 6 * 512, 6 * 4096],
        is: |bytes| has(bytes, 82, b"FAT32   "),
    },
];

const BCACHEFS: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];

fn has(bytes: &[u8], offset: usize, magic: &[u8]) -> bool {
    bytes.get(offset..offset + magic.len()) == Some(magic)
}

/// For each size of block the groups that carry a copy: the first, powers of 3, 5 and 7
/// (`sparse_super`), and the last two (`sparse_super2`).
fn ext(size: u64) -> Vec<u64> {
    let mut places = vec![KIB];
    for block in (10..=16).map(|power| 1_u64 << power) {
        // A group's bitmap is one block. Its number of blocks has 16 bits.
        let group = (8 * block).min((1 << 16) - 8);
        let first = u64::from(block == KIB);
        let groups = (size / block).saturating_sub(first).div_ceil(group);
        let mut numbers = vec![1, groups.saturating_sub(1), groups.saturating_sub(2)];
        for base in [3_u64, 5, 7] {
            let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
            numbers.extend(powers.take_while(|power| *power < groups));
        }
        let inside = numbers.into_iter().filter(|number| (1..groups).contains(number));
        places.extend(inside.map(|number| (number * group + first) * block));
    }
    places
}

/// The allocation groups that mkfs.xfs makes: 4 of one disk, 2 to 32 of an array, with blocks of
/// 4 KiB; and those of the largest size.
fn xfs(size: u64) -> Vec<u64> {
    const BLOCK: u64 = 4096;
    let blocks = size / BLOCK;
    let largest = (TIB - 1) / BLOCK;
    let mut places = vec![0];
    let shares = [2, 4, 8, 16, 32].map(|groups| blocks.div_ceil(groups).min(largest));
    for group in shares.into_iter().chain([largest]) {
        let count = blocks.div_ceil(group.max(1)).min(MOST_GROUPS);
        places.extend((1..count).map(|number| number * group * BLOCK));
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Of allocation groups of one size, so many are looked at.
const MOST_GROUPS: u64 = 64;

/// The uberblocks of the four labels: two at the start, two at the end.
fn zfs(size: u64) -> Vec<u64> {
    const LABEL: u64 = 256 * KIB;
    let end = size / LABEL * LABEL;
    let labels = [0, LABEL, end.saturating_sub(2 * LABEL), end.saturating_sub(LABEL)];
    labels.map(|label| label + LABEL / 2).to_vec()
}

fn is_zfs(bytes: &[u8]) -> bool {
    let magic = 0x00ba_b10c_u64;
    bytes
        .chunks(KIB as usize)
        .any(|slot| has(slot, 0, &magic.to_le_bytes()) || has(slot, 0, &magic.to_be_bytes()))
}

/// Those of versions 1.1, 1.2, 0.90 and 1.0.
fn md(size: u64) -> Vec<u64> {
    let old = (size / (64 * KIB)).saturating_sub(1) * 64 * KIB;
    let end = (size / 512).saturating_sub(16) / 8 * 8 * 512;
    vec![0, 4 * KIB, old, end]
}

fn is_md(bytes: &[u8]) -> bool {
    let magic = 0xa92b_4efc_u32;
    has(bytes, 0, &magic.to_le_bytes()) || has(bytes, 0, &magic.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(what: &str, size: u64) -> Vec<u64> {
        let known = KNOWN.iter().find(|known| known.what.contains(what)).unwrap();
        known.ranges(size).map(|range| range.start).collect()
    }

    /// What `mke2fs -n` and `mkfs.xfs -N` say.
    #[test]
    fn copies_lie_where_the_tools_put_them() {
        let ext = places("ext4", 1 << 30);
        for block in [8193, 24577, 40961, 57345, 73729] {
            assert!(ext.contains(&(block * 1024)), "1 KiB: {block}");
        }
        for block in [16384, 49152, 81920, 114_688, 147_456] {
            assert!(ext.contains(&(block * 2048)), "2 KiB: {block}");
        }
        for block in [32768, 98304, 163_840, 229_376] {
            assert!(ext.contains(&(block * 4096)), "4 KiB: {block}");
        }
        let groups = |size| places("XFS", size);
        assert!(groups(10 << 30).contains(&2_684_354_560));
        assert!(groups(5 << 40).contains(&1_099_511_623_680));
        assert!(groups(5 << 40).contains(&4_398_046_494_720));
        assert!(groups(1_048_576_000).contains(&786_432_000));
        assert!(places("btrfs", 1 << 39).contains(&(256 << 30)));
        assert_eq!(places("NILFS2", 314_572_800), [1024, 314_568_704]);
        assert_eq!(places("md", 1 << 30), [0, 4096, (1 << 30) - 65536, (1 << 30) - 8192]);
    }

    proptest::proptest! {
        #[test]
        fn no_place_leaves_the_device_and_none_are_many(sectors in 1u64..1 << 50) {
            let size = sectors * 512;
            let ranges: Vec<_> = KNOWN.iter().flat_map(|known| known.ranges(size)).collect();
            proptest::prop_assert!(ranges.iter().all(|range| range.end <= size));
            proptest::prop_assert!(ranges.len() < 500, "{}", ranges.len());
        }
    }
}
