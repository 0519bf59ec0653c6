//! Runs that add repeats until their figures decide.

use stats::FirstPlace;
use store::{RunState, StoredRun, Until};
use testbed::Stop;
use units::Nanos;

use crate::fake::{FakePlaces, open, request};
use crate::{Limit, Request, RunEnd, RunEvent, plan};

const MINUTE: Until = Until { budget: Nanos::from_secs(60) };

fn asked(contenders: &[&str], until: Option<Until>) -> Request {
    Request { repeats: 3, until, ..request(contenders) }
}

/// Runs a request, with so many trials before an interruption; the run, and what was told.
fn run(
    request: Request,
    first: Option<usize>,
    first_place: &dyn Fn(&StoredRun) -> FirstPlace,
) -> (StoredRun, RunEnd, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let mut told = Vec::new();
    let mut tell = |event: RunEvent<'_>| told.push(format!("{event:?}"));
    let prepared = session.prepare(request).unwrap();
    let id = session.create(&prepared, &mut tell).unwrap();
    if let Some(first) = first {
        let limit = Limit { trials: Some(first), ..Limit::NONE };
        session.execute(&id, prepared.testbed.as_ref(), limit, &mut tell).unwrap();
        // Prepared again from what is stored, as by `--resume`.
        let header = session.store.run_header(&id).unwrap();
        let prepared = session.reopen(&header, &[]).unwrap();
        let ended = session.execute_until_decided(&id, &prepared, first_place, &mut tell).unwrap();
        return (session.store.run(&id).unwrap(), ended, told);
    }
    let ended = session.execute_until_decided(&id, &prepared, first_place, &mut tell).unwrap();
    (session.store.run(&id).unwrap(), ended, told)
}

fn decided_with(repeats: u32) -> impl Fn(&StoredRun) -> FirstPlace {
    move |run| match run.header.repeats >= repeats {
        true => FirstPlace::Decided,
        false => FirstPlace::Open,
    }
}

#[test]
fn repeats_are_added_until_it_is_decided_and_are_those_of_a_run_that_asked_for_them() {
    let (made, ended, told) = run(asked(&["a", "b"], Some(MINUTE)), None, &decided_with(8));
    assert_eq!((ended, made.header.state), (RunEnd::Complete, RunState::Complete));
    assert_eq!((made.header.repeats, made.trials.len()), (8, 16));
    let planned = plan(&Request { repeats: 8, ..asked(&["a", "b"], None) }, None).unwrap();
    for (made, planned) in made.trials.iter().zip(&planned) {
        let of = |spec: &trial::TrialSpec| (spec.contender.name.clone(), spec.block, spec.seed);
        assert_eq!(of(&made.spec), of(planned));
    }
    let further: Vec<_> = told.iter().filter(|it| it.starts_with("Further")).collect();
    assert_eq!(further, ["Further { from: 3, to: 5 }", "Further { from: 5, to: 8 }"]);
}

#[test]
fn there_are_no_more_than_twelve_and_none_without_being_asked() {
    let open = |_: &StoredRun| FirstPlace::Open;
    assert_eq!(run(asked(&["a", "b"], Some(MINUTE)), None, &open).0.header.repeats, 12);
    assert_eq!(run(asked(&["a", "b"], None), None, &open).0.header.repeats, 3);
    let level = |_: &StoredRun| FirstPlace::Level;
    assert_eq!(run(asked(&["a", "b"], Some(MINUTE)), None, &level).0.header.repeats, 3);
    let nothing = Some(Until { budget: Nanos(0) });
    assert_eq!(run(asked(&["a", "b"], nothing), None, &open).0.header.repeats, 3);
}

#[test]
fn an_interrupted_run_makes_the_repeats_of_one_that_was_not() {
    let specs = |run: &StoredRun| -> Vec<_> {
        run.trials.iter().map(|trial| (trial.ordinal, trial.spec.clone())).collect()
    };
    let whole = run(asked(&["a", "b", "c"], Some(MINUTE)), None, &decided_with(5)).0;
    for first in [0, 1, 5, 9] {
        let again = run(asked(&["a", "b", "c"], Some(MINUTE)), Some(first), &decided_with(5)).0;
        assert_eq!(specs(&again), specs(&whole), "after {first}");
        assert!(again.trials.iter().all(|trial| trial.outcome.is_some()), "after {first}");
    }
}

#[test]
fn trials_that_were_lost_come_again_before_any_are_added() {
    let (made, _, _) = run(asked(&["a", "killed"], Some(MINUTE)), None, &decided_with(8));
    assert_eq!((made.header.state, made.header.repeats), (RunState::Open, 3));
}

#[test]
fn what_cannot_run_is_left_out_of_added_repeats_too() {
    let (made, _, told) = run(asked(&["a", "refused"], Some(MINUTE)), None, &decided_with(5));
    assert_eq!(made.header.state, RunState::Complete);
    let refused = made.trials.iter().filter(|trial| trial.spec.contender.name == "refused");
    assert_eq!(refused.filter(|trial| trial.outcome.is_some()).count(), 5);
    assert_eq!(told.iter().filter(|it| it.starts_with("LeftOut")).count(), 1, "said once");
}

#[test]
fn a_run_that_was_stopped_adds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces { stop: Stop::new(), ..FakePlaces::default() };
    let mut session = open(directory.path(), &places);
    let prepared = session.prepare(asked(&["hangs"], Some(MINUTE))).unwrap();
    let id = session.create(&prepared, &mut |_| {}).unwrap();
    let ended = session.execute_until_decided(&id, &prepared, &decided_with(8), &mut |_| {});
    assert_eq!(ended.unwrap(), RunEnd::Stopped);
    assert_eq!(session.store.run_header(&id).unwrap().repeats, 3);
}
