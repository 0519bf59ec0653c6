//! What a trial goes through on each kind of place, and what it reports of that place.

use skippable::{Ending, needs_loop_devices};
use trial::{DeviceKind, Left, Site, SpaceUse, Step};
use units::Bytes;
use workload::Cache;

use crate::disks::{Disk, run};
use crate::inner::Deed;
use crate::outer::{contender, execute, order};

pub(crate) fn a_trial_on_a_loop_file_takes_every_step() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let site = disk.site(DeviceKind::LoopFile);
    let told = execute(&order(contender("ext2", &[]), site, &["null ops=10", "null ops=20"]));
    told.expect_done();
    let steps = [
        Step::Prepare,
        Step::Layout,
        Step::Mkfs,
        Step::Mount,
        Step::Settle,
        Step::Work,
        Step::Unmount,
        Step::Check,
    ];
    assert_eq!(told.steps(), steps);
    // A loop file is wiped and not trimmed.
    assert_eq!(told.guarded(), ["asked wipefs", "ran wipefs", "asked mke2fs", "ran mke2fs"]);
    assert_eq!(told.begun(), ["spin", "spin"]);
    assert_eq!(told.phase("spin").ops, 10);
    assert!(told.notes().is_empty(), "{:?}", told.notes());
    assert!(!told.left_mounted());
    Ok(())
}

pub(crate) fn what_was_made_is_reported_as_it_is() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let node = disk.text();
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("ext2", &[]), site, &["null ops=10"]);
    let point = disk.mount_point();
    let look = format!("stat --file-system --format '%b %f %a %s' {}", point.display());
    order.at = vec![("spin".to_owned(), Deed::Script(look))];
    let told = execute(&order);
    told.expect_done();
    let room: Vec<u64> =
        told.printed()[0].split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [blocks, free, available, block] = room[..] else { panic!("{room:?}") };

    let made = told.made();
    assert_eq!(made.kernel, run("uname", &["-r"]));
    assert_eq!(made.served_by, "ext4.ko, feature set of ext2");
    assert_eq!(made.device, "loop file, direct I/O, fully allocated");
    assert_eq!(made.size, Some(Bytes(blocks * block)));
    assert_eq!(made.free, Some(Bytes(available * block)));
    assert_eq!(made.raw, Some(Bytes::from_mib(64)));
    assert!(made.features.iter().any(|feature| feature == "dir_index"), "{:?}", made.features);
    for option in ["noatime", "nosuid", "nodev"] {
        assert!(made.mount_options.split(',').any(|word| word == option), "{option}: {made:?}");
    }
    assert_eq!(made.record[0].0, format!("wipefs --all --quiet {node}"));
    assert!(made.record[1].0.contains(" mke2fs -q -F -t ext2 "), "{:?}", made.record[1]);
    let dump = format!("dumpe2fs -h {node}");
    let dump = made.record.iter().find(|(command, _)| *command == dump).expect("a dump");
    assert!(dump.1.contains("Filesystem UUID:"), "{dump:?}");
    let ahead = std::fs::read_to_string(disk.queue("read_ahead_kb")).unwrap();
    let expected = ("read-ahead in KiB".to_owned(), ahead.trim().to_owned());
    assert_eq!(made.record.last(), Some(&expected));
    assert_eq!(made.tools.len(), 1);
    assert_eq!(made.tools[0].0, "mke2fs");
    assert!(made.tools[0].1.starts_with("mke2fs "), "{:?}", made.tools);

    let used = Bytes((blocks - free) * block);
    // All that there is is `lost+found`.
    let left = Some(Left { bytes: Bytes::ZERO, files: 0, directories: 1 });
    assert_eq!(*told.space(), SpaceUse::Known { new: used, used, left });
    Ok(())
}

pub(crate) fn memory_has_no_disks_no_check_and_no_cold_cache() -> Ending {
    needs_loop_devices()?;
    let place = tempfile::tempdir().unwrap();
    let mount_point = place.path().to_owned();
    let site = Site::Devices { devices: Vec::new(), kind: DeviceKind::LoopFile, mount_point };
    let work = ["bigfile dd_size=0 size=1M", "upkeep size=64M"];
    let mut order = order(contender("tmpfs", &[]), site, &work);
    order.job.spec.size = Some(Bytes::from_mib(16));
    let told = execute(&order);
    told.expect_done();
    let steps = [
        Step::Prepare,
        Step::Layout,
        Step::Mkfs,
        Step::Mount,
        Step::Settle,
        Step::Work,
        Step::Unmount,
    ];
    assert_eq!(told.steps(), steps);
    assert!(told.guarded().is_empty(), "{:?}", told.guarded());
    let made = told.made();
    assert_eq!(made.device, "memory");
    assert_eq!(made.size, Some(Bytes::from_mib(16)));
    assert_eq!((made.raw, made.record.len()), (None, 0));
    let in_memory = "the filesystem lives in memory";
    assert_eq!(told.phase("read").cache, Cache::Warm { why: in_memory.to_owned() });
    assert_eq!(told.skipped("mkfs"), in_memory);
    assert_eq!(told.phase("write").device, None);
    Ok(())
}

pub(crate) fn a_directory_is_used_as_it_is() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let path = disk.mount_point();
    let (node, point) = (disk.text(), path.display());
    let before = format!("mke2fs -q -F -t ext2 {node}; mount -t ext2 {node} {point}");
    let site = Site::Directory { path: path.clone(), drop_machine_caches: false };
    let work = ["bigfile dd_size=0 size=1M", "upkeep size=64M"];
    let mut order = order(contender("ext2", &[]), site, &work);
    order.before = before;
    let told = execute(&order);
    told.expect_done();
    assert_eq!(told.steps(), [Step::Prepare, Step::Work]);
    assert!(told.guarded().is_empty(), "{:?}", told.guarded());
    assert_eq!(told.made().served_by, "ext2");
    assert_eq!(told.made().device, "a directory of an existing ext2");
    // Its counters are those of the device below it.
    let written = told.phase("write").device.expect("a device").write_bytes;
    assert!(written >= Bytes::from_mib(1), "{written}");
    let Cache::Warm { why } = &told.phase("read").cache else { panic!("{told:#?}") };
    assert!(why.contains("--drop-caches"), "{why}");
    assert_eq!(told.skipped("mkfs"), "the filesystem is not the trial's own");
    let why = "others write to the same filesystem".to_owned();
    assert_eq!(*told.space(), SpaceUse::Missing { why });
    Ok(())
}
