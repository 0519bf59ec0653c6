//! Testbed `device` on loop files of its own, as root.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use skippable::{Ending, needs_loop_devices};

use crate::sandbox::{Ran, Sandbox, images};

const SMALL: &str = "--scale 0.002 --mail synthetic:count=50 --quiet";

/// A tool path in which each call of these programs is noted, a line each, before it is made;
/// and the file of the notes.
fn overheard(sandbox: &Sandbox, programs: &[&str]) -> (String, PathBuf) {
    const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
    let (tools, calls) = (sandbox.path("tools"), sandbox.path("calls"));
    std::fs::create_dir(&tools).unwrap();
    for program in programs {
        let script = format!(
            "#!/bin/sh\necho \"{program} $*\" >>'{}'\nPATH={SYSTEM} exec {program} \"$@\"\n",
            calls.display()
        );
        let path = tools.join(program);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    (format!("{}:{SYSTEM}", tools.display()), calls)
}

pub(crate) fn every_filesystem_is_made_worked_on_and_checked() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let (path, calls) = overheard(&sandbox, &["e2fsck", "xfs_repair", "btrfs"]);
    let words = format!(
        "run maildir-write maildir-read unpack --testbed device \
         --fs ext2,ext3,ext4,xfs,btrfs,tmpfs --repeats 1 --seed 5 --size 320M --verify --json - {SMALL}"
    );
    let ran = Ran::of(sandbox.command(&words).env("FSTRIAL_TOOL_PATH", path).output().unwrap())
        .ended_with(0);
    // A check for each trial, but for what is kept in memory alone.
    let calls = std::fs::read_to_string(calls).unwrap();
    for (check, trials) in [("e2fsck -fn", 3 * 3), ("xfs_repair -n", 3), ("btrfs check", 3)] {
        let count = calls.lines().filter(|call| call.starts_with(check)).count();
        assert_eq!(count, trials, "{check}:\n{calls}");
    }
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let trials = json["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 6 * 3);
    for trial in trials {
        let space = &trial["space"];
        let bytes = |what: &serde_json::Value| what.as_u64().unwrap_or_else(|| panic!("{trial}"));
        let taken = bytes(&space["used"]).checked_sub(bytes(&space["new"]));
        let files = bytes(&space["left"]["bytes"]);
        assert!(files > 0 && taken.is_some_and(|taken| taken > 0), "{space}");
    }
    let text = ran.stdout.as_str();
    assert!(text.contains("loop file, direct I/O, fully allocated"));
    assert!(text.contains("ext4.ko, feature set of ext2"));
    assert!(text.contains("unmounted and mounted again"), "read phases began cold");
    assert_eq!(images(&sandbox.path(".cache/fstrial/loop")), [] as [std::path::PathBuf; 0]);
    Ok(())
}

/// On loop devices of its own: made anew, its power lost, its superblock overwritten, repaired.
pub(crate) fn a_filesystem_is_looked_after_and_whole_at_the_end() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(
            "run upkeep:size=300M:full=0.1:changes=20:snapshots=2 --testbed device \
             --fs ext4,xfs,btrfs,tmpfs --repeats 1 --size 320M --verify --json - --quiet \
             --seed 7",
        )
        .ended_with(0);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for trial in json["trials"].as_array().unwrap() {
        let contender = trial["contender"].as_str().unwrap();
        assert_eq!(trial["outcome"]["outcome"], "done", "{trial}");
        let missing: Vec<_> = trial["phases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|phase| phase["status"] != "completed")
            .map(|phase| (phase["phase"].as_str().unwrap(), phase["reason"].as_str()))
            .collect();
        let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
        match contender {
            "ext4" => assert_eq!(names, ["reflink-copy", "snapshot", "snapshot-delete"]),
            "xfs" => assert_eq!(names, ["snapshot", "snapshot-delete"]),
            "btrfs" => assert!(names.is_empty() || names == ["mount-after-power-loss"]),
            _ => assert!(missing.len() == 12 && missing[0].1.unwrap().contains("memory")),
        }
    }
    assert_eq!(images(&sandbox.path(".cache/fstrial/loop")), [] as [PathBuf; 0]);
    Ok(())
}

/// While one has a filesystem mounted, another makes and mounts one with the same seed.
pub(crate) fn two_users_with_the_same_seed_are_not_in_each_others_way() -> Ending {
    needs_loop_devices()?;
    let words = "run --testbed device --fs xfs,btrfs --repeats 1 --seed 1 --size 320M --quiet";
    let (one, other) = (Sandbox::new(), Sandbox::new());
    let script = one.path("other-user");
    let text = format!(
        "#!/bin/sh\nHOME='{}' exec {} {words} null:ops=1000\n",
        other.directory.path().display(),
        env!("CARGO_BIN_EXE_fstrial")
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    one.run(&format!("{words} -- {}", script.display())).ended_with(0);
    let theirs = other.run("report --json -").ended_with(0);
    let json: serde_json::Value = serde_json::from_str(&theirs.stdout).unwrap();
    assert_eq!(json["trials"].as_array().unwrap().len(), 2, "of the newest of two runs");
    Ok(())
}

pub(crate) fn a_filesystem_that_is_too_small_fails_alone_with_its_reason() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    // xfs needs 300 MB; the others go on.
    let ran = sandbox
        .run("run null:ops=1000 --testbed device --fs ext4,xfs --repeats 1 --size 64M --quiet --full")
        .ended_with(1);
    assert!(ran.stdout.contains("300 MiB"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 of 2 trials done"), "{}", ran.stdout);
    Ok(())
}

pub(crate) fn a_full_filesystem_fails_the_phase_and_not_the_run() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run(
            // How much it appends in its time nobody knows beforehand.
            "run ffsb:weights=append=1:op_size=1M:block=64K:files=2:directories=1:min_size=4K:\
             max_size=4K:direct=off:threads=1:time=300s null:ops=1000 --testbed device \
             --fs ext4,tmpfs --repeats 1 --full --size 16M --quiet",
        )
        .ended_with(1);
    let unwrapped = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // What was written before the end of the room.
    assert!(unwrapped.contains("phase failed: write ffsb/"), "{unwrapped}");
    assert!(unwrapped.contains("2 of 4 trials done, 2 failed"), "{unwrapped}");
    Ok(())
}

/// A tool that claims success and does nothing: exit codes alone are not trusted.
pub(crate) fn an_mkfs_that_does_nothing_and_exits_0_is_found_out() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let tools = sandbox.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for program in ["blkid", "wipefs", "e2fsck", "dumpe2fs", "tune2fs"] {
        let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
            .map(|directory| std::path::Path::new(directory).join(program))
            .into_iter()
            .find(|path| path.exists())
            .unwrap();
        std::os::unix::fs::symlink(found, tools.join(program)).unwrap();
    }
    std::os::unix::fs::symlink("/bin/true", tools.join("mke2fs")).unwrap();
    let ran = Ran::of(
        sandbox
            .command("run null:ops=1000 --testbed device --fs ext4 --repeats 1 --size 64M --quiet")
            .env("FSTRIAL_TOOL_PATH", &tools)
            .output()
            .unwrap(),
    )
    .ended_with(1);
    assert!(ran.stderr.is_empty() || !ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(ran.stdout.contains("failed at mount"), "{}", ran.stdout);
    Ok(())
}

pub(crate) fn a_real_device_is_refused_when_it_carries_something_and_used_when_it_may_be_destroyed()
-> Ending {
    skippable::needs_loop_devices()?;
    skippable::own_mounts();
    let sandbox = Sandbox::new();
    let ledger = device::Ledger::open(&sandbox.path("ledger")).unwrap();
    let disk = ledger.make_loop_file(sandbox.directory.path(), units::Bytes::from_mib(64)).unwrap();
    let node = disk.device().display().to_string();
    let made = std::process::Command::new("mke2fs").args(["-q", "-F", &node]).status().unwrap();
    assert!(made.success());
    let before = std::fs::read(disk.path()).unwrap();
    let run = format!(
        "run null:ops=1000 --testbed device --device {node} --fs ext4,ext2 --repeats 2 --quiet"
    );
    let refused = sandbox.run(&run).ended_with(3);
    assert!(refused.stderr.contains("--destroy"), "{}", refused.stderr);
    assert!(std::fs::read(disk.path()).unwrap() == before, "a refused device was written");
    sandbox.run(&format!("{run} --destroy {node}")).ended_with(0);
    // Ours now; but a device in use is refused whatever is said.
    let place = sandbox.path("mnt");
    std::fs::create_dir(&place).unwrap();
    let mount = |words: &[&str]| std::process::Command::new(words[0]).args(&words[1..]).status();
    assert!(mount(&["mount", &node, &place.display().to_string()]).unwrap().success());
    let refused = sandbox.run(&format!("{run} --destroy {node}"));
    assert!(mount(&["umount", &place.display().to_string()]).unwrap().success());
    let refused = refused.ended_with(3);
    assert!(refused.stderr.contains("mounted"), "{}", refused.stderr);
    Ok(())
}

pub(crate) fn a_device_that_disappears_ends_its_trials_and_not_the_run() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let ledger = device::Ledger::open(&sandbox.path("ledger")).unwrap();
    let disk = ledger.make_loop_file(sandbox.directory.path(), units::Bytes::from_mib(64)).unwrap();
    let node = disk.device().display().to_string();
    // The first look at the made filesystem pulls the disk out from under it.
    let tools = sandbox.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for directory in ["/usr/sbin", "/sbin", "/usr/bin", "/bin"] {
        for program in ["blkid", "wipefs", "blkdiscard", "mke2fs", "e2fsck", "tune2fs"] {
            let original = std::path::Path::new(directory).join(program);
            if original.exists() && !tools.join(program).exists() {
                std::os::unix::fs::symlink(original, tools.join(program)).unwrap();
            }
        }
    }
    let image = disk.path().display();
    std::fs::write(tools.join("dumpe2fs"), format!("#!/bin/sh\n: > '{image}'\n")).unwrap();
    std::fs::set_permissions(tools.join("dumpe2fs"), Permissions::from_mode(0o755)).unwrap();
    let words = format!(
        "run unpack:mails=500 --testbed device --device {node} --fs ext4 --repeats 2 \
         --mail synthetic:count=50 --quiet"
    );
    let ran = Ran::of(sandbox.command(&words).env("FSTRIAL_TOOL_PATH", &tools).output().unwrap())
        .ended_with(1);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert!(ran.stdout.contains("0 of 2 trials done, 2 failed"), "{}", ran.stdout);
    Ok(())
}

/// Set for the trial that asks for it, on the disk below and on the mounted filesystem, and as
/// it was for the next one and afterwards.
pub(crate) fn scheduler_and_read_ahead_are_the_contenders_and_then_the_machines_again() -> Ending {
    needs_loop_devices()?;
    let sandbox = Sandbox::new();
    let ledger = device::Ledger::open(&sandbox.path("ledger")).unwrap();
    let size = units::Bytes::from_mib(320);
    let disk = ledger.make_loop_file(sandbox.directory.path(), size).unwrap();
    let node = disk.device();
    let queue =
        std::path::Path::new("/sys/class/block").join(node.file_name().unwrap()).join("queue");
    let settings = || {
        ["scheduler", "read_ahead_kb"]
            .map(|file| std::fs::read_to_string(queue.join(file)).unwrap().trim().to_owned())
    };
    let before = settings();
    let chosen = |text: &str| {
        let word = text.split_whitespace().find(|word| word.starts_with('['));
        word.map_or_else(|| text.to_owned(), |word| word.trim_matches(['[', ']']).to_owned())
    };
    let words = before[0].split_whitespace();
    let other = words.clone().find(|word| !word.starts_with('[')).unwrap_or("none");
    let ran = sandbox
        .run(&format!(
            "run null:ops=1000 --testbed device --device {} --repeats 1 --json - --quiet \
             --fs a=ext4:scheduler={other}:read_ahead=60K,b=btrfs:read_ahead=60K,c=xfs",
            node.display()
        ))
        .ended_with(0);
    assert_eq!(settings(), before);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = [
        ("a", other.to_owned(), "60".to_owned()),
        ("b", chosen(&before[0]), "60".to_owned()),
        ("c", chosen(&before[0]), before[1].clone()),
    ];
    for (name, scheduler, ahead) in expected {
        let trials = json["trials"].as_array().unwrap();
        let trial = trials.iter().find(|trial| trial["contender"] == name).unwrap();
        let record = trial["made"]["record"].as_array().unwrap();
        let said = |head: &str| {
            let entry = record.iter().find(|entry| entry[0].as_str().unwrap().starts_with(head));
            entry.unwrap_or_else(|| panic!("{record:?}"))[1].as_str().unwrap()
        };
        assert_eq!(said("scheduler of"), scheduler, "{name}");
        assert_eq!(said("read-ahead"), ahead, "{name}");
    }
    let known = ["none", "mq-deadline", "bfq", "kyber"];
    if let Some(unknown) = known.into_iter().find(|known| !before[0].contains(known)) {
        let refused = sandbox
            .run(&format!(
                "run null:ops=1000 --testbed device --fs ext4:scheduler={unknown} --repeats 1 --quiet"
            ))
            .ended_with(3);
        assert!(refused.stderr.contains("no such scheduler"), "{}", refused.stderr);
    }
    Ok(())
}
