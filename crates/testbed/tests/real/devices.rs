//! Testbed `device`, on loop devices.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{FallocateFlags, fallocate};
use skippable::{Ending, needs_loop_devices};
use testbed::{Stop, Testbed};
use units::Bytes;

use crate::scene::{LOG, Scene, done, names_in, refusal, run, spec};

pub(crate) fn all_trials_of_a_run_have_the_same_loop_file() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let testbed = scene.devices(&[], &[]);
    assert_eq!((testbed.name(), testbed.lab_id(), testbed.lanes(&[])), ("device", None, 1));
    let loops = scene.place("loops");
    let made = done(&testbed, &spec("first", "ext4", LOG));
    assert!(made.served_by.contains("ext4"), "{}", made.served_by);
    assert!(made.device.contains("loop file"), "{}", made.device);
    let first = names_in(&loops);
    let image = std::fs::File::options().write(true).open(loops.join(&first[0])).unwrap();
    // As a discard would, where nothing was written.
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&image, hole, 64 << 20, 1 << 20).unwrap();
    let allocated = || image.metadata().unwrap().blocks() * 512;
    assert!(allocated() < 256 << 20);
    done(&testbed, &spec("second", "ext2", LOG));
    assert!(allocated() >= 256 << 20, "the second finds the same file as the first");
    assert_eq!(names_in(&loops), first, "one file, made once");
    let facts = testbed.environment().0;
    assert_eq!(facts["target_path"], loops.display().to_string());
    let below = files::Mount::of(&loops).unwrap().filesystem;
    assert_eq!(facts["backing_filesystem"], below);
    drop(testbed);
    assert_eq!(names_in(&loops), [] as [String; 0], "and removed with the run");
    Ok(())
}

pub(crate) fn a_journal_of_its_own_has_a_second_loop_file() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let testbed = scene.devices(&[], &[]);
    let plain = spec("plain", "ext4", "null");
    let external = spec("external", "ext4:layout=single+journal=external", "null");
    let loops = scene.place("loops");
    let size = |name: &String| loops.join(name).metadata().unwrap().len();
    for (spec, count) in [(&plain, 1), (&external, 2)] {
        run(&testbed, spec, &Stop::new(), &mut |_| {}).unwrap();
        let sizes: Vec<u64> = names_in(&loops).iter().map(size).collect();
        assert_eq!(sizes, vec![256 << 20; count], "the journal needs no more than the data");
    }
    let made = done(&testbed, &external);
    let commands: Vec<&String> = made.record.iter().map(|(command, _)| command).collect();
    assert!(commands.iter().any(|command| command.contains("journal_dev")), "{commands:?}");
    Ok(())
}

/// Refused before a run is made of it; memory alone needs no such directory.
pub(crate) fn a_directory_for_loop_files_that_others_can_change_is_refused_first() -> Ending {
    use std::os::unix::fs::PermissionsExt;
    needs_loop_devices()?;
    let scene = Scene::new();
    let loops = scene.place("loops");
    std::fs::set_permissions(&loops, std::fs::Permissions::from_mode(0o777)).unwrap();
    let testbed = scene.devices(&[], &[]);
    let refused = testbed.admit(&[spec("memory", "tmpfs", LOG), spec("disk", "ext4", LOG)]);
    assert_eq!(refused.len(), 1);
    let (place, refusal) = &refused[0];
    assert!(*place == 1 && refusal.rule.contains("nobody else can write to"), "{refusal}");
    Ok(())
}

pub(crate) fn memory_needs_no_device() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let testbed = scene.devices(&[], &[]);
    let made = done(&testbed, &spec("memory", "tmpfs", LOG));
    assert!(made.served_by.contains("tmpfs"), "{}", made.served_by);
    assert_eq!(names_in(&scene.place("loops")), [] as [String; 0]);
    Ok(())
}

pub(crate) fn a_device_with_contents_is_destroyed_only_where_that_is_said() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let ledger = scene.ledger();
    let disk = ledger.make_loop_file(&scene.place("disk"), Bytes::from_mib(256)).unwrap();
    let node = disk.device();
    make_filesystem(&node);
    let before = digest(&node);
    let named = [node.clone()];
    let trial = spec("it", "ext4", LOG);

    let careful = scene.devices(&named, &[]);
    let refused = refusal(&careful, &trial);
    assert!(refused.contains("--destroy"), "{refused}");
    let events = run(&careful, &trial, &Stop::new(), &mut |_| {}).unwrap();
    assert!(format!("{events:?}").contains("--destroy"), "asked or not: {events:?}");
    assert_eq!(digest(&node), before, "not a byte has changed");
    drop(careful);

    let allowed = scene.devices(&named, &named);
    let made = done(&allowed, &trial);
    assert!(!made.device.contains("loop file"), "{}", made.device);
    assert_ne!(digest(&node), before);
    assert_eq!(allowed.environment().0["device_path"], node.display().to_string());
    // The second trial finds what the first one left, which is no reason to refuse it.
    done(&allowed, &spec("again", "ext2", LOG));
    let two = spec("two", "ext4:layout=single+journal=external", "null");
    let two = refusal(&allowed, &two);
    assert!(two.contains("takes 2 devices, but 1 are named"), "{two}");
    Ok(())
}

fn make_filesystem(node: &Path) {
    let made = Command::new("mkfs.ext4").arg("-q").arg(node).status();
    assert!(made.expect("e2fsprogs is installed").success());
}

pub(crate) fn digest(node: &Path) -> Vec<u8> {
    let sum = Command::new("sha256sum").arg(node).output().unwrap();
    assert!(sum.status.success());
    sum.stdout
}

pub(crate) fn what_cannot_run_on_a_device_says_why() -> Ending {
    needs_loop_devices()?;
    let scene = Scene::new();
    let testbed = scene.devices(&[], &[]);
    assert_eq!(refusal(&testbed, &spec("it", "ext4", "null")), "");
    let why =
        |filesystem: &str, workload: &str| refusal(&testbed, &spec("it", filesystem, workload));
    for (filesystem, workload, reason) in [
        ("ext4", "boot", "it runs in the lab only"),
        ("zfs", "null", "a pool outlives the process that made it"),
        ("ext4:layout=hw-raid5x4", "null", "does not configure RAID controllers"),
    ] {
        let refused = why(filesystem, workload);
        assert!(refused.contains(reason), "{filesystem}: {refused}");
    }
    let mut unknown = spec("it", "ext4", "null");
    unknown.contender.filesystem = "nosuch".to_owned();
    let refused = refusal(&testbed, &unknown);
    assert!(refused.contains("there is no such filesystem"), "{refused}");
    let mut small = spec("it", "btrfs", "null");
    small.size = Some(Bytes::from_mib(1));
    assert_ne!(refusal(&testbed, &small), "", "btrfs does not fit into 1 MiB");

    let scene = Scene::without_programs();
    let bare = scene.devices(&[], &[]);
    let missing = refusal(&bare, &spec("it", "ext4", "null"));
    assert!(missing.contains("is not installed") && missing.contains("e2fsprogs"), "{missing}");
    let made = names_in(&scene.place("loops"));
    assert_eq!(made, [] as [String; 0], "nothing was made to find that out");
    Ok(())
}
