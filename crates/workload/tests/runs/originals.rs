//! The installed originals, run for real, and their known ways to fail, replayed from what
//! they printed when they did.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use skippable::{Ending, needs_root};
use workload::{Failure, Inputs, PhaseStatus};

use crate::support::{Ran, run, scratch};

fn installed() -> Inputs {
    let programs = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    Inputs { programs, ..Inputs::default() }
}

/// Runs an original with a program of its name that is a shell script.
fn with_script(name: &str, program: &str, script: &str, settings: &str) -> Ran {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(program);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let inputs = Inputs { programs: vec![home.path().to_owned()], ..Inputs::default() };
    let target = scratch();
    run(name, target.path(), &inputs, 1, settings)
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/originals").join(name);
    assert!(path.is_file(), "{}", path.display());
    path.display().to_string()
}

fn message(ran: &Ran) -> String {
    ran.ended.as_ref().unwrap_err().to_string()
}

pub(crate) fn every_original_runs_and_leaves_nothing() {
    for (name, settings) in [
        ("original-postmark", "number=200 transactions=500 subdirectories=3"),
        ("original-bonnie", "size=2M fast=on files=1 max_size=2000 min_size=1000 directories=2"),
        ("original-fs-mark", "files=100 loops=2 sync=file directories=2"),
        ("original-dbench", "clients=2 duration=2s"),
        ("original-fio", "size=2M rw=randrw"),
    ] {
        let target = scratch();
        let ran = run(name, target.path(), &installed(), 1, settings);
        assert!(ran.ended.is_ok(), "{name}: {:?}", ran.ended);
        for phase in &ran.phases {
            assert_eq!(phase.status, PhaseStatus::Completed, "{name} {}", phase.phase);
            // What is over before its first word was read is not timed, and says so.
            assert_eq!(phase.wall.0 == 0, phase.not_comparable.is_some(), "{name} {phase:?}");
            assert!(phase.ops > 0, "{name} {}", phase.phase);
        }
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "{name}");
    }
}

/// dbench takes the number of a machine's first set of semaphores, 0, for a failure.
pub(crate) fn dbench_starts_where_no_semaphore_was_ever_made() -> Ending {
    needs_root()?;
    // Of its own, since what it leaves would hold for whatever test the thread runs next.
    let alone = std::thread::spawn(|| {
        // SAFETY: of this thread only the namespace of its semaphores changes.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWIPC) }, 0);
        let target = scratch();
        run("original-dbench", target.path(), &installed(), 1, "clients=2 duration=1s")
    });
    let ran = alone.join().unwrap();
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert!(ran.completed("run"));
    Ok(())
}

pub(crate) fn postmark_and_ours_count_the_same() {
    let settings = "number=300 transactions=900 subdirectories=4 bias_read=3 pm_seed=9";
    let counts = |name: &str| {
        let target = scratch();
        let ran = run(name, target.path(), &installed(), 1, settings);
        let ops: Vec<u64> = ran.phases.iter().map(|phase| phase.ops).collect();
        let mut figures = ran.phase("delete").figures.clone();
        figures.retain(|name, _| !name.ends_with("_s"));
        assert_eq!(figures.len(), 6, "{figures:?}");
        (ops, figures)
    };
    assert_eq!(counts("original-postmark"), counts("postmark"));
}

pub(crate) fn postmark_that_goes_on_after_errors_has_failed() {
    let script = format!("cat {}; exit 0", fixture("postmark_ENOSPC_head.txt"));
    let ran = with_script("original-postmark", "postmark", &script, "");
    assert!(message(&ran).contains("cannot open"), "{}", message(&ran));
    assert!(matches!(ran.phase("create").status, PhaseStatus::Failed { .. }));
    assert!(matches!(ran.phase("delete").status, PhaseStatus::Skipped { .. }));
    assert!(ran.phase("create").figures.is_empty());
}

pub(crate) fn postmark_that_dies_of_an_empty_pool_says_why() {
    let division = with_script("original-postmark", "postmark", "kill -FPE $$", "");
    assert!(message(&division).contains("no file is left"), "{}", message(&division));
    // A complaint that is read together with the sign of its phase is not the phase before it's.
    let at_once = "printf 'Creating files...Done\\nPerforming transactions\\nout of files!\\n'";
    let ran = with_script("original-postmark", "postmark", at_once, "");
    assert!(message(&ran).contains("no file is left"), "{}", message(&ran));
    assert!(ran.completed("create"));
    assert!(matches!(ran.phase("transactions").status, PhaseStatus::Failed { .. }));
    let settings = "number=10 transactions=100 bias_create=0";
    let target = scratch();
    let ran = run("original-postmark", target.path(), &installed(), 1, settings);
    assert!(message(&ran).contains("no file is left"), "{}", message(&ran));
    assert!(ran.completed("create"));
    assert!(matches!(ran.phase("transactions").status, PhaseStatus::Failed { .. }));
}

pub(crate) fn what_the_others_say_when_the_filesystem_is_full() {
    let bonnie = format!("cat {} >&2; exit 1", fixture("bonnie_ENOSPC.txt"));
    let fs_mark = format!("cat {}; exit 1", fixture("fs_mark_ENOSPC.txt"));
    let fio = format!(
        "cat {}; cat {} >&2; exit 1",
        fixture("fio_ENOSPC.json"),
        fixture("fio_ENOSPC.err")
    );
    let dbench = "echo '[79] write failed on handle 10012 (No space left on device)'; exit 0";
    for (name, program, script, words) in [
        ("original-bonnie", "bonnie++", bonnie.as_str(), "No space left on device"),
        ("original-fs-mark", "fs_mark", fs_mark.as_str(), "Insufficient free space"),
        ("original-fio", "fio", fio.as_str(), "No space left on device"),
        ("original-dbench", "dbench", dbench, "No space left on device"),
    ] {
        let ran = with_script(name, program, script, "");
        assert!(matches!(ran.ended, Err(Failure::Program { .. })), "{name}: {:?}", ran.ended);
        assert!(message(&ran).contains(words), "{name}: {}", message(&ran));
        assert!(ran.phases.iter().all(|phase| phase.status != PhaseStatus::Completed), "{name}");
        assert!(!ran.phases.is_empty(), "{name}");
    }
}

pub(crate) fn another_version_or_none_is_named() {
    let ran = with_script("original-postmark", "postmark", "echo PostMark v9", "");
    assert!(message(&ran).contains("without printing `Creating files`"), "{}", message(&ran));
    let target = scratch();
    let ran = run("original-fio", target.path(), &Inputs::default(), 1, "");
    assert!(message(&ran).contains("its Debian package is fio"), "{}", message(&ran));
}

pub(crate) fn what_bonnie_shows_as_pluses_is_missing_with_a_note() {
    let target = scratch();
    let ran = run("original-bonnie", target.path(), &installed(), 1, "size=0 files=1");
    let create = ran.phase("create-sequential");
    // A thousand empty files in memory take less than half a second, or it says how many.
    match create.figures.get("own_files_per_sec") {
        Some(own) => assert!(*own > 0.0),
        None => assert!(create.notes.iter().any(|note| note.contains("half a second"))),
    }
    assert!(create.figures["files_per_sec"] > 0.0, "our clock has it in any case");
    assert!(ran.phases.iter().all(|phase| phase.phase != "seeks"), "not asked for");
}
