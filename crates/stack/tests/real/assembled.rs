//! Layouts that the kernel assembles: md, dm-crypt, LVM thin. Where the kernel lacks them the
//! test says so; carried out in a guest of the lab, none is skipped.

use std::path::Path;

use units::Bytes;

use crate::contender::{Seen, stage};
use crate::machine::able;

/// Runs a contender on disks of `mib` MiB; `None` where this machine cannot.
fn seen(text: &str, mib: u64, needs: &str) -> Option<Seen> {
    if !able() {
        return None;
    }
    if !Path::new(needs).exists() {
        eprintln!("skipped: this kernel has no {needs}");
        return None;
    }
    Some(stage(text, Bytes::from_mib(mib)).run_mounted())
}

const MD: &str = "/proc/mdstat";
const DM: &str = "/dev/mapper/control";

#[test]
fn mkfs_finds_the_geometry_of_an_array() {
    // Stride and stripe width in blocks of 4 KiB, with chunks of 512 KiB.
    for (level, geometry) in [
        ("raid0x6", Some((128, 768))),
        ("raid1", None),
        ("raid5x6", Some((128, 640))),
        ("raid6x6", Some((128, 512))),
        ("raid10x6", Some((128, 384))),
    ] {
        let Some(ext4) = seen(&format!("ext4:layout={level}"), 160, MD) else { return };
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
    let Some(xfs) = seen("xfs:layout=raid10x6+journal", 400, MD) else { return };
    assert!(xfs.dump.contains("sunit=128    swidth=384 blks"), "{}", xfs.dump);
    assert!(xfs.dump.contains("log      =external"), "{}", xfs.dump);
    assert!(xfs.dump.contains("near=2"), "{}", xfs.dump);
    // mkfs.xfs does not ask an array below 1 GiB: there the contender says it.
    let Some(small) = seen("xfs:layout=raid10x6", 160, MD) else { return };
    assert!(small.dump.contains("sunit=0      swidth=0 blks"), "{}", small.dump);
    let said = "xfs:stripe_unit=512K:stripe_width=3:layout=raid10x6";
    let Some(said) = seen(said, 200, MD) else { return };
    assert!(said.dump.contains("sunit=128    swidth=384 blks"), "{}", said.dump);
}

#[test]
fn far_copies_and_small_chunks() {
    let Some(far) = seen("ext4:layout=raid10x4+copies=far+chunk=64K", 160, MD) else { return };
    assert!(far.dump.contains("far=2") && far.dump.contains("Chunk Size : 64K"), "{}", far.dump);
}

#[test]
fn mapped_disks() {
    let Some(crypt) = seen("ext4:layout=crypt", 400, DM) else { return };
    assert!(crypt.dump.contains("aes-xts-plain64"), "{}", crypt.dump);
    let Some(thin) = seen("ext4:layout=thin+size=300M+chunk=128K", 400, DM) else { return };
    assert!(thin.dump.contains("128.00k"), "{}", thin.dump);
    assert!(thin.dump.contains("data") && thin.dump.contains("pool"), "{}", thin.dump);
}
