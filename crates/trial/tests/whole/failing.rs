//! What goes wrong ends a trial where it went wrong, with the reason.

use std::path::PathBuf;

use skippable::{Ending, needs_loop_devices};
use stack::Contender;
use trial::{DeviceKind, Site, SpaceUse, Step};
use units::Bytes;

use crate::disks::{Disk, StandIns};
use crate::inner::{Deed, Order};
use crate::outer::{contender, execute, order};

/// A trial in memory, with this deed when its first phase begins.
fn in_memory(place: &tempfile::TempDir, workloads: &[&str], deed: Deed) -> Order {
    let mount_point = place.path().to_owned();
    let site = Site::Devices { devices: Vec::new(), kind: DeviceKind::LoopFile, mount_point };
    let mut order = order(contender("tmpfs", &[]), site, workloads);
    order.job.spec.size = Some(Bytes::from_mib(1));
    order.at = vec![("spin".to_owned(), deed)];
    order
}

fn on_disk(disk: &Disk, contender: Contender) -> Order {
    order(contender, disk.site(DeviceKind::LoopFile), &["null ops=10"])
}

pub(crate) fn a_command_that_the_guard_refuses_is_not_run() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let mut order = on_disk(&disk, contender("ext2", &[]));
    order.refused = Some("mke2fs".to_owned());
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Mkfs);
    let changed = "was not run, the device changed: somebody wrote to it";
    assert!(reason.contains(" mke2fs ") && reason.ends_with(changed), "{reason}");
    assert_eq!(told.guarded(), ["asked wipefs", "ran wipefs", "asked mke2fs"]);
    assert_eq!(told.steps().last(), Some(&Step::Mkfs));
    Ok(())
}

pub(crate) fn an_input_that_is_missing_ends_the_trial_before_anything_is_done() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let mut order = on_disk(&disk, contender("ext2", &[]));
    order.job.inputs.mail = Some(PathBuf::from("/nonexistent/pack"));
    let told = execute(&order);
    assert_eq!(told.failure().0, Step::Prepare);
    assert_eq!(told.steps(), [Step::Prepare]);
    assert!(told.guarded().is_empty(), "{:?}", told.guarded());
    Ok(())
}

pub(crate) fn a_busy_filesystem_is_not_taken_for_unmounted() -> Ending {
    needs_loop_devices()?;
    let place = tempfile::tempdir().unwrap();
    let deed = Deed::Hold(place.path().to_owned());
    let told = execute(&in_memory(&place, &["null ops=10"], deed));
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Unmount);
    assert!(reason.starts_with(&format!("umount {}: ", place.path().display())), "{reason}");
    assert!(reason.contains("busy"), "{reason}");
    assert!(told.left_mounted());
    Ok(())
}

pub(crate) fn a_covered_target_is_lost() -> Ending {
    needs_loop_devices()?;
    let place = tempfile::tempdir().unwrap();
    let deed = Deed::Script(format!("mount -t tmpfs none {}", place.path().display()));
    let told = execute(&in_memory(&place, &["null ops=10", "null ops=20"], deed));
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Work);
    let lost = "null: the target is not the filesystem under test: ";
    assert!(reason.starts_with(lost) && reason.contains("the trial began on"), "{reason}");
    assert_eq!(told.begun().len(), 1, "another workload was begun on it");
    let SpaceUse::Missing { why } = told.space() else { panic!("{told:#?}") };
    assert!(why.contains("the trial began on"), "{why}");
    Ok(())
}

/// A defect in a workload must not keep a device busy.
pub(crate) fn a_panic_leaves_nothing_mounted() -> Ending {
    needs_loop_devices()?;
    let place = tempfile::tempdir().unwrap();
    let told = execute(&in_memory(&place, &["null ops=10"], Deed::Panic));
    assert_eq!(told.begun(), ["spin"]);
    assert!(told.outcomes().is_empty(), "{told:#?}");
    assert!(!told.left_mounted());
    Ok(())
}

pub(crate) fn an_unknown_mount_option_is_explained() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let mut contender = contender("ext2", &[]);
    contender.mount = vec!["nonsense".to_owned()];
    let told = execute(&on_disk(&disk, contender));
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Mount);
    let command = format!("mount -t ext2 -o noatime,nonsense {} ", disk.text());
    assert!(reason.starts_with(&command), "{reason}");
    let hint = " (an option this kernel does not take, or a bad superblock)";
    assert!(reason.ends_with(hint), "{reason}");
    Ok(())
}

/// One workload after the other fills a filesystem of 1 MiB.
pub(crate) fn what_follows_a_workload_that_failed_is_not_compared() -> Ending {
    needs_loop_devices()?;
    let place = tempfile::tempdir().unwrap();
    let deed = Deed::Script("true".to_owned());
    let told = execute(&in_memory(&place, &["bigfile size=4M", "null ops=10"], deed));
    let (step, reason) = told.failure();
    assert!(step == Step::Work && reason.starts_with("bigfile: "), "{step}: {reason}");
    let after = workload::NotComparable::AfterWorkload { workload: "bigfile".to_owned() };
    assert_eq!(told.phase("spin").not_comparable, Some(after));
    Ok(())
}

/// No kernel of kernel.org ever had reiser4.
pub(crate) fn an_unknown_kernel_type_is_explained() -> Ending {
    needs_loop_devices()?;
    let known = std::fs::read_to_string("/proc/filesystems").unwrap();
    if known.contains("reiser4") {
        return skippable::skip("this kernel has reiser4");
    }
    let disk = Disk::blank(64);
    let programs = StandIns::new().with("mkfs.reiser4", "exit 0");
    let mut order = on_disk(&disk, contender("reiser4", &[]));
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Mount);
    assert!(reason.ends_with(" (this kernel has no such filesystem)"), "{reason}");
    Ok(())
}

pub(crate) fn damage_found_by_the_check_is_a_failure() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let programs = StandIns::new().with("e2fsck", "echo a block is used twice; exit 4");
    let mut order = on_disk(&disk, contender("ext2", &[]));
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Check);
    assert!(reason.contains("exit status: 4: a block is used twice"), "{reason}");
    Ok(())
}
