//! Executions of a study on a fake testbed: which trials are added, when, and why.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use runner::{Inputs, Limit, Places, Prepared, Session, SessionError, TestbedRequest};
use stack::Refusal;
use store::Environment;
use testbed::{Stop, Stopped, Testbed};
use trial::{Event, InputFiles, Outcome, TrialSpec};
use units::Nanos;
use workload::{InputKind, PhaseEvent, Seed};

use crate::ahead::Ahead;
use crate::execution::{Added, Execution, ExecutionEnd, Limits, Spreading, Told, stored_runs};
use crate::verdict::Verdict::{Holds, Undecided};
use crate::verdict_tests::{phase, study};
use crate::{ClaimResults, Part, Planned, Study, Wishes, matrix, results};

/// Seconds that contender `a` takes (all others take one second) and the spread; `dies` decides by
/// contender and block whether a trial is lost.
#[derive(Clone, Copy)]
struct Fake {
    a: f64,
    spread: f64,
    dies: fn(&str, u32) -> bool,
}

impl Testbed for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }
    fn environment(&self) -> Environment {
        Environment::default()
    }
    fn admit(&self, _: &[TrialSpec]) -> Vec<(usize, Refusal)> {
        Vec::new()
    }
    fn run(&self, spec: &TrialSpec, _: &Stop, sink: &mut dyn FnMut(Event)) -> Result<(), Stopped> {
        let name = &spec.contender.name;
        if (self.dies)(name, spec.block) {
            return Ok(());
        }
        let mean = if name == "a" { self.a } else { 1.0 };
        let noise = Seed(spec.seed.0).derive(name).0 as f64 / u64::MAX as f64 - 0.5;
        sink(Event::Phase(PhaseEvent::Finished(Box::new(phase(
            mean * (self.spread * noise).exp(),
        )))));
        sink(Event::Ended(Outcome::Done));
        Ok(())
    }
}

struct FakePlaces(Fake);

impl Places for FakePlaces {
    fn inputs(&self, _: &runner::Request, _: &[InputKind]) -> Result<Inputs, SessionError> {
        Ok(Inputs::default())
    }
    fn makes_filesystems(&self, _: &TestbedRequest) -> Result<bool, SessionError> {
        Ok(true)
    }
    fn resumed(
        &self,
        stored: &TestbedRequest,
        _: &[PathBuf],
    ) -> Result<TestbedRequest, SessionError> {
        Ok(stored.clone())
    }
    fn testbed(
        &self,
        _: &TestbedRequest,
        _: InputFiles,
        _: workload::Space,
    ) -> Result<Box<dyn Testbed>, SessionError> {
        Ok(Box::new(self.0))
    }
}

/// The outcome of an execution.
struct Came {
    ended: ExecutionEnd,
    added: Vec<(usize, Added)>,
    claim: ClaimResults,
    trials: usize,
}

fn session<'a>(directory: &Path, places: &'a FakePlaces) -> Session<'a> {
    let store = directory.join("results.db");
    Session::open(&store, places, Stop::default(), "fstrial study run".to_owned()).unwrap()
}

fn wishes(sizes: &[f64]) -> Wishes {
    Wishes {
        sizes: sizes.to_vec(),
        seeds: Some(4),
        seed: 1,
        timeout: Nanos::from_secs(60),
        ..Wishes::default()
    }
}

fn planned(study: &Study, wishes: &Wishes) -> Vec<Planned> {
    let place = |_: &Part, _: &BTreeMap<String, String>| {
        let settings = BTreeMap::from([("loop_directory", "/nowhere")]);
        TestbedRequest::new("device", &settings).map_err(|error| error.to_string())
    };
    matrix(study, "tiny", "key", wishes, &place).unwrap()
}

fn execute(session: &mut Session<'_>, study: &Study, wishes: &Wishes, limits: Limits) -> Came {
    let planned = planned(study, wishes);
    let mut added = Vec::new();
    let mut observer = |told: Told<'_>| {
        if let Told::Added(trials, why) = told {
            added.push((trials, why));
        }
    };
    let mut execution = Execution::new(study, "key", limits).choosing(&planned);
    execution.create(session, &planned, &mut observer).unwrap();
    let ended = execution.execute(session, &mut observer).unwrap();
    let runs = stored_runs(&session.store, "key").unwrap();
    let trials = runs.iter().map(|it| it.run.trials.len()).sum();
    let claim = results(study, &runs).claims.remove(0);
    Came { ended, added, claim, trials }
}

fn came(fake: Fake, limits: Limits) -> Came {
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    execute(&mut session, &study("lower", "1, 1, 1", "a better than b"), &wishes(&[]), limits)
}

fn until(half_width: f64) -> Limits {
    Limits { until: Some(half_width), ..Limits::default() }
}

const ALL_LIVE: fn(&str, u32) -> bool = |_, _| false;

#[test]
fn what_is_decided_at_once_gets_no_more_seeds() {
    let fake = Fake { a: 0.5, spread: 0.01, dies: ALL_LIVE };
    let came = came(fake, until(0.001));
    assert_eq!((came.ended, came.added.len()), (ExecutionEnd::Complete, 0));
    assert_eq!((came.claim.measured.verdict, came.trials), (Holds, 12));
}

#[test]
fn what_is_not_decided_gets_seeds_until_it_is_and_no_other_cell_does() {
    let fake = Fake { a: 0.985, spread: 0.03, dies: ALL_LIVE };
    assert_eq!(came(fake, Limits::default()).claim.measured.verdict, Undecided);
    let came = came(fake, until(0.001));
    assert_eq!(came.claim.measured.verdict, Holds);
    assert!(!came.added.is_empty());
    assert!(came.added.iter().all(|(_, why)| *why == Added::ToDecide));
    // Cells of a and b alone: c decides nothing.
    let more: usize = came.added.iter().map(|(trials, _)| trials).sum();
    assert_eq!((came.trials, more % 2), (12 + more, 0));
}

#[test]
fn seeds_that_are_asked_for_later_are_added_to_every_cell_as_a_second_look() {
    let (directory, fake) =
        (tempfile::tempdir().unwrap(), Fake { a: 0.985, spread: 0.03, dies: ALL_LIVE });
    let places = FakePlaces(fake);
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    let first = execute(&mut session, &study, &wishes(&[]), Limits::default());
    let seeds = |seeds| Limits { seeds: Some(seeds), ..Limits::default() };
    let fewer = execute(&mut session, &study, &wishes(&[]), seeds(3));
    assert_eq!((fewer.added, fewer.trials), (Vec::new(), first.trials));
    let more = execute(&mut session, &study, &wishes(&[]), seeds(7));
    assert_eq!(more.added, [(9, Added::AskedFor)]);
    assert_eq!((first.trials, more.trials), (12, 21));
    let runs = stored_runs(&session.store, "key").unwrap();
    assert_eq!(runs.iter().map(|it| it.tag.look).max(), Some(1));
    // Asked for again: they are already there.
    assert_eq!(execute(&mut session, &study, &wishes(&[]), seeds(7)).added, []);
}

#[test]
fn seeds_are_added_only_to_the_sizes_and_contenders_they_are_asked_for() {
    let fake = Fake { a: 0.985, spread: 0.03, dies: ALL_LIVE };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    let first = execute(&mut session, &study, &wishes(&[0.5, 1.0]), Limits::default());
    let seeds = |seeds| Limits { seeds: Some(seeds), ..Limits::default() };
    let one_size = execute(&mut session, &study, &wishes(&[1.0]), seeds(5));
    assert_eq!((first.trials, one_size.added), (24, vec![(3, Added::AskedFor)]));
    let only = ["a".to_owned(), "b".to_owned()].to_vec();
    let two = execute(&mut session, &study, &Wishes { only, ..wishes(&[0.5]) }, seeds(7));
    assert_eq!(two.added, [(6, Added::AskedFor)]);
}

#[test]
fn twins_end_when_the_interval_is_narrow_enough() {
    let fake = Fake { a: 1.0, spread: 0.01, dies: ALL_LIVE };
    let came = came(fake, until(0.02));
    assert_eq!((came.ended, came.claim.measured.verdict), (ExecutionEnd::Complete, Undecided));
    assert!(came.claim.measured.reason.unwrap().contains("they differ by less than"));
    assert_eq!(came.added, []);
}

#[test]
fn a_lost_trial_is_replaced_and_what_never_runs_is_not() {
    let once = Fake { a: 0.5, spread: 0.01, dies: |name, block| name == "b" && block == 1 };
    let came_once = came(once, Limits::default());
    assert_eq!(came_once.added, [(1, Added::InPlaceOfLost)]);
    assert_eq!(came_once.claim.measured.answers[0].n, Some(4));
    let never = Fake { dies: |name, _| name == "b", ..once };
    assert_eq!(came(never, Limits::default()).added, []);
    // If most are lost, at most as many again are tried.
    let most = Fake { dies: |name, block| name == "b" && block > 0, ..once };
    let came_most = came(most, Limits::default());
    assert_eq!(came_most.trials, 12 + 4);
}

/// The trials that [`Execution::each_ahead`] shows, by why they are ahead.
fn ahead(session: &mut Session<'_>, study: &Study, limits: Limits) -> Vec<(Ahead, usize)> {
    let planned = planned(study, &wishes(&[]));
    let mut shown = Vec::new();
    Execution::new(study, "key", limits)
        .choosing(&planned)
        .each_ahead(session, &planned, &mut |_, why, prepared| {
            shown.push((why, prepared.trials.len()));
        })
        .unwrap();
    shown
}

#[test]
fn a_seed_in_place_of_a_lost_one_is_ahead_and_not_counted_twice_where_it_is_also_asked_for() {
    let fake = Fake { a: 0.5, spread: 0.01, dies: |name, block| name == "b" && block == 1 };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    // As if the session had ended when the last planned trial was done.
    let planned = planned(&study, &wishes(&[]));
    let execution = Execution::new(&study, "key", Limits::default());
    execution.create(&mut session, &planned, &mut |_| {}).unwrap();
    session.execute("r1", &fake, Limit::NONE, &mut |_| {}).unwrap();
    let lost = (Ahead::Added(Added::InPlaceOfLost), 1);
    assert_eq!(ahead(&mut session, &study, Limits::default()), [lost]);
    let five = Limits { seeds: Some(5), ..Limits::default() };
    let asked_for = (Ahead::Added(Added::AskedFor), 2);
    assert_eq!(ahead(&mut session, &study, five.clone()), [lost, asked_for]);
    let came = execute(&mut session, &study, &wishes(&[]), five.clone());
    assert_eq!((came.ended, came.trials), (ExecutionEnd::Complete, 12 + 3));
    assert_eq!(ahead(&mut session, &study, five), []);
}

#[test]
fn sizes_are_added_to_an_execution_and_what_is_there_is_not_planned_again() {
    let fake = Fake { a: 0.5, spread: 0.01, dies: ALL_LIVE };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    let first = execute(&mut session, &study, &wishes(&[0.5]), Limits::default());
    assert_eq!((first.trials, first.claim.size), (12, Some(0.5)));
    let second = execute(&mut session, &study, &wishes(&[0.5, 1.0]), Limits::default());
    assert_eq!((second.trials, second.claim.size), (24, Some(1.0)));
    assert_eq!(second.claim.sizes.len(), 2);
}

#[test]
fn what_only_left_out_is_added_when_it_is_asked_for() {
    let fake = Fake { a: 0.5, spread: 0.01, dies: ALL_LIVE };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    let only = vec!["a".to_owned()];
    let first = execute(&mut session, &study, &Wishes { only, ..wishes(&[]) }, Limits::default());
    assert_eq!(first.trials, 4);
    let planned = (Ahead::Planned, 8);
    assert_eq!(ahead(&mut session, &study, Limits::default()), [planned]);
    let other_seed = Wishes { seed: 2, ..wishes(&[]) };
    let all = execute(&mut session, &study, &other_seed, Limits::default());
    assert_eq!((all.trials, all.claim.measured.verdict), (12, Holds));
    // With the seeds of those that are there: only then is each pair of the same work.
    let runs = stored_runs(&session.store, "key").unwrap();
    let trials = || runs.iter().flat_map(|it| &it.run.trials);
    let seeds_of = |name: &str| -> BTreeSet<u64> {
        trials()
            .map(|it| &it.spec)
            .filter(|it| it.contender.name == name)
            .map(|it| it.seed.0)
            .collect()
    };
    assert_eq!((seeds_of("a").len(), seeds_of("b")), (4, seeds_of("a")));
    assert_eq!(ahead(&mut session, &study, Limits::default()), []);
}

/// A cluster that takes every run and records it.
#[derive(Default)]
struct Cluster {
    over: RefCell<Vec<String>>,
    done: RefCell<Vec<String>>,
}

impl Spreading for Cluster {
    fn over(&self, mut prepared: Prepared, run: &str) -> Result<Prepared, SessionError> {
        self.over.borrow_mut().push(run.to_owned());
        prepared.testbed = Box::new(Fake { a: 0.5, spread: 0.01, dies: ALL_LIVE });
        Ok(prepared)
    }

    fn done(&self, run: &str) {
        self.done.borrow_mut().push(run.to_owned());
    }
}

#[test]
fn every_run_is_handed_to_the_cluster_and_taken_back_when_it_is_complete() {
    // Locally every trial would be lost: figures can only come from the cluster.
    let here = Fake { a: 2.0, spread: 0.01, dies: |_, _| true };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(here));
    let study = study("lower", "1, 1, 1", "a better than b");
    let planned = planned(&study, &wishes(&[0.5, 1.0]));
    let (mut session, cluster) = (session(directory.path(), &places), Cluster::default());
    let mut execution = Execution::new(&study, "key", Limits::default()).spread(&cluster);
    execution.create(&mut session, &planned, &mut |_| {}).unwrap();
    let ended = execution.execute(&mut session, &mut |_| {}).unwrap();
    assert_eq!(ended, ExecutionEnd::Complete);
    let runs = ["r1".to_owned(), "r2".to_owned()];
    assert_eq!((&cluster.over.borrow()[..], &cluster.done.borrow()[..]), (&runs[..], &runs[..]));
    let runs = stored_runs(&session.store, "key").unwrap();
    assert_eq!(results(&study, &runs).claims[0].measured.verdict, Holds);
    let spent = Limits { budget: Some(std::time::Duration::ZERO), ..Limits::default() };
    let mut again = Execution::new(&study, "key", spent).spread(&cluster);
    again.execute(&mut session, &mut |_| {}).unwrap();
    assert_eq!(cluster.over.borrow().len(), 2, "a complete run is not handed over again");
}

#[test]
fn a_spent_budget_leaves_trials_that_a_later_session_runs() {
    let fake = Fake { a: 0.5, spread: 0.01, dies: ALL_LIVE };
    let (directory, places) = (tempfile::tempdir().unwrap(), FakePlaces(fake));
    let mut session = session(directory.path(), &places);
    let study = study("lower", "1, 1, 1", "a better than b");
    let spent = Limits { budget: Some(std::time::Duration::ZERO), ..Limits::default() };
    let first = execute(&mut session, &study, &wishes(&[]), spent);
    assert_eq!((first.ended, first.claim.size), (ExecutionEnd::Budget, None));
    let second = execute(&mut session, &study, &wishes(&[]), Limits::default());
    assert_eq!((second.ended, second.trials), (ExecutionEnd::Complete, 12));
}
