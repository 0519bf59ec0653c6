//! The actions of one thread on a set of one file, one by one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;

use tempfile::TempDir;

use super::*;
use crate::engine::contents::Filling;
use crate::engine::file_io::open_target;
use crate::workloads::filebench::RUN;
use crate::workloads::filebench::personalities::VARMAIL;
use crate::{Parameters, Seed, Workload};

/// A target with the directory of the set, and the log in it.
fn target() -> (TempDir, OwnedFd, File) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("r")).unwrap();
    let opened = open_target(home.path()).unwrap();
    let log = File::create(home.path().join("r/log")).unwrap();
    (home, opened, log)
}

/// Appends one byte, reads and writes at most 64 with one call.
fn actor<'a>(target: &'a OwnedFd, log: &'a File, set: &'a Set) -> Actor<'a> {
    let parameters = Parameters::resolve(VARMAIL.describe(), &BTreeMap::new(), 1.0).unwrap();
    Actor {
        target: target.as_fd(),
        set,
        log: log.as_fd(),
        draw: Seed(1).stream("actor"),
        buffer: vec![b'x'; 64],
        marker: Marker::new(Seed(1), "actor marks", Filling::of(&parameters)),
        append: 1,
        path: PathBuffer::new(),
        open: None,
        left_out: 0,
        logged: 0,
    }
}

/// The digest of these facts.
fn digest(facts: &[u64]) -> u64 {
    let mut recorder = Recorder::new(&RUN);
    facts.iter().for_each(|fact| recorder.digest(*fact));
    recorder.totals().3
}

#[test]
fn a_file_is_made_written_appended_to_and_read_to_its_end() {
    let (home, target, log) = target();
    let set = Set::draw(Seed(1), 1, 1000, 0.0, 10, "r");
    let planned = set.places()[0].planned;
    let size = planned + 1;
    let mut actor = actor(&target, &log, &set);
    let mut recorder = Recorder::new(&RUN);
    let write = [Action::Create, Action::WriteWhole, Action::Append, Action::Fsync, Action::Close];
    for action in write {
        actor.act(action, &mut recorder, true).unwrap();
    }
    assert_eq!(fs::metadata(home.path().join("r/00000000")).unwrap().len(), size);
    assert_eq!(set.places(), [Place { exists: true, busy: false, planned, size }]);
    assert_eq!((recorder.write_bytes, recorder.read_bytes), (size, 0));

    for action in [Action::Open, Action::ReadWhole, Action::Close] {
        actor.act(action, &mut recorder, true).unwrap();
    }
    assert_eq!((recorder.write_bytes, recorder.read_bytes), (size, size));
    assert_eq!((recorder.ops_done(), actor.left_out), (8, 0));
    // The number of each action; the one byte that is appended counts 16.
    assert_eq!(recorder.totals().3, digest(&[1, 2, 16 + 3, 4, 5, 6, 7, 5]));
}

#[test]
fn a_file_that_is_looked_at_is_not_opened_and_free_again() {
    let (home, target, log) = target();
    let set = Set::draw(Seed(1), 1, 100, 1.0, 10, "r");
    fs::write(home.path().join("r/00000000"), "here").unwrap();
    let mut actor = actor(&target, &log, &set);
    let mut recorder = Recorder::new(&RUN);
    actor.act(Action::Stat, &mut recorder, true).unwrap();
    assert!(actor.open.is_none());
    assert!(!set.places()[0].busy);
    assert_eq!((recorder.ops_done(), actor.left_out), (1, 0));
}

#[test]
fn what_needs_an_open_file_is_left_out_where_there_is_none() {
    let (_home, target, log) = target();
    let set = Set::draw(Seed(1), 1, 100, 0.0, 10, "r");
    let mut actor = actor(&target, &log, &set);
    let mut recorder = Recorder::new(&RUN);
    let actions =
        [Action::WriteWhole, Action::Append, Action::Fsync, Action::ReadWhole, Action::Close];
    for action in actions {
        actor.act(action, &mut recorder, true).unwrap();
    }
    assert_eq!((recorder.ops_done(), actor.left_out), (0, 5));
}

#[test]
fn the_log_grows_by_at_least_a_byte() {
    let (home, target, log) = target();
    let set = Set::draw(Seed(1), 1, 100, 0.0, 10, "r");
    let mut actor = actor(&target, &log, &set);
    let mut recorder = Recorder::new(&RUN);
    for _ in 0..2 {
        actor.act(Action::Log, &mut recorder, true).unwrap();
    }
    assert_eq!((actor.logged, recorder.write_bytes, recorder.ops_done()), (2, 2, 2));
    assert_eq!(fs::metadata(home.path().join("r/log")).unwrap().len(), 2);
    // A byte counts 16; the log is action 9.
    assert_eq!(recorder.totals().3, digest(&[16 + 9, 16 + 9]));
}
