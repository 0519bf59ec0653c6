//! The workload `upkeep` has the filesystem itself made, mounted, cut off, checked and repaired.

use skippable::{Ending, needs_loop_devices};
use trial::{DeviceKind, Step};
use units::Bytes;
use workload::PhaseStatus;

use crate::disks::{Disk, StandIns};
use crate::inner::{Deed, Said};
use crate::outer::{contender, execute, order};

const UPKEEP: &str = "upkeep size=64M full=0.05 changes=4 snapshots=0";

pub(crate) fn everything_is_done_to_the_filesystem() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let node = disk.text();
    let _held = disk.hold();
    // Blocks of 1 KiB give it a copy of its superblock; without checksums of metadata, a check
    // reads every inode: 4096 of 256 bytes.
    let options = [("block_size", "1K"), ("metadata_checksum", "off")];
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext4", &options), site, &[UPKEEP]);
    let look = format!("dumpe2fs -h {node} | grep -c needs_recovery || true");
    order.at = vec![("mount-after-power-loss".to_owned(), Deed::Script(look))];
    let told = execute(&order);
    told.expect_done();
    let asked = |program: &str| [format!("asked {program}"), format!("ran {program}")];
    let unmounted = || "ran umount".to_owned();
    let mut guarded = [asked("wipefs"), asked("mke2fs")].concat();
    guarded.push(unmounted());
    guarded.extend(asked("mke2fs"));
    // `unmount`, the loss of power, and before `check`.
    guarded.extend([unmounted(), unmounted(), unmounted()]);
    guarded.extend(asked("dd"));
    guarded.extend(asked("e2fsck"));
    assert_eq!(told.guarded(), guarded);
    let typed = told.said.iter().find_map(|said| match said {
        Said::Asked(command) if command.program == "dd" => Some(command.to_string()),
        _ => None,
    });
    let expected = format!("dd if=/dev/zero of={node} bs=1024 count=1 oseek=1024B");
    assert_eq!(typed, Some(expected));

    for phase in ["mkfs", "first-mount", "fill", "change", "unmount", "mount", "check", "repair"] {
        told.timed(phase);
    }
    let lost = told.timed("mount-after-power-loss");
    assert!(lost.notes.is_empty(), "{:?}", lost.notes);
    // After a clean unmount there would be nothing to recover.
    assert_eq!(told.printed(), ["1\n"]);
    // The check had read the same before; the device's own cache was emptied after it.
    let read = told.phase("repair").device.expect("a disk").read_bytes;
    assert!(read >= Bytes::from_mib(1), "{read}");
    Ok(())
}

pub(crate) fn a_guard_with_a_switch_cuts_the_power_around_the_unmount() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[("block_size", "1K")]), site, &[UPKEEP]);
    order.power = true;
    let told = execute(&order);
    told.expect_done();
    let is_switch = |said: &Said| matches!(said, Said::Power(_));
    assert_eq!(told.said.iter().filter(|said| is_switch(said)).count(), 2);
    let off = told.said.iter().position(is_switch).unwrap();
    let Said::Ran(unmount) = &told.said[off + 1] else { panic!("{told:#?}") };
    assert_eq!(unmount.to_string(), format!("umount {}", disk.mount_point().display()));
    assert_eq!(told.said[off], Said::Power(false));
    assert_eq!(told.said[off + 2], Said::Power(true));
    let status = &told.phase("mount-after-power-loss").status;
    assert_eq!(*status, PhaseStatus::Completed);
    Ok(())
}

pub(crate) fn a_repair_that_repairs_nothing_is_a_failure() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(256);
    let programs = StandIns::new().with("e2fsck", "exit 0");
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[]), site, &[UPKEEP]);
    order.job.tool_path = programs.tool_path();
    // ext2 without a check would not survive a real loss of power.
    order.power = true;
    let told = execute(&order);
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Work);
    assert_eq!(reason, "upkeep: the repair ended well and repaired nothing");
    Ok(())
}
