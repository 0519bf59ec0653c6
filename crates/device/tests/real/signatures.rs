//! Every kind of signature is refused without `--destroy`, and given up with it.

use std::path::{Path, PathBuf};

use device::{Claim, ClaimRequest, Emptiness, SMALLEST_DEVICE, ToolPath};

use skippable::Ending;

use crate::fixtures;
use crate::scratch::{Disk, enters_as_root, run};

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

pub(crate) fn blank() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let before = disk.checksum();
    let claim = Claim::take(&disk.node, &[]).unwrap();
    assert_eq!(claim.size(), units::Bytes::from_mib(16));
    claim.recheck().unwrap();
    assert_eq!(before, disk.checksum());
    Ok(())
}

pub(crate) fn filesystems_and_swap() -> Ending {
    enters_as_root()?;
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
    Ok(())
}

pub(crate) fn members_of_sets() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    disk.write(0, &fixtures::lvm_label());
    guarded(&disk, "a signature of LVM2_member");
    let disk = Disk::blank(16);
    let filter =
        format!("devices{{use_devicesfile=0 filter=[\"a|^{}$|\",\"r|.*|\"]}}", disk.text());
    run("pvcreate", &["-q", "--config", &filter, disk.text()]);
    guarded(&disk, "a signature of LVM2_member");

    let disk = Disk::blank(16);
    disk.write(4096, &fixtures::md_superblock_1_2((16 << 20) / 512));
    guarded(&disk, "a signature of linux_raid_member");

    let disk = Disk::blank(64);
    for offset in [0, 256 << 10, (64 << 20) - (512 << 10), (64 << 20) - (256 << 10)] {
        disk.write(offset, &fixtures::zfs_label());
    }
    guarded(&disk, "a signature of zfs_member");
    Ok(())
}

pub(crate) fn encryption() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    disk.write(0, &fixtures::luks_header());
    guarded(&disk, "a signature of crypto_LUKS");

    let disk = Disk::blank(32);
    let key = disk.image().with_file_name("key");
    std::fs::write(&key, "not a secret").unwrap();
    let fast = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];
    let mut args = vec!["-q", "luksFormat", "--type", "luks2", "--key-file", key.to_str().unwrap()];
    args.extend(fast);
    args.push(disk.text());
    run("cryptsetup", &args);
    guarded(&disk, "a signature of crypto_LUKS");
    Ok(())
}

pub(crate) fn partition_tables() -> Ending {
    enters_as_root()?;
    for (label, expected) in
        [("msdos", "a partition table (dos)"), ("gpt", "a partition table (gpt)")]
    {
        let disk = Disk::blank(16);
        run("parted", &["-s", disk.text(), "mklabel", label]);
        guarded(&disk, expected);
    }
    Ok(())
}

pub(crate) fn signatures_that_contradict() -> Ending {
    use std::os::unix::fs::FileExt;
    enters_as_root()?;
    // XFS, with the superblock of an ext4 in the place where ext4 has it.
    let small = Disk::blank(32);
    run("mkfs.ext4", &["-q", small.text()]);
    let mut superblock = [0; 1024];
    std::fs::File::open(&small.node).unwrap().read_exact_at(&mut superblock, 1024).unwrap();
    let disk = Disk::blank(320);
    run("mkfs.xfs", &["-q", disk.text()]);
    disk.write(1024, &superblock);
    guarded(&disk, "carries several contradictory signatures");
    Ok(())
}

/// Takes with a blkid of our own making, and expects to be refused.
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
        emptiness: Emptiness::default(),
    };
    request.take().expect_err("claimed without a word from blkid")
}

/// blkid runs when the device was looked at and is locked: what puts it to use just then did
/// not ask for the lock.
pub(crate) fn put_to_use_while_it_is_claimed() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let above = disk.image().with_extension("above");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n[ -e {above} ] || losetup -f --show {} >{above}\nexec blkid \"$@\"\n",
        disk.text(),
        above = above.display(),
    );
    let refusal = take_with_blkid(&disk, Some(&script), &[]);
    run("losetup", &["-d", std::fs::read_to_string(&above).unwrap().trim()]);
    assert!(refusal.rule.contains("stands on"), "{refusal}");
    Claim::take(&disk.node, &[]).expect("free again");
    Ok(())
}

pub(crate) fn blkid_missing_failing_or_unsure() -> Ending {
    enters_as_root()?;
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
    Ok(())
}
