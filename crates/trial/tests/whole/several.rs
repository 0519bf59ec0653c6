//! Several disks under one filesystem; a real disk's trimming; queues that a contender asks for.

use skippable::{Ending, needs_loop_devices};
use stack::LayoutChoice;
use trial::{DeviceKind, Step};
use units::Bytes;
use workload::Cache;

use crate::disks::{Disk, StandIns, site};
use crate::inner::Deed;
use crate::outer::{contender, execute, order};

pub(crate) fn two_disks_of_one_filesystem_are_counted_and_forgotten() -> Ending {
    needs_loop_devices()?;
    let (one, two) = (Disk::blank(128), Disk::blank(128));
    let site = site(&[&one, &two], DeviceKind::LoopFile);
    let mut contender = contender("btrfs", &[("read_ahead", "64K")]);
    contender.layout = LayoutChoice::parse("btrfs-raid1").unwrap();
    let mut order = order(contender, site, &["bigfile dd_size=0 size=4M"]);
    // Each mount resets it.
    let uuid = order.job.filesystem_uuid();
    let look = format!("cat /sys/fs/btrfs/{uuid}/bdi/read_ahead_kb");
    order.at = vec![("read".to_owned(), Deed::Script(look))];
    let told = execute(&order);
    told.expect_done();
    let last = [Step::Unmount, Step::Check, Step::Dismantle];
    assert!(told.steps().ends_with(&last), "{:?}", told.steps());
    let mut guarded = Vec::new();
    // Each disk is cleared, then both are wiped by what btrfs is made with.
    for program in ["wipefs", "wipefs", "wipefs", "mkfs.btrfs"] {
        guarded.extend([format!("asked {program}"), format!("ran {program}")]);
    }
    assert_eq!(told.guarded(), guarded);
    let made = told.made();
    assert_eq!(made.raw, Some(Bytes::from_mib(256)));
    let words = "layout btrfs-raid1: 2 × loop file, direct I/O, fully allocated";
    assert_eq!(made.device, words);
    let ahead = ("read-ahead in KiB".to_owned(), "64".to_owned());
    assert!(made.record.contains(&ahead), "{:?}", made.record);
    assert_eq!(told.printed(), ["64\n"]);
    let written = told.phase("write").device.expect("two disks").write_bytes;
    assert!(written >= Bytes::from_mib(8), "4 MiB on each of two disks are not {written}");
    let how = "unmounted and mounted again".to_owned();
    assert_eq!(told.phase("read").cache, Cache::Cold { how });
    Ok(())
}

pub(crate) fn a_block_device_is_trimmed_as_well() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let programs = StandIns::new().with("blkdiscard", "echo not supported; exit 1");
    let site = disk.site(DeviceKind::Block);
    let mut order = order(contender("ext2", &[]), site, &["null ops=10"]);
    order.job.tool_path = programs.tool_path();
    let told = execute(&order);
    told.expect_done();
    let mut guarded = Vec::new();
    for program in ["wipefs", "blkdiscard", "mke2fs"] {
        guarded.extend([format!("asked {program}"), format!("ran {program}")]);
    }
    assert_eq!(told.guarded(), guarded);
    assert_eq!(told.notes(), [format!("{} cannot be trimmed: not trimmed", disk.text())]);
    assert_eq!(told.made().device, "block device");
    Ok(())
}

pub(crate) fn a_disk_gets_the_scheduler_that_is_asked_for() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let offered = std::fs::read_to_string(disk.queue("scheduler")).unwrap();
    // Another one than it has, where the kernel has several.
    let others = ["mq-deadline", "kyber", "bfq"];
    let wanted = others.into_iter().find(|word| offered.split_whitespace().any(|it| it == *word));
    let wanted = wanted.unwrap_or("none");
    let site = disk.site(DeviceKind::LoopFile);
    let told = execute(&order(contender("ext2", &[("scheduler", wanted)]), site, &["null ops=10"]));
    told.expect_done();
    let expected = (format!("scheduler of {}", disk.text()), wanted.to_owned());
    assert!(told.made().record.contains(&expected), "{:?}", told.made().record);
    Ok(())
}
