//! Every kind of signature is refused without `--destroy`, and given up with it.

use std::path::{Path, PathBuf};

use device::{Claim, ClaimRequest, SMALLEST_DEVICE, ToolPath};

use crate::fixtures;
use crate::scratch::{Disk, is_root, run};

/// The device is refused with a rule that says `expected`; `--destroy` helps only if it names
/// the device; nothing is written in any case.
fn guarded(disk: &Disk, expected: &str) {
    let before = disk.checksum();
    let refusal = Claim::take(&disk.node, &[]).expect_err(expected);
    assert!(refusal.rule.contains(expected), "expected `{expected}`: {refusal}");
    assert!(refusal.next.as_ref().unwrap().contains("--destroy"), "{refusal}");
    let other = Disk::blank(16);
    Claim::take(&disk.node, std::slice::from_ref(&other.node)).expect_err("another is named");
    Claim::take(&disk.node, &["/dev/no-such-disk".into()]).expect_err("nothing is named");
    let claim = Claim::take(&disk.node, &[other.node.clone(), disk.node.clone()]).unwrap();
    claim.recheck().unwrap();
    drop(claim);
    assert_eq!(before, disk.checksum(), "the guard wrote to the device");
}

#[test]
fn blank() {
    if !is_root("blank") {
        return;
    }
    let disk = Disk::blank(16);
    let before = disk.checksum();
    let claim = Claim::take(&disk.node, &[]).unwrap();
    assert_eq!(claim.size(), units::Bytes::from_mib(16));
    claim.recheck().unwrap();
    assert_eq!(before, disk.checksum());
}

#[test]
fn filesystems_and_swap() {
    if !is_root("filesystems_and_swap") {
        return;
    }
    for (mib, program, args, expected) in [
        (32, "mkfs.ext4", &["-q", "-L", "home"][..], "a signature of ext4 labelled `home`"),
        (320, "mkfs.xfs", &["-q"], "a signature of xfs"),
        (128, "mkfs.btrfs", &["-q"], "a signature of btrfs"),
        (16, "mkswap", &[], "a signature of swap"),
    ] {
        let disk = Disk::blank(mib);
        let args: Vec<&str> = args.iter().copied().chain([disk.text()]).collect();
        run(program, &args);
        guarded(&disk, expected);
    }
}

#[test]
fn members_of_sets() {
    if !is_root("members_of_sets") {
        return;
    }
    let disk = Disk::blank(16);
    disk.write(0, &fixtures::lvm_label());
    guarded(&disk, "a signature of LVM2_member");

    let disk = Disk::blank(16);
    disk.write(4096, &fixtures::md_superblock_1_2((16 << 20) / 512));
    guarded(&disk, "a signature of linux_raid_member");

    let disk = Disk::blank(64);
    for offset in [0, 256 << 10, (64 << 20) - (512 << 10), (64 << 20) - (256 << 10)] {
        disk.write(offset, &fixtures::zfs_label());
    }
    guarded(&disk, "a signature of zfs_member");
}

#[test]
fn encryption() {
    if !is_root("encryption") {
        return;
    }
    let disk = Disk::blank(16);
    disk.write(0, &fixtures::luks_header());
    guarded(&disk, "a signature of crypto_LUKS");
}

#[test]
fn partition_tables() {
    if !is_root("partition_tables") {
        return;
    }
    for (label, expected) in
        [("msdos", "a partition table (dos)"), ("gpt", "a partition table (gpt)")]
    {
        let disk = Disk::blank(16);
        run("parted", &["-s", disk.text(), "mklabel", label]);
        guarded(&disk, expected);
    }
}

#[test]
fn signatures_that_contradict() {
    if !is_root("signatures_that_contradict") {
        return;
    }
    let disk = Disk::blank(32);
    run("mkfs.ext4", &["-q", disk.text()]);
    disk.write(4096 - 10, b"SWAPSPACE2");
    let mut swap = [0u8; 8];
    swap[0] = 1;
    swap[4..].copy_from_slice(&7000u32.to_le_bytes());
    disk.write(1024 + 8192, &[0; 16]);
    // Whether blkid calls this ambivalent or names one of them, it is refused.
    let before = disk.checksum();
    let refusal = Claim::take(&disk.node, &[]).unwrap_err();
    assert!(refusal.rule.contains("carries"), "{refusal}");
    assert_eq!(before, disk.checksum());
}

#[test]
fn data_that_no_signature_explains() {
    if !is_root("data_that_no_signature_explains") {
        return;
    }
    for offset in [70_000, 8 << 20, (16 << 20) - 1] {
        let disk = Disk::blank(16);
        // The middle sample of 16: size / 17 * 8, and its neighbourhood.
        let offset = if offset == 8 << 20 { (16 << 20) / 17 * 8 / 65536 * 65536 } else { offset };
        disk.write(offset, b"x");
        guarded(&disk, "it holds data of no kind that blkid knows");
    }
}

/// Takes with a blkid of our own making.
fn take_with_blkid(disk: &Disk, script: Option<&str>, destroy: &[PathBuf]) -> stack::Refusal {
    use std::os::unix::fs::PermissionsExt;
    let tools = tempfile::tempdir().unwrap();
    if let Some(script) = script {
        let path = tools.path().join("blkid");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let request = ClaimRequest {
        path: &disk.node,
        destroy,
        minimum: SMALLEST_DEVICE,
        tools: ToolPath::of([tools.path().to_owned()]),
    };
    request.take().expect_err("claimed without a word from blkid")
}

#[test]
fn blkid_missing_failing_or_unsure() {
    if !is_root("blkid_missing_failing_or_unsure") {
        return;
    }
    let disk = Disk::blank(16);
    let before = disk.checksum();
    let named = [disk.node.clone()];
    for destroy in [&[][..], &named] {
        let missing = take_with_blkid(&disk, None, destroy);
        assert!(missing.rule.contains("blkid was not found"), "{missing}");
        assert!(missing.next.unwrap().contains("util-linux"));
        for script in [
            "#!/bin/sh\nexit 4\n",
            "#!/bin/sh\necho 'error: no such file' >&2\nexit 2\n",
            "#!/bin/sh\nexit 0\n",
            "#!/bin/sh\nkill -9 $$\n",
            "#!/no/such/interpreter\n",
        ] {
            let failing = take_with_blkid(&disk, Some(script), destroy);
            assert!(failing.rule.contains("blkid"), "{script}: {failing}");
        }
    }
    let unsure = take_with_blkid(&disk, Some("#!/bin/sh\nexit 8\n"), &[]);
    assert!(unsure.rule.contains("contradict"), "{unsure}");
    assert_eq!(before, disk.checksum());
    assert!(Path::new(&disk.node).exists());
}
