//! What is still done after something failed, and what is not.

use skippable::{Ending, needs_loop_devices};
use stack::LayoutChoice;
use trial::{DeviceKind, Step};

use crate::disks::{Disk, StandIns, site};
use crate::outer::{contender, execute, order};

/// Damage is a finding, whatever came before.
pub(crate) fn what_a_failed_workload_left_is_checked() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let programs = StandIns::new();
    let checked = programs.directory().join("checked");
    let programs = programs.with("e2fsck", &format!("echo it is > {}", checked.display()));
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[]), site, &["bigfile size=200M"]);
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert!(step == Step::Work && reason.starts_with("bigfile: "), "{step}: {reason}");
    assert_eq!(told.steps().last(), Some(&Step::Check));
    assert!(checked.exists());
    Ok(())
}

/// Something that is mounted there, but is not what was made.
pub(crate) fn what_was_mounted_over_it_is_not_worked_on() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let cover = format!("mount -t tmpfs none {}", disk.mount_point().display());
    let programs = StandIns::new().with("dumpe2fs", &cover).with("e2fsck", "exit 0");
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[]), site, &["null ops=10"]);
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Settle);
    assert!(reason.ends_with(" is mounted as tmpfs, not as ext2"), "{reason}");
    assert!(told.begun().is_empty());
    Ok(())
}

/// An array that could not be stopped must not keep the marks of its members too.
pub(crate) fn everything_is_taken_apart_that_can_be() -> Ending {
    needs_loop_devices()?;
    let (one, two) = (Disk::blank(64), Disk::blank(64));
    let programs = StandIns::new();
    let calls = programs.directory().join("calls");
    let script = format!("echo \"$1\" >> {}; echo no room; exit 1", calls.display());
    let programs = programs.with("mdadm", &script);
    let mut contender = contender("ext2", &[]);
    contender.layout = LayoutChoice::parse("raid0").unwrap();
    let mut order = order(contender, site(&[&one, &two], DeviceKind::LoopFile), &["null ops=10"]);
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert!(step == Step::Layout && reason.contains("mdadm --create"), "{step}: {reason}");
    let calls = std::fs::read_to_string(calls).unwrap();
    assert_eq!(calls, "--create\n--stop\n--zero-superblock\n");
    Ok(())
}

/// The cause, and not what came of it.
pub(crate) fn the_first_failure_is_the_one_that_is_told() -> Ending {
    needs_loop_devices()?;
    let (one, two) = (Disk::blank(128), Disk::blank(128));
    let programs = StandIns::new()
        .with("mkfs.btrfs", "echo no room; exit 1")
        .with("btrfs", "echo it is not known; exit 1");
    let mut contender = contender("btrfs", &[]);
    contender.layout = LayoutChoice::parse("btrfs-raid1").unwrap();
    let mut order = order(contender, site(&[&one, &two], DeviceKind::LoopFile), &["null ops=10"]);
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert!(step == Step::Mkfs && reason.ends_with(": no room"), "{step}: {reason}");
    Ok(())
}

/// A small ext2 has one superblock: nothing could bring it back.
pub(crate) fn the_only_superblock_is_not_destroyed() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let work = ["upkeep size=64M full=0.05 changes=4 snapshots=0"];
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[("block_size", "4K")]), site, &work);
    order.power = true;
    let told = execute(&order);
    told.expect_done();
    assert!(told.skipped("repair").contains("one superblock and no copy"), "{told:#?}");
    assert!(!told.guarded().contains(&"asked dd".to_owned()));
    Ok(())
}
