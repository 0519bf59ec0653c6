//! Devices in use are refused whatever `--destroy` says.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use device::Claim;
use files::Mount;
use skippable::{Attached, Ending, Part, skip};

use crate::scratch::{Disk, Mounted, enters_as_root, refused_whatever_is_said, run};

pub(crate) fn mounted() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(32);
    run("mkfs.ext4", &["-q", disk.text()]);
    let mount = Mounted::read_only(&disk.node, disk.mount_point());
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("is mounted on"), "{refusal}");
    assert!(refusal.rule.contains(mount.0.to_str().unwrap()), "{refusal}");
    Ok(())
}

pub(crate) fn mounted_in_another_namespace() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(32);
    run("mkfs.ext4", &["-q", disk.text()]);
    let script = format!(
        "mount -o ro {} {} && echo mounted && cat",
        disk.text(),
        disk.mount_point().display()
    );
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    assert_eq!(line, "mounted\n");
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(refusal.rule.contains("in the mount namespace of process"), "{refusal}");
    Ok(())
}

pub(crate) fn active_swap() -> Ending {
    enters_as_root()?;
    struct Swap<'a>(&'a Disk);
    impl Drop for Swap<'_> {
        fn drop(&mut self) {
            run("swapoff", &[self.0.text()]);
        }
    }
    let disk = Disk::blank(16);
    run("mkswap", &[disk.text()]);
    // Lowest priority: the machine does not swap to it while the test looks.
    run("swapon", &["-p", "0", disk.text()]);
    let swap = Swap(&disk);
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("is in use as swap"), "{refusal}");
    drop(swap);
    Ok(())
}

pub(crate) fn held_exclusively() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let held =
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk.node).unwrap();
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("is held by someone"), "{refusal}");
    drop(held);
    Claim::take(&disk.node, &[]).expect("free again");
    Ok(())
}

pub(crate) fn open_for_writing_elsewhere() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let script = format!("exec 3<>{} && echo open && cat", disk.text());
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    assert_eq!(line, "open\n");
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("open for writing"), "{refusal}");
    drop(child.stdin.take());
    child.wait().unwrap();
    Ok(())
}

pub(crate) fn mounted_btrfs_of_two() -> Ending {
    enters_as_root()?;
    let (first, second) = (Disk::blank(128), Disk::blank(128));
    run("mkfs.btrfs", &["-q", "-f", "-d", "raid1", "-m", "raid1", first.text(), second.text()]);
    run("btrfs", &["device", "scan", first.text(), second.text()]);
    let mount = Mounted::read_only(&first.node, first.mount_point());
    // mountinfo names one of the two only.
    for disk in [&first, &second] {
        let refusal = refused_whatever_is_said(disk, &disk.node);
        assert!(refusal.rule.contains("btrfs") || refusal.rule.contains("mounted"), "{refusal}");
    }
    drop(mount);
    // Unmounted, it is a signature: refused without --destroy, and free with it.
    for disk in [&first, &second] {
        let before = disk.checksum();
        let refusal = Claim::take(&disk.node, &[]).unwrap_err();
        assert!(refusal.rule.contains("a signature of btrfs"), "{refusal}");
        Claim::take(&disk.node, std::slice::from_ref(&disk.node)).unwrap();
        assert_eq!(before, disk.checksum());
    }
    run("btrfs", &["device", "scan", "--forget", first.text()]);
    Ok(())
}

pub(crate) fn under_a_loop_device() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let above = Attached::over(&disk.node);
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    drop(above);
    assert!(refusal.rule.contains("stands on"), "{refusal}");
    Ok(())
}

pub(crate) fn on_a_device_that_is_mounted() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(32);
    run("mkfs.ext4", &["-q", disk.text()]);
    let above = Attached::over(&disk.node);
    let mount = Mounted::read_only(&disk.node, disk.mount_point());
    let refusal = refused_whatever_is_said(&disk, above.node());
    drop(mount);
    drop(above);
    assert!(refusal.rule.contains("is mounted on"), "{refusal}");
    Ok(())
}

pub(crate) fn a_file_attached_twice() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let twin = Attached::over(&disk.image());
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    drop(twin);
    assert!(refusal.rule.contains("is also attached to"), "{refusal}");
    Ok(())
}

pub(crate) fn partitions_and_their_disk() -> Ending {
    enters_as_root()?;
    // The kernel may have no reader for any partition table: addpart names the places.
    let disk = Disk::of(64, Part { partitions: true, ..Part::default() });
    run("addpart", &[disk.text(), "1", "2048", "40960"]);
    run("addpart", &[disk.text(), "2", "45056", "65536"]);
    let part = |number: u32| format!("{}p{number}", disk.text());
    run("mkfs.ext4", &["-q", &part(1)]);
    let blank = Claim::take(Path::new(&part(2)), &[]).expect("a blank partition of an idle disk");
    let whole = Claim::take(&disk.node, std::slice::from_ref(&disk.node)).unwrap_err();
    assert!(whole.rule.contains("is locked"), "a partition of it is claimed: {whole}");
    let beside = [part(1).into()];
    Claim::take(Path::new(&part(1)), &beside).expect("the disk's other partition is no use of it");
    drop(blank);

    let before = disk.checksum();
    let refusal = Claim::take(&disk.node, &[]).unwrap_err();
    assert!(refusal.rule.contains("p1 carries a signature of ext4"), "{refusal}");
    let named = [part(1).into()];
    Claim::take(&disk.node, &named).expect_err("--destroy names a partition, not the disk");
    Claim::take(Path::new(&part(1)), std::slice::from_ref(&disk.node))
        .expect_err("--destroy names the disk, not the partition");
    assert_eq!(before, disk.checksum());

    let mount = Mounted::read_only(Path::new(&part(1)), disk.mount_point());
    for node in [disk.text(), &part(1), &part(2)] {
        let refusal = refused_whatever_is_said(&disk, Path::new(node));
        assert!(refusal.rule.contains("p1 is mounted on"), "{refusal}");
    }
    drop(mount);
    run("delpart", &[disk.text(), "1"]);
    run("delpart", &[disk.text(), "2"]);
    Ok(())
}

pub(crate) fn a_symlink_is_resolved_and_shown() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(32);
    let link = disk.image().with_file_name("by-id");
    std::os::unix::fs::symlink(&disk.node, &link).unwrap();
    {
        let claim = Claim::take(&link, &[]).unwrap();
        assert_eq!(claim.path(), disk.node);
        assert_eq!(claim.state().asked, link);
    }
    run("mkfs.ext4", &["-q", disk.text()]);
    let mount = Mounted::read_only(&disk.node, disk.mount_point());
    let refusal = refused_whatever_is_said(&disk, &link);
    assert!(refusal.rule.contains("is mounted on"), "{refusal}");
    assert!(refusal.what.contains("by-id →"), "{refusal}");
    assert!(refusal.what.contains(disk.text()), "{refusal}");
    drop(mount);
    // --destroy may name it by another name, among others: the device counts.
    let other = Disk::blank(16);
    Claim::take(&disk.node, &[link, other.node.clone()]).unwrap();
    Ok(())
}

pub(crate) fn the_disk_under_the_root_filesystem() -> Ending {
    enters_as_root()?;
    let root = Mount::of(Path::new("/")).unwrap();
    let node = Path::new("/dev/block").join(root.number.to_string());
    let node = if node.exists() { node } else { root.source };
    if !node.exists() {
        return skip("/ is on no block device");
    }
    let refusal = Claim::take(&node, std::slice::from_ref(&node)).unwrap_err();
    assert!(refusal.rule.contains("is mounted on"), "{refusal}");
    Ok(())
}

pub(crate) fn claimed_twice() -> Ending {
    enters_as_root()?;
    let disk = Disk::blank(16);
    let first = Claim::take(&disk.node, &[]).unwrap();
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("is locked by another process"), "{refusal}");
    drop(first);
    Claim::take(&disk.node, &[]).expect("free again");
    Ok(())
}

pub(crate) fn read_only_small_and_not_a_device() -> Ending {
    enters_as_root()?;
    let disk = Disk::of(16, Part { read_only: true, ..Part::default() });
    let refusal = refused_whatever_is_said(&disk, &disk.node);
    assert!(refusal.rule.contains("read-only"), "{refusal}");
    let small = Disk::blank(8);
    let refusal = refused_whatever_is_said(&small, &small.node);
    assert!(refusal.rule.contains("8.00 MiB") || refusal.rule.contains("8 MiB"), "{refusal}");
    let refusal = Claim::take(&disk.image(), &[]).unwrap_err();
    assert!(refusal.rule.contains("is not a block device"), "{refusal}");
    let refusal = Claim::take(Path::new("/dev/no-such-disk"), &[]).unwrap_err();
    assert!(refusal.rule.contains("there is no such device"), "{refusal}");
    Ok(())
}
