//! What changes between the claim and a destructive command is noticed.

use device::Claim;

use skippable::Ending;

use crate::scratch::{Disk, Mounted, attempt, enters_as_root, run};

pub(crate) fn our_own_mkfs_is_noted_and_a_strangers_is_not() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(32);
    let mut claim = Claim::take(&disk.node, &[]).unwrap();
    for _ in 0..2 {
        claim.recheck().unwrap();
        run("mkfs.ext4", &["-q", "-F", disk.text()]);
        claim.note_ours().unwrap();
        let mount = Mounted::on(&disk.node, disk.mount_point());
        let refusal = claim.recheck().expect_err("mounted");
        assert!(refusal.rule.contains("is mounted on"), "{refusal}");
        std::fs::write(mount.0.join("file"), "ours").unwrap();
        drop(mount);
        claim.note_ours().unwrap();
    }
    run("mkswap", &[disk.text()]);
    let refusal = claim.recheck().expect_err("somebody else wrote to it");
    assert!(refusal.rule.contains("contents changed, and not by us"), "{refusal}");
    assert!(refusal.rule.contains("swap"), "{refusal}");
    Ok(())
}

pub(crate) fn a_single_byte_in_a_sampled_area_is_noticed() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let claim = Claim::take(&disk.node, &[]).unwrap();
    disk.write(12_345, b"x");
    assert!(claim.recheck().unwrap_err().rule.contains("contents changed"));
    Ok(())
}

pub(crate) fn another_size() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let mut claim = Claim::take(&disk.node, &[]).unwrap();
    std::fs::OpenOptions::new().write(true).open(disk.image()).unwrap().set_len(32 << 20).unwrap();
    run("losetup", &["--set-capacity", disk.text()]);
    let refusal = claim.recheck().unwrap_err();
    assert!(refusal.rule.contains("it had 16"), "{refusal}");
    claim.note_ours().expect_err("another size is not a change of ours");
    Ok(())
}

pub(crate) fn another_disk_under_the_same_number() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let claim = Claim::take(&disk.node, &[]).unwrap();
    let state = claim.state().clone();
    let (device, _) = claim.descriptors();
    let device = device.try_clone_to_owned().unwrap();
    drop(claim);
    // What a process that inherited the descriptor would see of a claim of another disk.
    let mut other = state.clone();
    other.identity.disk_sequence = other.identity.disk_sequence.map(|sequence| sequence + 1);
    let tools = device::ToolPath::from_environment();
    let refusal =
        Claim::adopt(device.try_clone().unwrap(), None, other, tools.clone()).unwrap_err();
    assert!(refusal.rule.contains("disk sequence number"), "{refusal}");
    // A descriptor that leads elsewhere: to another device, or to no device at all.
    let neighbour = Disk::blank(16);
    for elsewhere in [neighbour.node.clone(), neighbour.image()] {
        let inherited = std::fs::File::open(elsewhere).unwrap().into();
        let refusal = Claim::adopt(inherited, None, state.clone(), tools.clone()).unwrap_err();
        assert!(refusal.rule.contains("is another file"), "{refusal}");
    }
    let claim = Claim::adopt(device, None, state, tools).unwrap();
    claim.recheck().unwrap();
    // The file is taken away while the claim's descriptor is open: the device is empty.
    attempt("losetup", &["-d", disk.text()]);
    drop(claim);
    Ok(())
}

/// Held in a way that no table of the kernel shows: only the exclusive open tells.
pub(crate) fn held_exclusively_after_the_claim() -> Ending {
    use std::os::unix::fs::OpenOptionsExt;
    enters_as_root()?;
    let disk = Disk::blank(16);
    let claim = Claim::take(&disk.node, &[]).unwrap();
    let mut options = std::fs::OpenOptions::new();
    let held = options.read(true).custom_flags(libc::O_EXCL).open(&disk.node).unwrap();
    let refusal = claim.recheck().expect_err("held, and free to overwrite");
    assert!(refusal.rule.contains("is held by someone"), "{refusal}");
    drop(held);
    claim.recheck().unwrap();
    Ok(())
}

pub(crate) fn put_to_use_after_the_claim() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let claim = Claim::take(&disk.node, &[]).unwrap();
    let above = skippable::Attached::over(&disk.node);
    let refusal = claim.recheck().unwrap_err();
    drop(above);
    assert!(refusal.rule.contains("stands on"), "{refusal}");
    claim.recheck().unwrap();
    Ok(())
}
