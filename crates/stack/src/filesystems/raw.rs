//! Arguments of mkfs and mount options that a contender passes on as they are: none may name a file
//! or a device. What is formatted or mounted is the device under test, and no other.

use crate::{Contender, Refusal};

/// Flags of a filesystem's mkfs: those that take a value which is no path, and those that take a path.
struct Flags {
    value: &'static str,
    path: &'static str,
}

/// Of a filesystem that is not here, no flag takes a value.
fn flags(filesystem: &str) -> Flags {
    let (value, path) = match filesystem {
        "ext2" | "ext3" | "ext4" => ("bCeEgGiIJLmMNoOrTU", "dlz"),
        "xfs" => ("bdilLmnrs", "cp"),
        "btrfs" => ("AbdLmnORsU", "r"),
        "f2fs" => ("aCdeEgilmoOsStTwz", "c"),
        "nilfs2" => ("bBLmOP", ""),
        "jfs" => ("LsJ", "j"),
        "reiserfs" => ("bhlNorstu", "jB"),
        "reiser4" => ("beLosU", ""),
        "exfat" => ("bcinLs", ""),
        "ntfs3" => ("cHLpsSz", ""),
        "zfs" | "zfs-fuse" => ("doO", "mRt"),
        _ => ("", ""),
    };
    Flags { value, path }
}

/// Keys whose value is a path, a device or a device's number, in mkfs' lists and mount options.
const KEYS: [&str; 17] = [
    "dev",
    "device",
    "external_device",
    "file",
    "jdev",
    "journal-device",
    "journal_dev",
    "journal_device",
    "journal_path",
    "logdev",
    "loop",
    "name",
    "root-directory",
    "rootdir",
    "rtdev",
    "undo",
    "undo_file",
];

/// Refuses what would lead mkfs or mount to anything but the device under test.
pub(super) fn check(contender: &Contender) -> Result<(), Refusal> {
    let refused = |what: String| {
        let what = format!("{}: {what}", contender.filesystem);
        let rule = "it names a file or a device beside the one under test";
        Refusal::new(what, rule).with_next(
            "a journal or further disks are part of the layout: layout=single+journal, raid1x2, \
             btrfs-raid1x2",
        )
    };
    let flags = flags(&contender.filesystem);
    let mut before = "";
    for word in &contender.mkfs {
        let takes_it = |it: &str| it.len() == 2 && it.ends_with(|c| flags.value.contains(c));
        let fits = match word.strip_prefix('-') {
            // Short flags may stand together, and a value behind the last of them.
            Some(short) if !short.starts_with('-') => {
                let letters = short.chars().take_while(char::is_ascii_alphabetic);
                !letters.clone().any(|c| flags.path.contains(c))
            }
            Some(_) => true,
            None => takes_it(before),
        };
        if !fits || names_a_path(word) {
            return Err(refused(word.clone()));
        }
        before = word;
    }
    let mounts = contender.mount.iter().find(|option| {
        // A subvolume's path lies inside of the filesystem.
        !option.starts_with("subvol=") && names_a_path(option)
    });
    mounts.map_or(Ok(()), |option| Err(refused(option.clone())))
}

/// Whether a part of a word is a path or the key of one. `UUID=` and `LABEL=` are devices too.
fn names_a_path(word: &str) -> bool {
    let keys = word.split([',', ' ']).filter_map(|item| {
        Some(item.trim_start_matches('-').split_once('=')?.0.to_ascii_lowercase())
    });
    // `-Jdevice=…`: the key behind a flag.
    let ends_with_key = |key: &String| KEYS.iter().any(|known| key.ends_with(known));
    word.contains('/') || { keys }.any(|key| ends_with_key(&key))
}

#[cfg(test)]
mod tests {
    use crate::Contender;

    /// Each of these once led mkfs or mount to a device that nobody had named with `--destroy`.
    #[test]
    fn no_option_leads_to_another_device() {
        for text in [
            "btrfs:-f /dev/loop0",
            "btrfs:-f loop0",
            "btrfs:mkfs=loop0",
            "btrfs:-r src",
            "btrfs:--rootdir=src",
            "btrfs:mount=device=/dev/loop0",
            "btrfs:-O extref loop0",
            "xfs:-l logdev=/dev/loop0",
            "xfs:-l logdev=loop0",
            "xfs:-llogdev=loop0",
            "xfs:-l size=64m\\,logdev=loop0",
            "xfs:-r rtdev=loop0",
            "xfs:-d name=loop0",
            "xfs:-d file\\,name=x\\,size=1g",
            "xfs:-p proto",
            "xfs:-c options=x",
            "xfs:mount=logdev=loop0",
            "f2fs:-c loop0",
            "f2fs:-cloop0",
            "f2fs:-fc loop0",
            "ext4:-J device=/dev/loop0",
            "ext4:-J device=UUID=4",
            "ext4:-Jdevice=LABEL=x",
            "ext4:-z undo",
            "ext4:-d src",
            "ext4:-l blocks",
            "ext4:mount=journal_dev=0x700",
            "ext4:mount=journal_path=/dev/loop0",
            "ext4:mkfs=-F loop0",
            "jfs:-j loop0",
            "reiserfs:-j loop0",
            "reiserfs:--journal-device=loop0",
            "reiserfs:mount=jdev=/dev/loop0",
            "zfs:mkfs=mirror loop1 loop2",
            "zfs:-m /mnt",
            "zfs:-f sdb",
            "bcachefs:mkfs=loop0",
        ] {
            let refused = Contender::parse_list(text)
                .map_err(|error| error.to_string())
                .and_then(|all| all[0].validate().map_err(|refusal| refusal.to_string()));
            assert!(refused.is_err(), "{text}");
        }
    }

    #[test]
    fn values_that_are_no_paths_are_passed_on() {
        for text in [
            "ext4:-O bigalloc",
            "ext4:-T news",
            "ext4:-E stride=16\\,stripe_width=32",
            "ext4:-Fq -m 1",
            "ext4:mount=noatime\\,data=writeback",
            "xfs:-m finobt=0\\,reflink=0",
            "xfs:-K",
            "xfs:-l su=64k",
            "btrfs:-f -O ^extref",
            "btrfs:mount=subvol=/",
            "f2fs:-O extra_attr",
            "nilfs2:-B 16",
            "zfs:-O recordsize=16k",
            "bcachefs:--data_checksum=none",
        ] {
            let all = Contender::parse_list(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            super::check(&all[0]).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        }
    }
}
