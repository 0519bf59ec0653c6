//! The filesystems that Debian's kernels have as modules and many others lack. Where the
//! kernel lacks one, the test says so; carried out in a guest of the lab, none is skipped.

use skippable::{Ending, Skipped, skip};
use units::Bytes;

use crate::contender::{Seen, stage};
use crate::machine::{able, kernel_has, run};

fn seen(text: &str, mib: u64) -> Result<Seen, Skipped> {
    able()?;
    let name = text.split([':', '@']).next().unwrap();
    let kernel_type = stack::filesystems::find(name).unwrap().describe().kernel_type;
    if !kernel_has(kernel_type) {
        return skip(format!("this kernel has no {kernel_type}"));
    }
    Ok(stage(text, Bytes::from_mib(mib)).run_mounted())
}

fn shows(seen: &Seen, option: &str) -> bool {
    seen.mount_options.split(',').any(|other| other == option)
}

pub(crate) fn reiserfs_mounts_with_its_options() -> Ending {
    for text in [
        "reiserfs",
        "reiserfs@2004",
        "reiserfs:block_size=1K:directory_hash=tea",
        "reiserfs:journal_size=16M:directory_hash=rupasov",
        "reiserfs:layout=single+journal",
        "reiserfs:journal_size=64M:layout=single+journal",
    ] {
        seen(text, 160)?;
    }
    let off = seen("reiserfs:barrier=off:tail_packing=off:data=writeback", 64)?;
    assert!(shows(&off, "barrier=none"), "{}", off.mount_options);
    assert!(shows(&off, "data=writeback"), "{}", off.mount_options);
    assert!(shows(&off, "notail"), "{}", off.mount_options);
    let on = seen("reiserfs:barrier=on:commit_interval=7", 64)?;
    assert!(shows(&on, "commit=7") && !shows(&on, "barrier=none"), "{}", on.mount_options);
    Ok(())
}

pub(crate) fn jfs_mounts_with_its_journal_inside_and_outside() -> Ending {
    for text in ["jfs", "jfs:journal_size=4M", "jfs:layout=single+journal"] {
        let seen = seen(text, 64)?;
        assert!(!seen.features.is_empty(), "{text}: {}", seen.dump);
        assert!(seen.dump.contains(&seen.uuid), "{text}: {}", seen.dump);
    }
    Ok(())
}

pub(crate) fn f2fs_mounts_with_its_options() -> Ending {
    seen("f2fs", 80)?;
    let off = seen("f2fs:barrier=off:inline_data=off:metadata_checksum=on", 80)?;
    assert!(shows(&off, "nobarrier") && shows(&off, "noinline_data"), "{}", off.mount_options);
    assert!(off.features.contains(&"inode_checksum".to_owned()), "{:?}", off.features);
    let packed = seen("f2fs:compression=zstd:compression_level=3", 80)?;
    assert!(shows(&packed, "compress_algorithm=zstd:3"), "{}", packed.mount_options);
    assert!(packed.features.contains(&"compression".to_owned()), "{:?}", packed.features);
    Ok(())
}

pub(crate) fn nilfs2_mounts_without_its_cleaner() -> Ending {
    for text in ["nilfs2", "nilfs2:block_size=1K"] {
        let seen = seen(text, 160)?;
        assert!(seen.dump.contains(&seen.uuid), "{text}: {}", seen.dump);
    }
    let off = seen("nilfs2:barrier=off", 160)?;
    assert!(shows(&off, "nobarrier"), "{}", off.mount_options);
    Ok(())
}

pub(crate) fn exfat_and_ntfs3_mount() -> Ending {
    for text in ["exfat", "exfat:block_size=64K", "ntfs3", "ntfs3:compression=on:block_size=4K"] {
        seen(text, 64)?;
    }
    Ok(())
}

/// From the kernel's configuration; where it does not show it, FSTRIAL_KERNEL_HAS_XFS_V4 says
/// so (Debian's kernels do take it).
fn kernel_takes_xfs_v4() -> bool {
    let path = "/proc/config.gz";
    std::env::var_os("FSTRIAL_KERNEL_HAS_XFS_V4").is_some()
        || std::path::Path::new(path).exists()
            && run(&stack::Command::new("zcat", [path])).contains("CONFIG_XFS_SUPPORT_V4=y")
}

pub(crate) fn xfs_of_a_time_mounts_where_the_kernel_takes_v4() -> Ending {
    able()?;
    if !kernel_takes_xfs_v4() {
        return skip("this kernel does not say that it takes XFS v4");
    }
    for text in [
        "xfs@2004",
        "xfs@2011",
        "xfs@2004:block_size=1K:stripe_unit=16K:stripe_width=3:layout=single+journal",
    ] {
        let seen = seen(text, 320)?;
        assert!(seen.features.contains(&"V4".to_owned()), "{text}: {:?}", seen.features);
    }
    Ok(())
}
