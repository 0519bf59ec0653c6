//! The streams one by one, in a temporary directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rustix::io::{FdFlags, fcntl_getfd};

use super::*;

/// Three blocks and a half.
fn job() -> Job {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    let filling = Filling::of(&parameters);
    Job { size: 3_500, block: 1_000, fsync: false, seed: Seed(1), filling }
}

/// Writes the first file of a directory, which is returned open, and how long that took.
fn written(directory: &Path) -> (OwnedFd, Nanos) {
    let (job, target) = (job(), open_target(directory).unwrap());
    let mut contents = Contents::new(job.seed, FIRST, job.block, job.filling);
    let mut recorder = Recorder::for_thread(&WRITE);
    let kinds = (Op(0), Op(1));
    let spent = write(target.as_fd(), FIRST, &mut contents, job, kinds, &mut recorder, None);
    (target, spent.unwrap())
}

#[test]
fn a_rate_is_in_mib_of_a_second() {
    assert_eq!(rate(3 << 20, Nanos(500_000_000)), 6.0);
    // A clock that did not move: a MiB in a nanosecond.
    assert!((rate(1 << 20, Nanos(0)) / 1e9 - 1.0).abs() < 1e-9);
}

#[test]
fn a_stream_takes_no_longer_than_the_call_that_contains_it() {
    let directory = tempfile::tempdir().unwrap();
    let before = now();
    let (target, spent) = written(directory.path());
    assert!(spent <= now() - before, "writing took {spent:?}");

    let mut recorder = Recorder::for_thread(&READ);
    let before = now();
    let read = read_all(target.as_fd(), &mut [0u8; 1_000], job(), &mut recorder, None);
    let (spent, around) = (read.unwrap(), now() - before);
    assert!(spent <= around, "reading took {spent:?}");
    assert_eq!((recorder.ops_done(), recorder.read_bytes), (4, 3_500));
}

#[test]
fn a_file_that_is_too_short_fails_its_reader_unless_the_phase_was_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (target, _) = written(directory.path());
    fs::write(directory.path().join(FIRST), [7u8; 3_499]).unwrap();
    let read = |group: Option<&ThreadGroup>| {
        let mut recorder = Recorder::for_thread(&READ);
        let ended = read_all(target.as_fd(), &mut [0u8; 1_000], job(), &mut recorder, group);
        (ended.err().map(|error| error.source.kind()), recorder.read_bytes)
    };
    let group = ThreadGroup::default();
    assert_eq!(read(None), (Some(ErrorKind::UnexpectedEof), 3_499));
    assert_eq!(read(Some(&group)), (Some(ErrorKind::UnexpectedEof), 3_499));
    group.stop();
    assert_eq!(read(Some(&group)), (None, 0));
}

#[test]
fn whatever_is_wrong_with_a_file_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let (target, _) = written(directory.path());
    let path = directory.path().join(FIRST);
    let verdict = || verify(target.as_fd(), FIRST, job()).map_err(|error| error.to_string());
    assert_eq!(verdict(), Ok(()));

    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), 3_500);
    let mut changed = whole.clone();
    changed[3_400] ^= 1;
    let longer = [&whole[..], b"x"].concat();
    for (bytes, message) in [
        (&changed[..], "other contents than written at byte 3000"),
        (&whole[..3_499], "failed to fill whole buffer"),
        (&longer[..], "longer than written"),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(verdict(), Err(format!("verification: bigfile-first: {message}")));
    }
}

#[test]
fn no_program_inherits_the_file_that_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let (target, _) = written(directory.path());
    let file = open(target.as_fd(), FIRST).unwrap();
    assert_eq!(fcntl_getfd(&file), Ok(FdFlags::CLOEXEC));
}
