//! Testbed `dir`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use skippable::{Ending, needs_root};
use testbed::{Stop, Stopped, Testbed};
use trial::{Event, Outcome};
use units::{Bytes, Nanos};

use crate::scene::{LOG, Scene, done, names_in, refusal, run, spec};

const NO_ROOM: Bytes = Bytes(0);
/// A trial that ends only when something ends it.
const FOR_EVER: &str = "null:ops=1000000000000";

pub(crate) fn a_trial_leaves_nothing_in_its_directory() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    let here = scene.place("here");
    assert_eq!((testbed.name(), testbed.lab_id(), testbed.lanes(&[])), ("dir", None, 1));
    let facts = testbed.environment().0;
    assert_eq!(facts["target_path"], here.display().to_string());

    let mut during = Vec::new();
    let log = spec("here", "ext4", LOG);
    let watch = &mut |_: &Event| during.extend(names_in(&here));
    let events = run(&testbed, &log, &Stop::new(), watch).unwrap();
    assert_eq!(events.last(), Some(&Event::Ended(Outcome::Done)), "{events:?}");
    assert!(!during.is_empty(), "it worked elsewhere");
    assert_eq!(names_in(&here), [] as [String; 0]);
    assert!(scene.ledger().sweep().unwrap().cleaned.is_empty(), "nothing is left to clean up");
}

pub(crate) fn each_contender_has_its_own_directory() {
    let scene = Scene::new();
    let testbed = scene.directories(&["one", "other"], NO_ROOM);
    for (name, beside) in [("one", "other"), ("other", "one")] {
        let (mut here, mut there) = (0, 0);
        let watch = &mut |_: &Event| {
            here += names_in(&scene.place(name)).len();
            there += names_in(&scene.place(beside)).len();
        };
        run(&testbed, &spec(name, "ext4", LOG), &Stop::new(), watch).unwrap();
        assert!(here > 0 && there == 0, "{name}: {here}, {beside}: {there}");
    }
}

pub(crate) fn what_cannot_run_in_a_directory_says_why() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    assert_eq!(refusal(&testbed, &spec("here", "ext4", "null")), "");
    let why = |name: &str, workload: &str| refusal(&testbed, &spec(name, "ext4", workload));
    let gone = why("there", "null");
    assert!(gone.contains("no directory of this run lies on it any more"), "{gone}");
    let guest = why("here", "boot");
    assert!(guest.contains("it runs in the lab only"), "{guest}");
    let own = why("here", "upkeep");
    assert!(own.contains("it runs in no directory"), "{own}");
    let bare = Scene::without_programs();
    let bare = bare.directories(&["here"], NO_ROOM);
    let missing = refusal(&bare, &spec("here", "ext4", "sqlite"));
    assert!(missing.contains("which is not installed"), "{missing}");
    let full = scene.directories(&["here"], Bytes(u64::MAX));
    let full = refusal(&full, &spec("here", "ext4", "null"));
    assert!(full.contains("are needed") && full.contains("--scale"), "{full}");
}

pub(crate) fn a_trial_ends_when_its_time_is_up() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    let mut long = spec("here", "ext4", FOR_EVER);
    long.timeout = Nanos::from_millis(300);
    let stop = Stop::new();
    let at_last = stop.clone();
    std::thread::spawn(move || {
        waiting::pause(std::time::Duration::from_secs(30), "it ends by itself");
        at_last.ask();
    });
    let events = run(&testbed, &long, &stop, &mut |_| {}).expect("it ends by itself");
    let Some(Event::Ended(Outcome::TimedOut { after, .. })) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(*after, long.timeout);
    assert_eq!(names_in(&scene.place("here")), [] as [String; 0]);
}

pub(crate) fn a_trial_that_is_stopped_has_no_end() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    let stop = Stop::new();
    assert!(stop.may_begin());
    let watch = &mut |event: &Event| {
        if matches!(event, Event::Phase(_)) {
            stop.ask();
        }
    };
    assert_eq!(run(&testbed, &spec("here", "ext4", FOR_EVER), &stop, watch), Err(Stopped));
    assert!(!stop.may_begin());
    assert_eq!(names_in(&scene.place("here")), [] as [String; 0]);
    let past = Stop::new().beginning_until(Some(std::time::Instant::now()));
    assert!(!past.may_begin() && !past.asked(), "only no other trial begins");
}

pub(crate) fn a_trial_that_is_killed_is_lost() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    let watch = &mut |event: &Event| {
        if matches!(event, Event::Phase(_)) {
            for child in children() {
                let child = rustix::process::Pid::from_raw(child).unwrap();
                rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
            }
        }
    };
    let events = run(&testbed, &spec("here", "ext4", FOR_EVER), &Stop::new(), watch).unwrap();
    let Some(Event::Ended(Outcome::Lost { reason })) = events.last() else { panic!("{events:?}") };
    assert!(reason.contains("killed by signal 9"), "{reason}");
}

/// The directory is the one that had the name when the run began, whatever has it now.
pub(crate) fn a_directory_is_held_for_the_whole_run() {
    let scene = Scene::new();
    let testbed = scene.directories(&["here"], NO_ROOM);
    let (here, moved) = (scene.place("here"), scene.place("elsewhere").join("moved"));
    std::fs::rename(&here, &moved).unwrap();
    std::os::unix::fs::symlink(scene.place("other"), &here).unwrap();
    let (mut there, mut other) = (0, 0);
    let watch = &mut |_: &Event| {
        there += names_in(&moved).len();
        other += names_in(&scene.place("other")).len();
    };
    run(&testbed, &spec("here", "ext4", LOG), &Stop::new(), watch).unwrap();
    assert!(there > 0 && other == 0, "{there}, {other}");
    assert_eq!(names_in(&moved), [] as [String; 0]);
}

pub(crate) fn what_is_no_directory_is_refused() {
    let scene = Scene::new();
    std::fs::write(scene.place("in").join("file"), "").unwrap();
    let testbed = scene.testbed_in(&[scene.place("in").join("file")], &["here"], NO_ROOM);
    let why = refusal(&testbed, &spec("here", "ext4", "null"));
    assert!(why.contains("it is not a directory") && why.contains("make it first"), "{why}");
}

/// The processes that this thread has started.
fn children() -> Vec<i32> {
    let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    children.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

pub(crate) fn root_works_through_a_mount() -> Ending {
    needs_root()?;
    let scene = Scene::new();
    let testbed = scene.directories(&["theirs", "ours"], NO_ROOM);
    let open_to_all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(scene.place("theirs"), open_to_all).unwrap();
    let mount_point = scene.ledger().mount_point().unwrap();
    for name in ["theirs", "ours"] {
        // A trial without an end, so that its process is still there when it is looked at.
        let (stop, mut seen) = (Stop::new(), None);
        let watch = &mut |event: &Event| {
            if matches!(event, Event::Made(_)) {
                let mut mounts = children().into_iter().flat_map(mounts_of);
                seen = Some(mounts.any(|point| point == mount_point));
                stop.ask();
            }
        };
        assert_eq!(run(&testbed, &spec(name, "ext4", FOR_EVER), &stop, watch), Err(Stopped));
        assert_eq!(seen, Some(true), "{name}");
        assert_eq!(names_in(&scene.place(name)), [] as [String; 0]);
    }
    let on_it = mounts_of(std::process::id() as i32).into_iter().any(|point| point == mount_point);
    assert!(!on_it, "the mount is the trial's alone");
    done(&testbed, &spec("theirs", "ext4", LOG));
    Ok(())
}

/// The mount points that a process sees; none if it has ended.
fn mounts_of(process: i32) -> Vec<std::path::PathBuf> {
    let table = std::fs::read(Path::new("/proc").join(process.to_string()).join("mountinfo"));
    let mounts = files::parse_mountinfo(&table.unwrap_or_default());
    mounts.into_iter().map(|mount| mount.point).collect()
}
