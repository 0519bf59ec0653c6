//! The target's cache is emptied by unmounting, and what is read then comes from the device.

use skippable::{Ending, needs_loop_devices};
use trial::DeviceKind;
use units::Bytes;
use workload::Cache;

use crate::disks::Disk;
use crate::outer::{contender, execute, order};

pub(crate) fn a_cold_cache_is_read_from_the_device() -> Ending {
    needs_loop_devices()?;
    let disk = Disk::blank(64);
    let _held = disk.hold();
    let site = disk.site(DeviceKind::LoopFile);
    let told = execute(&order(contender("ext2", &[]), site, &["bigfile dd_size=0 size=1M"]));
    told.expect_done();
    let written = told.phase("write").device.expect("a disk").write_bytes;
    assert!(written >= Bytes::from_mib(1), "{written}");
    let read = told.phase("read");
    assert_eq!(read.cache, Cache::Cold { how: "unmounted and mounted again".to_owned() });
    let read = read.device.expect("a disk").read_bytes;
    assert!(read >= Bytes::from_mib(1), "{read}");
    assert!(!told.left_mounted());
    Ok(())
}
