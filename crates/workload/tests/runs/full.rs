//! A filesystem that fills up in the middle of a phase.

use serde_json::json;
use skippable::Ending;

use crate::tmpfs::{Said, needs_to_mount, run_on_tmpfs};

/// Runs a workload that must not end well on a tmpfs with these mount options; its events and its
/// error.
fn overfill(options: &str, workload: &str) -> (Vec<serde_json::Value>, String) {
    let Said { succeeded, events, error } = run_on_tmpfs(options, 0, workload);
    assert!(!succeeded, "it must not end well");
    (events, error)
}

/// Status and reason of each phase.
fn statuses(events: &[serde_json::Value]) -> Vec<(String, String, String)> {
    events
        .iter()
        .filter(|event| event["event"] == "finished")
        .map(|event| {
            let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
            let status = &event["status"];
            (text(&event["phase"]), text(&status["status"]), text(&status["reason"]))
        })
        .collect()
}

pub(crate) fn no_room_in_the_middle_of_io_fails_the_phase_with_its_reason() -> Ending {
    needs_to_mount()?;
    let (events, error) =
        overfill("size=3m", "maildir-write DIR mails=30 read_mails=5 maildirs=4 ops=100000");
    let phases = statuses(&events);
    assert_eq!(phases[0].1, "completed", "{phases:?}");
    let (phase, status, reason) = &phases[2];
    assert_eq!((phase.as_str(), status.as_str()), ("io", "failed"), "{phases:?}");
    assert!(reason.contains("maildirs/") && reason.contains("No space left on device"), "{reason}");
    assert_eq!(phases[3].1, "skipped");
    assert!(error.starts_with("phase io: write maildirs/"), "{error}");
    let io = events.iter().rfind(|event| event["phase"] == "io" && event["event"] == "finished");
    assert!(io.unwrap()["ops"].as_u64().unwrap() > 10, "what was done until then is kept");
    Ok(())
}

pub(crate) fn no_inodes_during_setup_skips_what_depends_on_it() -> Ending {
    needs_to_mount()?;
    let (events, error) =
        overfill("size=50m,nr_inodes=60", "maildir-write DIR mails=20 read_mails=5 maildirs=50");
    let phases = statuses(&events);
    let words: Vec<_> = phases.iter().map(|phase| phase.1.as_str()).collect();
    assert_eq!(words, ["completed", "failed", "skipped", "skipped"], "{phases:?}");
    assert!(error.contains("mkdir maildirs/") && error.contains("No space left"), "{error}");
    Ok(())
}

pub(crate) fn no_room_while_unpacking() -> Ending {
    needs_to_mount()?;
    let (events, error) = overfill("size=1m", "unpack DIR mails=1000");
    let words: Vec<_> = statuses(&events).into_iter().map(|phase| phase.1).collect();
    assert_eq!(words, ["failed", "skipped"]);
    assert!(error.contains("write write_src/"), "{error}");
    Ok(())
}

pub(crate) fn a_large_file_that_does_not_fit_fails_its_phase_and_the_next_ones_say_so() -> Ending {
    needs_to_mount()?;
    let (events, error) = overfill("size=4m", "bigfile DIR dd_size=8M size=1M");
    let words: Vec<_> = statuses(&events).into_iter().map(|phase| phase.1).collect();
    assert_eq!(words, ["failed", "completed", "completed", "completed", "completed"]);
    let read = events.iter().rfind(|e| e["phase"] == "read" && e["event"] == "finished").unwrap();
    assert_eq!(read["not_comparable"], json!({"code": "after_phase", "phase": "dd"}));
    assert!(error.starts_with("phase dd: write bigfile"), "{error}");
    Ok(())
}

pub(crate) fn bonnie_goes_on_with_its_files_when_the_large_one_does_not_fit() -> Ending {
    needs_to_mount()?;
    let (events, error) = overfill("size=2m", "bonnie DIR size=8M files=1 manner=1.03a");
    let words: Vec<_> = statuses(&events).into_iter().map(|phase| phase.1).collect();
    assert_eq!(words[..6], ["failed", "failed", "skipped", "skipped", "skipped", "skipped"]);
    assert_eq!(words[6..], ["completed"; 6]);
    assert!(error.starts_with("phase write-char: write Bonnie.1.000"), "{error}");
    Ok(())
}

pub(crate) fn mongo_without_inodes_for_its_copy_goes_on_with_the_first_trees() -> Ending {
    needs_to_mount()?;
    let settings = "mongo DIR files=100 median=100 repetitions=1";
    let (events, error) = overfill("size=50m,nr_inodes=150", settings);
    let words: Vec<_> = statuses(&events).into_iter().map(|phase| phase.1).collect();
    assert_eq!(words[..2], ["completed", "failed"], "{words:?}");
    assert_eq!(words[4], "completed", "what needs no inode goes on: {words:?}");
    assert!(error.contains("testdir2-1-1"), "{error}");
    let read = events.iter().rfind(|e| e["phase"] == "read" && e["event"] == "finished").unwrap();
    assert_eq!(read["not_comparable"], json!({"code": "after_phase", "phase": "copy"}));
    Ok(())
}

pub(crate) fn scale_goes_on_where_files_do_not_fit() -> Ending {
    needs_to_mount()?;
    let settings = "scale DIR threads=2 entries=40 bytes=64K";
    let (events, error) = overfill("size=1m", settings);
    let status = |name: &str| {
        let all = statuses(&events);
        all.into_iter().find(|phase| phase.0 == name).map(|phase| phase.1).unwrap()
    };
    for (phase, expected) in [
        ("rmdir-shared", "completed"),
        ("create-shared", "failed"),
        ("stat-shared", "skipped"),
        ("mkdir-own", "completed"),
        ("create-own", "failed"),
        ("unlink-own", "skipped"),
    ] {
        assert_eq!(status(phase), expected, "{phase}");
    }
    assert!(error.contains("write scale/shared/file.mdtest."), "{error}");
    Ok(())
}
