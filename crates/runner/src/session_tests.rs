//! Sessions on a fake testbed.

use std::collections::BTreeMap;

use store::{RunState, Store};
use testbed::{Lanes, Share, Stop};
use trial::Outcome;
use units::Bytes;
use workload::InputKind;

use crate::fake::{FakePlaces, NoHang, on, open, request, run};
use crate::{Limit, Remaining, Request, RunEnd, RunEvent, SessionError, parse_workload};

fn outcomes(store: &Store, id: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for trial in store.run(id).unwrap().trials {
        let word = trial.outcome.as_ref().map_or("open", Outcome::word);
        found.entry(trial.spec.contender.name.clone()).or_default().push(word.to_owned());
    }
    found
}

#[test]
fn what_fails_dies_or_is_refused_stops_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let (id, ended, told) = run(&mut session, request(&["good", "fails", "dies", "refused"]));
    assert_eq!(ended, RunEnd::Complete);
    let twice = |word: &str| vec![word.to_owned(); 2];
    assert_eq!(
        outcomes(&session.store, &id),
        BTreeMap::from([
            ("good".to_owned(), twice("done")),
            ("fails".to_owned(), twice("failed")),
            ("dies".to_owned(), twice("guest died")),
            ("refused".to_owned(), twice("refused")),
        ])
    );
    // The same reason is told once, before the run begins; what was refused does not run.
    assert!(told[0].starts_with("LeftOut") && told[1].starts_with("Began"), "{told:?}");
    assert_eq!(told.iter().filter(|line| line.starts_with("LeftOut")).count(), 1);
    assert_eq!(told.iter().filter(|line| line.starts_with("TrialStored")).count(), 6);
    let run = session.store.run(&id).unwrap();
    let ran = run.trials.iter().filter(|trial| trial.spec.contender.name != "refused");
    for trial in ran {
        assert_eq!(trial.notes, ["a remark"]);
        assert!(trial.host.is_some());
    }
    assert_eq!(run.header.environment.0["command_line"], "fstrial run");
    assert_eq!(run.header.environment.0["source_tree"], "synthetic");
}

#[test]
fn a_first_trial_that_ends_before_its_work_stops_the_run_unless_it_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let asked = Request { repeats: 20, ..request(&["unbegun"]) };
    let (id, ended, _) = run(&mut session, asked);
    assert_eq!(ended, RunEnd::Hopeless);
    // The other lane may have begun one too.
    let left = session.store.unfinished(&id).unwrap().len();
    assert!(left >= 18, "{left} are left");
    let why = session.hopeless(&id).unwrap();
    assert!(why.contains("no such file") && why.contains("--resume r1"), "{why}");
    let header = session.newest().unwrap().0;
    let prepared = session.reopen(&header, &[]).unwrap();
    let ended = session.execute(&id, prepared.testbed.as_ref(), Limit::NONE, &mut |_| {}).unwrap();
    assert_eq!(ended, RunEnd::Complete);
}

#[test]
fn a_run_that_was_stopped_is_resumed_and_nothing_runs_twice() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    assert!(!session.stopped());
    let (id, ended, _) = run(&mut session, request(&["hangs", "good"]));
    assert_eq!(ended, RunEnd::Stopped);
    assert!(session.stopped());
    assert!(outcomes(&session.store, &id)["hangs"].contains(&"open".to_owned()));
    assert_eq!(session.newest().unwrap().1, RunState::Open);
    let before = session.store.run(&id).unwrap();
    // Whoever executes it is the only one.
    let mut other = open(directory.path(), &places);
    let header = other.newest().unwrap().0;
    let refused = other.reopen(&header, &[]).err().unwrap().to_string();
    let us = format!("by process {} on ", std::process::id());
    assert!(refused.contains("already") && refused.contains(&us), "{refused}");
    assert!(refused.contains(", since 2"), "{refused}");
    drop((session, other));

    // The next start of the program, in which what hung is gone.
    let again = FakePlaces::default();
    let mut session = open(directory.path(), &again);
    let header = session.newest().unwrap().0;
    assert_eq!(header.id, id);
    let prepared = session.reopen(&header, &[]).unwrap();
    let plain = NoHang;
    let mut stored = 0;
    let ended = session
        .execute(&id, &plain, Limit::NONE, &mut |event| {
            stored += usize::from(matches!(event, RunEvent::TrialStored { .. }));
        })
        .unwrap();
    assert_eq!(ended, RunEnd::Complete);
    let after = session.store.run(&id).unwrap();
    assert_eq!(prepared.trials.len(), after.trials.len());
    let open = before.trials.iter().filter(|trial| trial.outcome.is_none()).count();
    assert_eq!(stored, open);
    for (then, now) in before.trials.iter().zip(&after.trials) {
        assert_eq!(then.spec, now.spec);
        assert!(then.outcome.is_none() || then == now, "a finished trial changed");
    }
    assert_eq!(session.newest().unwrap().1, RunState::Complete);
}

#[test]
fn what_something_outside_ended_is_run_again_three_times_at_most_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let (id, ended, _) = run(&mut session, request(&["killed", "fails", "good"]));
    assert_eq!(ended, RunEnd::Complete);
    let before = session.store.run(&id).unwrap();
    for times in 1..=3 {
        let (header, state) = session.newest().unwrap();
        assert_eq!(state, RunState::Open, "it has something left to do");
        let prepared = session.reopen(&header, &[]).unwrap();
        let mut told = Vec::new();
        session.run_lost_again(&id, &mut |event| told.push(format!("{event:?}"))).unwrap();
        assert_eq!(told, ["Again { run: \"r1\", trials: 2, most: 3 }"]);
        assert_eq!(session.store.unfinished(&id).unwrap().len(), 2, "no trial that failed");
        session.execute(&id, prepared.testbed.as_ref(), Limit::NONE, &mut |_| {}).unwrap();
        let after = session.store.run(&id).unwrap();
        for (then, now) in before.trials.iter().zip(&after.trials) {
            if then.spec.contender.name == "killed" {
                let note = now.notes.last().unwrap();
                let words = ["once", "2 times", "3 times"][times - 1];
                assert!(note.ends_with(words) && note.starts_with("run again"), "{note}");
            } else {
                assert_eq!(then, now);
            }
        }
    }
    assert_eq!(session.newest().unwrap().1, RunState::Complete);
    session.run_lost_again(&id, &mut |event| panic!("{event:?}")).unwrap();
    assert!(session.store.unfinished(&id).unwrap().is_empty());
}

#[test]
fn a_run_goes_on_after_so_many_trials_as_if_it_had_not_paused() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let prepared = session.prepare(request(&["good"])).unwrap();
    let id = session.create(&prepared, &mut |_| {}).unwrap();
    let all = prepared.trials.len();
    let limit = Limit { trials: Some(1), ..Limit::NONE };
    for left in (0..all).rev() {
        let ended = session.execute(&id, &NoHang, limit, &mut |_| {}).unwrap();
        assert_eq!(session.store.unfinished(&id).unwrap().len(), left);
        assert_eq!(ended == RunEnd::Complete, left == 0);
    }
}

/// What was measured of a trial before it was lost is not mixed with what is measured then.
#[test]
fn of_a_trial_that_was_run_again_the_last_figures_stay() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let (id, ..) = run(&mut session, request(&["killed"]));
    session.run_lost_again(&id, &mut |_| {}).unwrap();
    session.execute(&id, &NoHang, Limit::NONE, &mut |_| {}).unwrap();
    let run = session.store.run(&id).unwrap();
    assert_eq!(run.header.state, RunState::Complete);
    assert!(run.trials.iter().all(|trial| trial.outcome == Some(Outcome::Done)));
    assert!(run.trials.iter().all(|trial| trial.notes.len() == 1), "only that it ran again");
}

#[test]
fn figures_of_two_labs_do_not_mix() {
    let directory = tempfile::tempdir().unwrap();
    let first = FakePlaces { lab: Some("aaa".to_owned()), ..FakePlaces::default() };
    let mut session = open(directory.path(), &first);
    let (id, ..) = run(&mut session, request(&["good", "better"]));
    drop(session);
    let second = FakePlaces { lab: Some("bbb".to_owned()), ..FakePlaces::default() };
    let mut session = open(directory.path(), &second);
    let header = session.store.run_header(&id).unwrap();
    let refused = session.reopen(&header, &[]).err().unwrap();
    assert!(matches!(refused, SessionError::Refused(_)));
    assert_eq!(
        refused.to_string(),
        "run r1 began in lab aaa, this is bbb; figures of two labs do not mix: begin anew"
    );
}

#[test]
fn nothing_is_created_where_nothing_can_run() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let prepared = session.prepare(request(&["refused"])).unwrap();
    let refused = session.create(&prepared, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, SessionError::Refused(_)), "{refused}");
    assert!(session.newest().is_err());
    let prepared = session.prepare(request(&["unexamined"])).unwrap();
    let stopped = session.create(&prepared, &mut |_| {}).unwrap_err();
    assert!(matches!(stopped, SessionError::StoppedBefore), "{stopped}");
    assert!(session.newest().is_err());

    let unknown = Request {
        workloads: vec![parse_workload("nothing-of-that-name").unwrap()],
        ..request(&["good"])
    };
    assert!(matches!(session.prepare(unknown), Err(SessionError::Request(_))));
    let damaged = FakePlaces { damaged: true, ..FakePlaces::default() };
    let session = open(directory.path(), &damaged);
    assert!(matches!(session.prepare(request(&["good"])), Err(SessionError::Input(_))));
}

#[test]
fn a_measurement_wants_every_trial_and_says_how_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let partly = session.prepare(request(&["good", "refused"])).unwrap();
    let refused = session.measure(&partly, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, SessionError::Refused(_)), "{refused}");
    let hangs = session.prepare(request(&["hangs"])).unwrap();
    let stopped = session.measure(&hangs, &mut |_| {}).unwrap_err();
    assert_eq!(stopped.to_string(), "stopped; go on with: fstrial run --resume r1");
}

#[test]
fn each_input_is_opened_once_and_only_where_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let session = open(directory.path(), &places);
    session.prepare(request(&["good"])).unwrap();
    assert!(places.kinds.lock().unwrap().is_empty());
    let mails = Request {
        workloads: ["maildir-write", "maildir-write:fsync=none"]
            .map(|text| parse_workload(text).unwrap())
            .into(),
        ..request(&["good"])
    };
    session.prepare(mails).unwrap();
    assert_eq!(*places.kinds.lock().unwrap(), [InputKind::Mail]);
}

#[test]
fn a_device_has_the_size_asked_for_or_one_with_room_and_a_directory_none() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let session = open(directory.path(), &places);
    let size = |request: Request| session.prepare(request).unwrap().trials[0].size;
    assert_eq!(size(request(&["good"])), Some(Bytes::from_gib(1)));
    let least = Some(Bytes::from_gib(5));
    assert_eq!(size(Request { least_size: least, ..request(&["good"]) }), least);
    let asked = Some(Bytes::from_gib(3));
    assert_eq!(size(Request { size: asked, least_size: least, ..request(&["good"]) }), asked);
    let testbed = on("dir");
    assert_eq!(size(Request { testbed, ..request(&["good"]) }), None);
}

/// What another fstrial holds is waited for, which is told once.
#[test]
fn trials_take_turns_with_those_of_other_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let lanes = Lanes::open(&directory.path().join("lanes")).unwrap();
    let mut held = Some(lanes.take(Share::Machine, &Stop::new(), &mut |_| {}).unwrap());
    let mut session = open(directory.path(), &places).sharing(lanes);
    let prepared = session.prepare(request(&["good"])).unwrap();
    let id = session.create(&prepared, &mut |_| {}).unwrap();
    let mut told = Vec::new();
    let mut tell = |event: RunEvent<'_>| {
        match event {
            RunEvent::TakesTurns { .. } => held = None,
            RunEvent::TrialStarted { .. } => assert!(held.is_none(), "it did not wait"),
            _ => return,
        }
        told.push(format!("{event:?}").split(' ').next().unwrap_or_default().to_owned());
    };
    let ended = session.execute(&id, prepared.testbed.as_ref(), Limit::NONE, &mut tell).unwrap();
    assert_eq!(ended, RunEnd::Complete);
    assert_eq!(told, ["TakesTurns", "TrialStarted", "TrialStarted"]);
}

#[test]
fn what_is_left_out_of_a_prepared_run_is_neither_created_nor_refused() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let mut prepared = session.prepare(request(&["good", "refused"])).unwrap();
    assert_eq!((prepared.trials.len(), prepared.refused.len()), (4, 2));
    prepared
        .retain(|trials| trials.into_iter().filter(|spec| spec.contender.name == "good").collect());
    assert_eq!((prepared.trials.len(), prepared.refused.len()), (2, 0));
    let id = session.measure(&prepared, &mut |_| {}).unwrap();
    assert_eq!(session.store.trial_count(&id).unwrap(), 2);
}

#[test]
fn the_newest_run_is_one_with_something_left_and_its_time_is_estimated_from_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let prepared = session.prepare(request(&["good"])).unwrap();
    let testbed = prepared.testbed.as_ref();
    let estimate = |session: &crate::Session<'_>| {
        Remaining::of(&prepared.trials).left(
            &session.durations(testbed, &prepared.environment()),
            &[],
            1,
        )
    };
    let open = session.create(&prepared, &mut |_| {}).unwrap();
    assert_eq!(estimate(&session), None);
    let newer = session.measure(&prepared, &mut |_| {}).unwrap();
    assert_eq!(estimate(&session).map(|estimate| estimate.known), Some(2));
    let (header, state) = session.newest().unwrap();
    assert_eq!((&header.id, state), (&open, RunState::Open));
    session.execute(&open, testbed, Limit::NONE, &mut |_| {}).unwrap();
    let (header, state) = session.newest().unwrap();
    assert_eq!((header.id, state), (newer, RunState::Complete));
}

/// A testbed is asked once for each kind of trial, and its answer counts for every block.
#[test]
fn what_is_refused_is_asked_once_for_all_blocks() {
    let places = FakePlaces::default();
    let plan = |repeats| {
        let asked = Request { repeats, ..request(&["good", "refused", "better"]) };
        crate::prepare(&places, asked).unwrap()
    };
    let few = plan(2);
    let of_each_block: Vec<u32> = few.refused.iter().map(|(at, _)| few.trials[*at].block).collect();
    assert_eq!(of_each_block, [0, 1]);
    let many = plan(20_000);
    assert_eq!((many.trials.len(), many.refused.len()), (60_000, 20_000));
    let is_refused = |at: &usize| many.trials[*at].contender.name == "refused";
    assert!(many.refused.iter().all(|(at, _)| is_refused(at)));
    assert!(many.refused.is_sorted_by_key(|(at, _)| *at));
}

#[test]
fn a_run_ends_when_its_store_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let places = FakePlaces::default();
    let mut session = open(directory.path(), &places);
    let prepared = session.prepare(Request { repeats: 20, ..request(&["good"]) }).unwrap();
    let id = session.create(&prepared, &mut |_| {}).unwrap();
    let store = directory.path().join("results.db");
    let mut started = 0;
    let ended = session.execute(&id, prepared.testbed.as_ref(), Limit::NONE, &mut |event| {
        if let RunEvent::TrialStarted { .. } = event {
            started += 1;
            std::fs::write(&store, "no database any more").unwrap();
        }
    });
    assert!(matches!(ended, Err(SessionError::Store(_))), "{ended:?}");
    assert!(started <= 2, "one in each lane, and not {started}");
}
