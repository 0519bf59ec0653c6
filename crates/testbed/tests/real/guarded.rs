//! What others do to a device, a directory or the machine's mounts around a trial.

use std::path::Path;

use device::Ledger;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use skippable::{Ending, needs_loop_devices, needs_root};
use testbed::{Stop, Testbed};
use trial::{Event, Outcome, Step};
use units::Bytes;
use workload::Space;

use crate::devices::digest;
use crate::scene::{LOG, Scene, done, refusal, run, spec};

/// A blank disk of another ledger, with this many MiB.
fn disk(scene: &Scene, name: &str, mib: u64) -> (Ledger, device::OwnedLoopFile) {
    let ledger = scene.ledger();
    let disk = ledger.make_loop_file(&scene.place(name), Bytes::from_mib(mib)).unwrap();
    (ledger, disk)
}

fn reason(events: &[Event]) -> (Step, &str) {
    match events.last() {
        Some(Event::Ended(Outcome::Failed { step, reason })) => (*step, reason),
        _ => panic!("{events:?}"),
    }
}

/// It is looked at again before the first command that overwrites it.
pub(crate) fn a_device_that_changed_since_it_was_claimed_is_left() -> Ending {
    use std::os::unix::fs::FileExt;
    needs_loop_devices()?;
    let scene = Scene::new();
    let (_ledger, disk) = disk(&scene, "disk", 256);
    let named = [disk.device()];
    let testbed = scene.devices(&named, &named);
    let trial = spec("it", "ext4", LOG);
    assert_eq!(testbed.admit(std::slice::from_ref(&trial)), []);
    let other = std::fs::File::options().write(true).open(disk.device()).unwrap();
    other.write_all_at(b"somebody's", 0).unwrap();
    other.sync_all().unwrap();
    drop(other);
    let before = digest(&disk.device());
    let events = run(&testbed, &trial, &Stop::new(), &mut |_| {}).unwrap();
    let (_, why) = reason(&events);
    assert!(why.contains("its contents changed, and not by us"), "{why}");
    assert_eq!(digest(&disk.device()), before, "not a byte has changed");
    Ok(())
}

/// What the trial ended with on another device than it began with is no figure.
pub(crate) fn a_device_that_became_another_during_a_trial_is_told() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let (_ledger, disk) = disk(&scene, "disk", 256);
    let node = disk.device();
    let named = [node.clone()];
    let testbed = scene.devices(&named, &named);
    let watch = &mut |event: &Event| {
        if matches!(event, Event::Made(_)) {
            let image = std::fs::File::options().write(true).open(disk.path()).unwrap();
            image.set_len(257 << 20).unwrap();
            let node = node.to_str().unwrap();
            let grown =
                std::process::Command::new("losetup").args(["--set-capacity", node]).status();
            assert!(grown.unwrap().success());
        }
    };
    let events = run(&testbed, &spec("it", "ext4", LOG), &Stop::new(), watch).unwrap();
    let (step, why) = reason(&events);
    assert_eq!(step, Step::Dismantle);
    assert!(why.contains("it is no longer the device that was claimed"), "{why}");
    Ok(())
}

pub(crate) fn a_disks_queue_is_as_before() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let (_ledger, disk) = disk(&scene, "disk", 256);
    let node = disk.device();
    let queue = Path::new("/sys/class/block").join(node.file_name().unwrap()).join("queue");
    let ahead = || std::fs::read_to_string(queue.join("read_ahead_kb")).unwrap();
    let before = ahead();
    assert_ne!(before, "68\n");
    let testbed = scene.devices(std::slice::from_ref(&node), &[]);
    let made = done(&testbed, &spec("it", "ext4:read_ahead=68K", LOG));
    let expected = ("read-ahead in KiB".to_owned(), "68".to_owned());
    assert!(made.record.contains(&expected), "{:?}", made.record);
    assert_eq!(ahead(), before);
    Ok(())
}

pub(crate) fn devices_too_many_and_too_small_are_refused() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let (_ledger, one) = disk(&scene, "one", 32);
    let (_other, two) = disk(&scene, "two", 32);
    let why = |devices: &[&device::OwnedLoopFile], bytes| {
        let devices: Vec<_> = devices.iter().map(|disk| disk.device()).collect();
        let testbed = scene.devices_for(&devices, &[], Space { bytes, inodes: 0 });
        refusal(&testbed, &spec("it", "ext2", "null"))
    };
    assert_eq!(why(&[&one], Bytes::from_mib(32)), "");
    let small = why(&[&one], Bytes::from_mib(33));
    assert!(small.contains("are needed") && small.contains("--scale"), "{small}");
    let many = why(&[&one, &two], Bytes::ZERO);
    assert!(many.contains("takes 1 devices, but 2 are named"), "{many}");
    Ok(())
}

/// Where mounts are shared, as on most machines, a trial's are seen by nobody else.
pub(crate) fn a_trials_mounts_are_its_own() -> Ending {
    needs_loop_devices()?;
    let looked = || {
        skippable::own_mounts();
        mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).unwrap();
        let scene = Scene::new();
        let testbed = scene.devices(&[], &[]);
        let point = scene.ledger().mount_point().unwrap();
        let mut seen = Vec::new();
        let watch = &mut |event: &Event| {
            if matches!(event, Event::Made(_)) {
                let here = files::Mount::all().unwrap();
                seen.push(here.iter().any(|mount| mount.point == point));
            }
        };
        run(&testbed, &spec("memory", "tmpfs", LOG), &Stop::new(), watch).unwrap();
        assert_eq!(seen, [false]);
    };
    std::thread::spawn(looked).join().unwrap();
    Ok(())
}

/// ramfs, as btrfs, makes inodes as they are needed.
pub(crate) fn a_filesystem_that_counts_no_inodes_has_enough() -> Ending {
    needs_root()?;
    let looked = || {
        skippable::own_mounts();
        let scene = Scene::new();
        let (here, counting) = (scene.place("here"), scene.place("counting"));
        mount("none", &here, "ramfs", MountFlags::empty(), None).unwrap();
        mount("none", &counting, "tmpfs", MountFlags::empty(), Some(c"nr_inodes=100")).unwrap();
        let why = |place: &Path| {
            let room = Space { bytes: Bytes::ZERO, inodes: 1000 };
            let testbed = scene.testbed_with(&[place.to_owned()], &["it"], room);
            refusal(&testbed, &spec("it", "ext4", "null"))
        };
        let found = (why(&here), why(&counting));
        unmount(&here, UnmountFlags::DETACH).unwrap();
        unmount(&counting, UnmountFlags::DETACH).unwrap();
        assert_eq!(found.0, "");
        assert!(found.1.contains("1000 inodes are needed"), "{}", found.1);
    };
    std::thread::spawn(looked).join().unwrap();
    Ok(())
}

/// In a container root may not be able to mount: then only a directory of root's will do.
pub(crate) fn without_a_mount_root_works_only_where_nobody_else_can_change_names() -> Ending {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    use std::os::unix::fs::PermissionsExt;
    needs_root()?;
    let looked = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::SYS_ADMIN);
        set_capabilities(None, sets).unwrap();
        let scene = Scene::new();
        let testbed = scene.directories(&["theirs", "ours"], Bytes::ZERO);
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(scene.place("theirs"), open_to_all).unwrap();
        let theirs =
            run(&testbed, &spec("theirs", "ext4", LOG), &Stop::new(), &mut |_| {}).unwrap();
        let (_, why) = reason(&theirs);
        assert!(why.contains("lacks CAP_SYS_ADMIN"), "{why}");
        done(&testbed, &spec("ours", "ext4", LOG));
    };
    std::thread::spawn(looked).join().unwrap();
    Ok(())
}
