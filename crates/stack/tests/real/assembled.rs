//! Layouts that the kernel assembles: md, dm-crypt, LVM thin. Where the kernel lacks them the
//! test says so; carried out in a guest of the lab, none is skipped.

use std::path::Path;

use skippable::{Ending, Skipped, skip};
use units::Bytes;

use crate::contender::{Seen, stage};
use crate::machine::able;

/// Runs a contender on disks of `mib` MiB; skips the test where this machine cannot.
fn seen(text: &str, mib: u64, needs: fn() -> Ending) -> Result<Seen, Skipped> {
    able()?;
    needs()?;
    Ok(stage(text, Bytes::from_mib(mib)).run_mounted())
}

/// The kernel makes this file with the driver.
const MD: fn() -> Ending = || match Path::new("/proc/mdstat").exists() {
    true => Ok(()),
    false => skip("this kernel has no md"),
};
const DM: fn() -> Ending = || skippable::needs_driver("device-mapper", "/dev/mapper/control");

pub(crate) fn mkfs_finds_the_geometry_of_an_array() -> Ending {
    // Stride and stripe width in blocks of 4 KiB, with chunks of 512 KiB.
    for (level, geometry) in [
        ("raid0x6", Some((128, 768))),
        ("raid1", None),
        ("raid5x6", Some((128, 640))),
        ("raid6x6", Some((128, 512))),
        ("raid10x6", Some((128, 384))),
    ] {
        let ext4 = seen(&format!("ext4:layout={level}"), 160, MD)?;
        let stride = geometry.map(|(stride, _)| format!("RAID stride:              {stride}"));
        let width = geometry.map(|(_, width)| format!("RAID stripe width:        {width}"));
        match (stride, width) {
            (Some(stride), Some(width)) => {
                assert!(ext4.dump.contains(&stride), "{level}:\n{}", ext4.dump);
                assert!(ext4.dump.contains(&width), "{level}:\n{}", ext4.dump);
            }
            _ => assert!(!ext4.dump.contains("RAID stride"), "{level}:\n{}", ext4.dump),
        }
    }
    let xfs = seen("xfs:layout=raid10x6+journal", 400, MD)?;
    assert!(xfs.dump.contains("sunit=128    swidth=384 blks"), "{}", xfs.dump);
    assert!(xfs.dump.contains("log      =external"), "{}", xfs.dump);
    assert!(xfs.dump.contains("near=2"), "{}", xfs.dump);
    // mkfs.xfs does not ask an array below 1 GiB: there the contender says it.
    let small = seen("xfs:layout=raid10x6", 160, MD)?;
    assert!(small.dump.contains("sunit=0      swidth=0 blks"), "{}", small.dump);
    let said = "xfs:stripe_unit=512K:stripe_width=3:layout=raid10x6";
    let said = seen(said, 200, MD)?;
    assert!(said.dump.contains("sunit=128    swidth=384 blks"), "{}", said.dump);
    Ok(())
}

pub(crate) fn far_copies_and_small_chunks() -> Ending {
    let far = seen("ext4:layout=raid10x4+copies=far+chunk=64K", 160, MD)?;
    assert!(far.dump.contains("far=2") && far.dump.contains("Chunk Size : 64K"), "{}", far.dump);
    Ok(())
}

pub(crate) fn mapped_disks() -> Ending {
    let crypt = seen("ext4:layout=crypt", 400, DM)?;
    assert!(crypt.dump.contains("aes-xts-plain64"), "{}", crypt.dump);
    let thin = seen("ext4:layout=thin+size=300M+chunk=128K", 400, DM)?;
    assert!(thin.dump.contains("128.00k"), "{}", thin.dump);
    assert!(thin.dump.contains("data") && thin.dump.contains("pool"), "{}", thin.dump);
    Ok(())
}
