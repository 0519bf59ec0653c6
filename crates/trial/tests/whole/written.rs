//! What is on the disk: before room is counted, and after a loss of power.

use std::fs::File;
use std::path::Path;

use skippable::{Ending, needs_loop_devices, needs_to_see_what_is_written, unwritten};
use trial::for_tests::{after_workloads, shut_down};
use units::Bytes;

use crate::disks::{Disk, run};

pub(crate) fn everything_is_written_out_before_room_is_counted() -> Ending {
    let directory = tempfile::tempdir().unwrap();
    needs_to_see_what_is_written(directory.path())?;
    let path = directory.path().join("file");
    std::fs::write(&path, "text").unwrap();
    let file = File::open(&path).unwrap();
    let mut left = None;
    after_workloads(directory.path(), Some(Bytes(1)), false, || {
        left = Some(unwritten(&file).unwrap());
        Ok(())
    });
    assert_eq!(left, Some(0));
    Ok(())
}

pub(crate) fn what_was_not_synced_is_lost_with_the_power() -> Ending {
    needs_loop_devices()?;
    // In a thread of its own, which alone sees the mounts.
    std::thread::spawn(lose_power).join().unwrap();
    Ok(())
}

fn lose_power() {
    skippable::own_mounts();
    let disk = Disk::blank(64);
    let (node, point) = (disk.text(), disk.mount_point());
    let place = point.to_str().unwrap();
    run("mke2fs", &["-q", "-F", "-t", "ext4", node]);
    // No commit of the log comes in between by itself.
    run("mount", &["-t", "ext4", "-o", "commit=300", node, place]);
    File::create(point.join("synced")).unwrap().sync_all().unwrap();
    File::create(point.join("not synced")).unwrap();
    let shut = shut_down(Path::new(place));
    run("umount", &[place]);
    shut.unwrap();
    run("mount", &["-t", "ext4", node, place]);
    let found = ["synced", "not synced"].map(|name| point.join(name).exists());
    run("umount", &[place]);
    assert_eq!(found, [true, false]);
}
