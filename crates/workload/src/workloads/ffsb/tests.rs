//! What is refused and planned, how far ageing goes, figures and verification.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use measure::CpuTime;
use rustix::fs::CWD;
use units::Nanos;

use super::*;
use crate::kept::Kept;
use crate::own_process::tmpfs;
use crate::{Cache, Inputs, PhaseEvent, PhaseStatus, Seed};

fn parameters(settings: &str) -> Parameters {
    let given: BTreeMap<String, String> = settings
        .split_whitespace()
        .map(|setting| setting.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

/// What a run left.
struct Ran {
    ended: Result<(), String>,
    events: Vec<PhaseEvent>,
}

impl Ran {
    fn phase(&self, name: &str) -> &PhaseResult {
        let finished = self.events.iter().find_map(|event| match event {
            PhaseEvent::Finished(result) if result.phase == name => Some(&**result),
            _ => None,
        });
        finished.expect("the phase was reported")
    }

    fn completed(&self, name: &str) -> bool {
        self.phase(name).status == PhaseStatus::Completed
    }

    /// How many ops were announced.
    fn planned(&self, name: &str) -> Option<u64> {
        self.events.iter().find_map(|event| match event {
            PhaseEvent::Started { phase, ops_planned, .. } if phase == name => Some(*ops_planned),
            _ => None,
        })
    }
}

/// Runs it with verification.
fn ran(target: &Path, settings: &str) -> Ran {
    let (host, inputs) = (Kept::default(), Inputs::default());
    let mut context = Context::new(
        &host,
        &DESCRIPTION,
        target.to_owned(),
        parameters(settings),
        &inputs,
        Seed(1),
        true,
    );
    let ended = Ffsb.run(&mut context).map_err(|failure| failure.to_string());
    Ran { ended, events: host.0.into_inner() }
}

/// One file of a page, which one thread reads once.
fn small(age: &str) -> String {
    format!(
        "files=1 directories=1 min_size=4K max_size=4K threads=1 ops=1 profile=read direct=off \
         age={age}"
    )
}

#[test]
fn the_room_is_that_of_the_largest_files_and_of_as_many_more_where_some_are_created() {
    let space = |weights: &str| {
        let settings = "files=7 directories=3 min_size=4K max_size=8K";
        Ffsb.space(&parameters(&format!("{settings} weights={weights}")), &InputFacts::default())
    };
    // 7 files of 8192 bytes, 3 directories and the one above; then 14 files.
    assert_eq!(space("read=1"), Space { bytes: Bytes(57_344), inodes: 11 });
    assert_eq!(space("create=1"), Space { bytes: Bytes(114_688), inodes: 18 });
    // 2 threads that append 4096 bytes 5 times at most; over a time nobody can tell.
    let appends = space("append=1 threads=2 ops=5 op_size=4K block=4K");
    assert_eq!(appends, Space { bytes: Bytes(57_344 + 40_960), inodes: 11 });
    assert_eq!(space("append=1 threads=2 ops=0"), space("read=1"));
}

#[test]
fn sizes_that_make_no_sense_are_refused_before_the_run() {
    let check = |settings: &str| Ffsb.check(&parameters(settings));
    assert_eq!(check("direct=off min_size=4K max_size=8K"), Ok(()));
    let refused = check("direct=off min_size=8K max_size=4K").unwrap_err();
    assert_eq!(refused, "min_size=8 KiB is above max_size=4 KiB");
    // With direct I/O each of three reasons is enough.
    assert_eq!(check("direct=on min_size=4K max_size=4K"), Ok(()));
    for settings in [
        "block=1000 min_size=4K max_size=4K",
        "min_size=5000 max_size=5000",
        "min_size=4K max_size=8K",
    ] {
        let refused = check(&format!("direct=on {settings}")).unwrap_err();
        assert!(refused.starts_with("direct I/O needs blocks"), "{settings}: {refused}");
    }
}

#[test]
fn the_files_and_the_ops_of_all_threads_are_announced() {
    let home = tempfile::tempdir().unwrap();
    let settings = "files=3 directories=2 min_size=4K max_size=8K threads=2 ops=5 profile=read \
                    direct=off";
    let ran = ran(home.path(), settings);
    assert_eq!(ran.ended, Ok(()));
    assert_eq!((ran.planned("create"), ran.planned("run")), (Some(3), Some(10)));
    assert_eq!(ran.planned("age"), None);
}

#[test]
fn files_of_other_sizes_that_were_left_are_taken_without_direct_io() {
    let home = tempfile::tempdir().unwrap();
    let settings = "files=3 directories=1 threads=1 ops=2 profile=read direct=off";
    let first = ran(home.path(), &format!("{settings} min_size=4K max_size=4K keep=on"));
    assert_eq!(first.ended, Ok(()));
    let second = ran(home.path(), &format!("{settings} min_size=8K max_size=8K"));
    assert_eq!(second.ended, Ok(()));
    assert!(!second.completed("create") && second.completed("run"));
}

#[test]
fn an_empty_filesystem_is_aged_as_far_as_asked_for() {
    let name = "an_empty_filesystem_is_aged_as_far_as_asked_for";
    let Some(home) = tmpfs(module_path!(), name, "size=16m") else { return };
    let ran = ran(&home, &small("0.5"));
    assert_eq!(ran.ended, Ok(()));
    assert!(ran.completed("age") && ran.completed("run"));
    let age = ran.phase("age");
    // The last op may have added 1 MiB of 16: 0.0625.
    assert!((0.5..0.57).contains(&age.figures["fullness"]), "{age:?}");
    assert_eq!(age.notes, [""; 0], "it is as full as asked for");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "nothing is left");
}

#[test]
fn where_no_more_fits_ageing_ends_and_says_so() {
    let name = "where_no_more_fits_ageing_ends_and_says_so";
    // Of two pages the set of files takes one, and no other file fits: each has at least 4096
    // bytes, and the first that is drawn has more.
    let Some(home) = tmpfs(module_path!(), name, "size=8k") else { return };
    let ran = ran(&home, &small("1"));
    assert_eq!(ran.ended, Ok(()));
    assert!(ran.completed("age") && ran.completed("run"));
    let age = ran.phase("age");
    assert_eq!((age.ops, age.figures["fullness"]), (0, 0.5));
    assert_eq!(age.notes, ["no more files fitted: it is less full than asked for"]);
}

#[test]
fn a_filesystem_that_is_just_half_full_may_be_aged() {
    let name = "a_filesystem_that_is_just_half_full_may_be_aged";
    let Some(home) = tmpfs(module_path!(), name, "size=256k") else { return };
    // 32 of 64 pages: one for a file that an earlier run has left, 31 for another.
    let left = home.join("ffsb/d0000");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("f0000000"), [1u8; 4_096]).unwrap();
    fs::write(home.join("used"), vec![1u8; 126_976]).unwrap();
    let ran = ran(&home, &small("0.5"));
    assert_eq!(ran.ended, Ok(()));
    let age = ran.phase("age");
    assert_eq!((&age.status, age.ops), (&PhaseStatus::Completed, 0));
    assert_eq!(age.figures["fullness"], 0.5);
    assert_eq!(age.notes, [""; 0], "it is as full as asked for");
}

#[test]
fn a_filesystem_that_is_more_than_half_full_is_used_but_not_aged() {
    let name = "a_filesystem_that_is_more_than_half_full_is_used_but_not_aged";
    let Some(home) = tmpfs(module_path!(), name, "size=256k") else { return };
    // 48 of 64 pages.
    fs::write(home.join("used"), vec![1u8; 196_608]).unwrap();
    let refused = ran(&home, &small("0.9")).ended.unwrap_err();
    assert!(refused.starts_with("the filesystem is in use, "), "{refused}");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1, "nothing was made");
    let without = ran(&home, &small("0"));
    assert_eq!(without.ended, Ok(()));
    assert!(!without.completed("age") && without.completed("run"));
}

#[test]
fn figures_are_of_the_time_of_the_phase_and_of_all_threads() {
    let cache = Cache::Warm { why: String::new() };
    let mut result = PhaseResult::empty("ffsb", "run", cache);
    (result.wall, result.ops) = (Nanos::from_millis(2_500), 25);
    result.cpu = CpuTime { user: Nanos::from_millis(750), sys: Nanos::from_millis(500) };
    (result.read_bytes, result.write_bytes) = (Bytes::from_mib(5), Bytes::from_mib(10));
    figures(&[20, 30], &mut result);
    let expected = [
        ("transactions", 50.0),
        // 50, 25, 5 and 10 in 2.5 s.
        ("transactions_per_sec", 20.0),
        ("ops_per_sec", 10.0),
        ("read_mib_per_s", 2.0),
        ("write_mib_per_s", 4.0),
        // 1.25 s of 2.5 s.
        ("cpu_percent", 50.0),
    ];
    let expected = BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(result.figures, expected);
}

#[test]
fn verification_finds_each_file_that_is_not_as_it_was_left() {
    let home = tempfile::tempdir().unwrap();
    let target = open_target(home.path()).unwrap();
    make_directories(target.as_fd(), 1).unwrap();
    // Places 0 and 1 have files of 5 bytes; 2 and 3 have none.
    let files = Files::draw(Seed(1), 2, 5, 5, 1);
    let job = job(target.as_fd(), &files, &parameters(""));
    let place = |name: &str| home.path().join("ffsb/d0000").join(name);
    let said = || verify(&job).map_err(|failure| failure.to_string());
    fs::write(place("f0000000"), "12345").unwrap();
    fs::write(place("f0000001"), "12345").unwrap();
    assert_eq!(said(), Ok(()));

    let of = |text: &str| Err(format!("verification: ffsb/d0000/{text}"));
    fs::write(place("f0000001"), "1234").unwrap();
    assert_eq!(said(), of("f0000001: Some(4) bytes, not Some(5)"));
    fs::remove_file(place("f0000001")).unwrap();
    assert_eq!(said(), of("f0000001: None bytes, not Some(5)"));
    fs::write(place("f0000001"), "12345").unwrap();
    fs::write(place("f0000002"), "1").unwrap();
    assert_eq!(said(), of("f0000002: Some(1) bytes, not None"));
}

#[test]
fn a_sync_that_fails_is_a_failure() {
    // The current directory as such is no descriptor, which syncfs needs.
    let files = Files::draw(Seed(1), 1, 1, 1, 1);
    let failed = sync(&job(CWD, &files, &parameters(""))).unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("syncfs", Path::new("ffsb")));
}
