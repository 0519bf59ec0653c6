//! A pool that a program in user space serves: zfs-fuse, with stand-ins that watch its commands.

use skippable::{Ending, needs_loop_devices, needs_program};
use trial::{DeviceKind, Step};
use units::Nanos;
use workload::Cache;

use crate::disks::{Disk, StandIns};
use crate::inner::{Deed, Order};
use crate::outer::{Told, contender, execute, order};

/// In the trial's own view of the machine one of the service's directories is there, and another
/// one is not.
const BEFORE: &str = "mount -t tmpfs none /run; mkdir -p /run/zfs /run/lock";
const AFTER: &str = "ls -d /run/zfs /run/lock/zfs 2>/dev/null || true";

fn on_pool(disk: &Disk, programs: &StandIns, workloads: &[&str]) -> Order {
    let site = disk.site(DeviceKind::LoopFile);
    let mut order = order(contender("zfs-fuse", &[]), site, workloads);
    order.job.tool_path = programs.tool_path();
    order.before = BEFORE.to_owned();
    order.after = AFTER.to_owned();
    order
}

fn needs_zfs_fuse() -> Ending {
    needs_loop_devices()?;
    skippable::needs_driver("fuse", "/dev/fuse")?;
    needs_program("zfs-fuse", "zfs-fuse")
}

/// A `zpool` whose first destruction finds the pool busy; that says once, after each scrub, that it goes on; that notes how long an export
/// takes; and that takes the number which an unmounted filesystem had, so that it gets another. It
/// keeps a list of what it was called for.
fn watched(directory: &std::path::Path) -> String {
    let at = directory.display();
    format!(
        "echo \"$1\" >> {at}/calls\n\
         case \"$1\" in\n\
         scrub) : > {at}/scrubbing ;;\n\
         status) if rm {at}/scrubbing 2>/dev/null; then echo scrub in progress; exit 0; fi ;;\n\
         destroy) if mkdir {at}/busy 2>/dev/null; then echo pool is busy >&2; exit 1; fi ;;\n\
         import) mkdir -p {at}/other; mount -t tmpfs none {at}/other ;;\n\
         export)\n\
         date +%s%N >> {at}/export\n\
         /usr/sbin/zpool \"$@\"\n\
         ended=$?\n\
         date +%s%N >> {at}/export\n\
         exit $ended ;;\n\
         esac\n\
         exec /usr/sbin/zpool \"$@\""
    )
}

/// How long the export that `unmount` includes took at least.
fn export_took(text: &str) -> Nanos {
    let times: Vec<u64> = text.lines().take(2).map(|line| line.parse().unwrap()).collect();
    Nanos(times[1] - times[0])
}

fn expect_private_directories(told: &Told) {
    // Before the trial, at `write`, at `unmount`, after it.
    let [_, mount, _, after] = told.printed()[..] else { panic!("{told:#?}") };
    assert!(mount.contains(" /run/zfs rw,nosuid,nodev"), "{mount}");
    assert!(mount.ends_with("700\n"), "{mount}");
    // The directory that was there is there, and the other one is not.
    assert_eq!(after, "/run/zfs\n");
}

pub(crate) fn a_pool_is_served_detached_and_removed() -> Ending {
    needs_zfs_fuse()?;
    let disk = Disk::blank(96);
    let programs = StandIns::new();
    let script = watched(programs.directory());
    let programs = programs.with("zpool", &script);
    let work = [
        "bigfile dd_size=0 size=64K block=64K fsync=off",
        "upkeep size=64M full=0 changes=1 snapshots=0",
    ];
    let mut order = on_pool(&disk, &programs, &work);
    let exports = programs.directory().join("export");
    let calls = programs.directory().join("calls");
    let look = "grep ' /run/zfs ' /proc/self/mountinfo; stat --format %a /run/zfs";
    // Only the exports from here on are looked at.
    let forget = format!("rm {}", exports.display());
    order.at = vec![
        ("write".to_owned(), Deed::Script(look.to_owned())),
        ("unmount".to_owned(), Deed::Script(forget)),
    ];
    let told = execute(&order);
    told.expect_done();
    let last = [Step::Settle, Step::Work, Step::Unmount, Step::Check];
    assert!(told.steps().ends_with(&last), "{:?}", told.steps());
    let how = "exported and imported again".to_owned();
    assert_eq!(told.phase("read").cache, Cache::Cold { how });
    for phase in ["mkfs", "first-mount", "unmount", "mount", "check"] {
        told.timed(phase);
    }
    let export = export_took(&std::fs::read_to_string(exports).unwrap());
    let unmount = told.phase("unmount").wall;
    assert!(unmount >= export, "{unmount}, of which an export took {export}");
    let why = told.skipped("mount-after-power-loss");
    assert!(why.contains("only a filesystem that can shut itself down"), "{why}");
    let why = told.skipped("repair");
    assert!(why.contains("has no program that brings back a lost superblock"), "{why}");
    expect_private_directories(&told);
    let calls = std::fs::read_to_string(calls).unwrap();
    assert_eq!(calls.lines().last(), Some("destroy"), "it would outlive the trial: {calls}");
    Ok(())
}

pub(crate) fn a_service_that_ends_at_once_is_a_failure() -> Ending {
    needs_zfs_fuse()?;
    let disk = Disk::blank(96);
    let programs = StandIns::new().with("zfs-fuse", "echo no room; exit 3");
    let told = execute(&on_pool(&disk, &programs, &["null ops=10"]));
    let (step, reason) = told.failure();
    assert_eq!(step, Step::Mkfs);
    assert!(reason.starts_with("zfs-fuse "), "{reason}");
    assert!(reason.ends_with(" ended: exit status: 3: no room"), "{reason}");
    assert_eq!(told.guarded(), ["asked wipefs", "ran wipefs"]);
    Ok(())
}
