//! What goes in comes out, and what is no store says so.

mod damaged;
mod held;

use std::collections::BTreeMap;

use measure::{Course, CpuTime, DeviceUse, Interval, Latencies, Silence};
use store::{Environment, NewRun, RunHeader, RunState, Store, StoreError};
use trial::{Outcome, SpaceUse, Step, TrialRecord, TrialSpec};
use units::{Bytes, Nanos};
use workload::{Cache, NotComparable, PhaseResult, PhaseStatus, Seed};

fn spec(name: &str, block: u32) -> TrialSpec {
    let mut contender = stack::Contender::plain("ext4");
    contender.name = name.to_owned();
    TrialSpec {
        contender,
        workloads: Vec::new(),
        // Larger than an i64 holds, since seeds use all 64 bits.
        seed: Seed(u64::MAX - u64::from(block)),
        block,
        size: Some(Bytes::from_gib(1)),
        verify: true,
        timeout: Nanos::from_secs(60),
    }
}

fn phase() -> PhaseResult {
    let mut latencies = Latencies::new();
    (1..=100).for_each(|ms| latencies.record(Nanos::from_millis(ms)));
    PhaseResult {
        workload: "maildir-write".to_owned(),
        phase: "io".to_owned(),
        status: PhaseStatus::Failed { reason: "create x: No space left on device".to_owned() },
        wall: Nanos(123_456_789),
        cpu: CpuTime { user: Nanos(5), sys: Nanos(7) },
        machine_cpu: Some(Nanos(31)),
        ops: 100,
        read_bytes: Bytes(1),
        write_bytes: Bytes(2),
        // Each figure another, so that no column can be taken for its neighbour.
        device: Some(DeviceUse {
            reads: 3,
            read_bytes: Bytes(11),
            writes: 13,
            write_bytes: Bytes(17),
            discards: 19,
            flushes: Some(23),
            busy: Nanos(29),
        }),
        cache: Cache::Cold { how: "unmounted and mounted again".to_owned() },
        latencies: BTreeMap::from([("deliver".to_owned(), latencies)]),
        course: Some(Course {
            width: Nanos::from_millis(5),
            intervals: vec![
                Interval { ops: 41, bytes: Bytes(43), longest: Nanos(47) },
                Interval { ops: 53, bytes: Bytes(59), longest: Nanos(61) },
            ],
            silences: vec![Silence {
                begins: Nanos(67),
                lasts: Nanos(71),
                op: "deliver".to_owned(),
                bytes: Bytes(73),
            }],
            left_out: 79,
        }),
        figures: BTreeMap::from([("fragments_per_file".to_owned(), 1.25)]),
        digest: u64::MAX,
        not_comparable: Some(NotComparable::Other { why: "why".to_owned() }),
        notes: vec!["a note".to_owned()],
    }
}

/// What the store reads of a request is the order of its workloads.
const REQUEST: &str = r#"{"a":1,"workloads":[{"name":"unpack"},{"name":"tree"}]}"#;

fn create(store: &mut Store, trials: &[TrialSpec]) -> String {
    let environment = Environment(BTreeMap::from([("kernel".to_owned(), "6.1".to_owned())]));
    store
        .create_run(&NewRun {
            fstrial_version: "0.0.0",
            testbed: "dir",
            lab_id: None,
            environment: &environment,
            seed: u64::MAX,
            contenders: &["b".to_owned(), "a".to_owned()],
            repeats: 2,
            scale: 0.1,
            request: REQUEST,
            trials,
        })
        .unwrap()
}

fn finish(store: &mut Store, run: &str, ordinal: u32, outcome: &Outcome) {
    let trial = TrialRecord {
        phases: vec![phase()],
        notes: vec!["remark".to_owned()],
        ..TrialRecord::ended(outcome.clone())
    };
    store.finish_trial(run, ordinal, &trial).unwrap();
}

#[test]
fn a_run_comes_back_as_it_was_stored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/er/results.db");
    let trials = [spec("a", 0), spec("b", 0), spec("a", 1)];
    let run = {
        let mut store = Store::open(&path).unwrap();
        let run = create(&mut store, &trials);
        finish(&mut store, &run, 1, &Outcome::Done);
        run
    };
    let mut store = Store::open(&path).unwrap();
    let stored = store.run("latest").unwrap();
    assert_eq!(stored.header.id, run);
    assert_eq!(stored.header.environment.0["kernel"], "6.1");
    let created: jiff::Timestamp = stored.header.created.parse().unwrap();
    assert!(created.duration_until(jiff::Timestamp::now()).abs().as_secs() < 3600, "{created}");
    assert!(!stored.header.is_simulated(), "it has no lab");
    let in_lab = RunHeader { lab_id: Some("l".to_owned()), ..stored.header.clone() };
    assert!(in_lab.is_simulated());
    assert_eq!(stored.header.seed, u64::MAX);
    assert_eq!(stored.header.contenders, ["b", "a"]);
    assert_eq!(stored.header.workloads, ["unpack", "tree"]);
    assert_eq!(stored.header.state, RunState::Open);
    assert_eq!(stored.trials.len(), 3);
    assert_eq!(stored.trials[2].spec, trials[2]);
    assert_eq!(stored.trials[0].outcome, None, "not run is not 0");
    assert_eq!(stored.trials[1].outcome, Some(Outcome::Done));
    assert_eq!(stored.trials[1].notes, ["remark"]);
    let [back] = &stored.trials[1].phases[..] else { panic!("one phase was stored") };
    let sent = phase();
    assert_eq!(back.latencies["deliver"].percentiles(), sent.latencies["deliver"].percentiles());
    assert_eq!(
        PhaseResult { latencies: BTreeMap::new(), ..back.clone() },
        PhaseResult { latencies: BTreeMap::new(), ..sent }
    );

    let left: Vec<u32> = store.unfinished(&run).unwrap().into_iter().map(|(n, _)| n).collect();
    assert_eq!(left, [0, 2], "what was finished is not run again");
    for ordinal in left {
        finish(&mut store, &run, ordinal, &Outcome::Done);
    }
    assert_eq!(store.run(&run).unwrap().header.state, RunState::Complete);
    assert_eq!(store.request(&run).unwrap(), REQUEST);
}

/// What was not counted comes back as missing, never as 0.
#[test]
fn what_was_not_counted_stays_missing() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("r.db")).unwrap();
    let run = create(&mut store, &[spec("a", 0), spec("b", 0)]);
    let uncounted_flushes = DeviceUse { flushes: None, ..phase().device.unwrap() };
    let phases = [Some(uncounted_flushes), None].map(|device| PhaseResult {
        device,
        machine_cpu: None,
        not_comparable: None,
        ..phase()
    });
    let trial = TrialRecord { phases: phases.into(), ..TrialRecord::ended(Outcome::Done) };
    store.finish_trial(&run, 0, &trial).unwrap();
    let back = &store.run(&run).unwrap().trials[0].phases;
    let devices: Vec<_> = back.iter().map(|phase| phase.device).collect();
    assert_eq!(devices, [Some(uncounted_flushes), None]);
    assert!(back.iter().all(|phase| phase.machine_cpu.is_none()));
    assert!(back.iter().all(|phase| phase.not_comparable.is_none()));
    let known = SpaceUse::Known { new: Bytes(1), used: Bytes(3), left: None };
    let trial = TrialRecord { space: Some(known.clone()), ..TrialRecord::ended(Outcome::Done) };
    store.finish_trial(&run, 1, &trial).unwrap();
    let spaces = store.run(&run).unwrap().trials.into_iter().map(|trial| trial.record.space);
    assert_eq!(spaces.collect::<Vec<_>>(), [None, Some(known)], "not looked at is not 0");
}

#[test]
fn a_run_that_gets_more_trials_keeps_those_that_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::open(&path).unwrap();
    let run = create(&mut store, &[spec("a", 0), spec("b", 0)]);
    finish(&mut store, &run, 0, &Outcome::Done);
    finish(&mut store, &run, 1, &Outcome::Done);
    let changed = "UPDATE trials SET seed = '0' WHERE ordinal = 1";
    rusqlite::Connection::open(&path).unwrap().execute(changed, []).unwrap();
    store.extend_run(&run, 2, &[spec("b", 1), spec("a", 1)]).unwrap();
    let stored = store.run(&run).unwrap();
    assert_eq!((stored.header.repeats, stored.header.state), (2, RunState::Open));
    let outcomes: Vec<_> = stored.trials.iter().map(|trial| trial.outcome.clone()).collect();
    assert_eq!((&outcomes[0], &outcomes[2], &outcomes[3]), (&Some(Outcome::Done), &None, &None));
    assert!(
        matches!(outcomes[1], Some(Outcome::Failed { .. })),
        "a change stays seen: {outcomes:?}"
    );
    let unfinished = store.unfinished(&run).unwrap();
    assert_eq!(unfinished, [(2, spec("b", 1)), (3, spec("a", 1))]);
    assert!(store.extend_run("r9", 2, &[]).is_err());
}

#[test]
fn a_finished_trial_does_not_change() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("r.db")).unwrap();
    let run = create(&mut store, &[spec("a", 0)]);
    finish(&mut store, &run, 0, &Outcome::Done);
    let failed = Outcome::Failed { step: Step::Mkfs, reason: "later".to_owned() };
    finish(&mut store, &run, 0, &failed);
    let stored = store.run(&run).unwrap();
    assert_eq!(stored.trials[0].outcome, Some(Outcome::Done));
    assert_eq!(stored.trials[0].phases.len(), 1);
}

#[test]
fn a_lost_trial_leaves_no_figure_when_it_is_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    let mut store = Store::open(&path).unwrap();
    let run = create(&mut store, &[spec("a", 0), spec("b", 0), spec("c", 0)]);
    finish(&mut store, &run, 0, &Outcome::Done);
    assert!(store.run_lost_again(&run).unwrap().is_empty(), "none was lost");
    assert_eq!(store.run_again(&run).unwrap(), BTreeMap::new());
    finish(&mut store, &run, 1, &Outcome::Lost { reason: "killed".to_owned() });
    finish(&mut store, &run, 2, &Outcome::Done);
    assert_eq!(store.run_header(&run).unwrap().state, RunState::Open);
    assert_eq!(store.run_lost_again(&run).unwrap(), [1]);
    assert_eq!(store.run_again(&run).unwrap(), BTreeMap::from([(1, 1)]));
    let stored = store.run(&run).unwrap();
    assert!(stored.trials[1].outcome.is_none() && stored.trials[1].phases.is_empty());
    assert_eq!(stored.trials[0].outcome, Some(Outcome::Done));
    finish(&mut store, &run, 1, &Outcome::Done);
    assert_eq!(store.run(&run).unwrap().trials[1].phases.len(), 1);
    assert_eq!(store.run_header(&run).unwrap().state, RunState::Complete);
}

/// The home of the user who runs the tests, or what they set in its place.
#[test]
fn the_default_store_is_in_the_users_data_directory() {
    let path = Store::default_path();
    assert!(path.is_absolute() && path.ends_with("fstrial/results.db"), "{}", path.display());
}

#[test]
fn a_path_that_cannot_be_had_is_named_with_its_cause() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("n".repeat(300));
    let Err(error) = Store::open(&path) else { panic!("no filesystem has such long names") };
    assert!(error.to_string().contains("File name too long"), "{error}");
}

#[test]
fn a_store_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    Store::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_no_store_is_left_alone_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "my notes, which are longer than a header of SQLite would be".repeat(20))
        .unwrap();
    let before = std::fs::read(&text).unwrap();
    assert!(matches!(Store::open(&text), Err(StoreError::NotAStore { .. })));
    assert_eq!(std::fs::read(&text).unwrap(), before);

    let foreign = directory.path().join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
        .unwrap();
    let error = Store::open(&foreign).unwrap_err();
    assert!(error.to_string().contains("is not a store of fstrial"), "{error}");
}

#[test]
fn a_newer_schema_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    Store::open(&path).unwrap();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_locked_store_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    let mut store = Store::open(&path).unwrap();
    let run = create(&mut store, &[spec("a", 0)]);
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let trial = TrialRecord::ended(Outcome::Done);
    let error = store.finish_trial(&run, 0, &trial).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    store.finish_trial(&run, 0, &trial).unwrap();
}

#[test]
fn an_unknown_run_names_those_there_are() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("r.db")).unwrap();
    assert!(store.run("latest").unwrap_err().to_string().contains("it has: none"));
    create(&mut store, &[spec("a", 0)]);
    let error = store.run("r9").unwrap_err().to_string();
    assert!(error.contains("`r9`") && error.contains("r1"), "{error}");
    assert!(store.run("../x").is_err());
}

/// Schema 6 had no courses.
#[test]
fn a_store_of_the_schema_before_is_read_and_gets_what_it_lacked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    let mut store = Store::open(&path).unwrap();
    let run = create(&mut store, &[spec("a", 0), spec("b", 0)]);
    let without = PhaseResult { course: None, ..phase() };
    let trial = TrialRecord { phases: vec![without.clone()], ..TrialRecord::ended(Outcome::Done) };
    store.finish_trial(&run, 0, &trial).unwrap();
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("DROP TABLE courses; PRAGMA user_version = 6").unwrap();
    drop(connection);
    let mut store = Store::open_existing(&path).unwrap();
    finish(&mut store, &run, 1, &Outcome::Done);
    let trials = store.run(&run).unwrap().trials;
    assert!(trials.iter().all(|trial| trial.outcome == Some(Outcome::Done)));
    let courses = trials.iter().flat_map(|trial| &trial.phases).map(|phase| &phase.course);
    assert_eq!(courses.collect::<Vec<_>>(), [&None, &phase().course]);
}

/// Schemas before the first release kept no checksum of a run.
#[test]
fn a_store_of_before_the_first_release_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("r.db");
    Store::open(&path).unwrap();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 5).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Unreleased { found: 5, .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_schema_below_nothing_is_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    create(&mut Store::open(&path).unwrap(), &[spec("a", 0)]);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = -5").unwrap();
    drop(connection);
    assert!(matches!(Store::open(&path), Err(StoreError::NotAStore { .. })));
}

#[test]
fn durations_are_those_of_done_trials_of_the_same_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("results.db")).unwrap();
    let trials = [spec("a", 0), spec("b", 0), spec("c", 0)];
    let run = create(&mut store, &trials);
    let second = std::time::Duration::from_secs(1);
    let ends = [Outcome::Done, Outcome::Done, Outcome::Refused { reason: "no".to_owned() }];
    for (ordinal, outcome) in (0..).zip(&ends) {
        let host = (ordinal != 1).then_some(second * (ordinal + 3));
        let trial = TrialRecord { host, ..TrialRecord::ended(outcome.clone()) };
        store.finish_trial(&run, ordinal, &trial).unwrap();
    }
    let found = store.durations("dir", &[("lab_profile", None)], 10).unwrap();
    assert_eq!(found, [(trials[0].clone(), 3 * second)]);
    assert_eq!(store.durations("lab", &[], 10).unwrap(), []);
    assert_eq!(store.durations("dir", &[("lab_profile", Some("today"))], 10).unwrap(), []);
    assert_eq!(store.trial_count(&run).unwrap(), 3);
    assert_eq!(store.run_header("latest").unwrap().id, run);
    assert_eq!(store.run(&run).unwrap().trials[0].host, Some(3 * second));
}
