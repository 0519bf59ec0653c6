//! One thread's ops: where they read and write, what they leave, and what is told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tempfile::TempDir;

use super::super::description::{DESCRIPTION, RUN};
use super::super::profile::KINDS;
use super::*;
use crate::Parameters;
use crate::engine::file_io::open_target;

/// A target with the only directory of files.
fn home() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("ffsb/d0000")).unwrap();
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

/// Through the cache, at multiples of 4 KiB; new files have 3 to 6 bytes.
fn job<'a>(target: BorrowedFd<'a>, files: &'a Files) -> Job<'a> {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    let filling = Filling::of(&parameters);
    Job { target, files, direct: false, align: true, filling, min: 3, max: 6 }
}

/// Ops of one kind on this many bytes.
fn group(kind: Kind, size: u64) -> Group {
    let mut weights = [0; KINDS.len()];
    weights[kind as usize] = 1;
    Group {
        threads: 1,
        weights,
        size,
        block: 4096,
        random: true,
        fsync: false,
        delay: Duration::ZERO,
    }
}

/// The digest of ops that tell these facts.
fn digest_of(facts: &[u64]) -> u64 {
    let mut recorder = Recorder::new(&RUN);
    for fact in facts {
        recorder.digest(*fact);
    }
    recorder.totals().3
}

#[test]
fn an_op_is_told_by_place_and_kind_and_counted_by_its_calls() {
    // Eight times the only file's place, 3, and the number of the kind. The file has two blocks.
    for (kind, fact, calls) in [
        (Kind::Read, 24, 1),
        (Kind::ReadAll, 25, 2),
        (Kind::Write, 26, 1),
        (Kind::Append, 28, 1),
        (Kind::Delete, 29, 1),
    ] {
        let (home, target) = home();
        fs::write(home.path().join("ffsb/d0000/f0000003"), vec![0u8; 8192]).unwrap();
        let files = Files::left(target.as_fd(), 2, 1).unwrap().unwrap();
        let (job, group) = (job(target.as_fd(), &files), group(kind, 4096));
        let mut worker = Worker::new(&job, &group, 7, Seed(1), "a thread");
        let mut recorder = Recorder::new(&RUN);
        worker.perform(&mut recorder, true).unwrap();
        assert_eq!(worker.transactions, calls, "{kind:?}");
        assert_eq!(recorder.totals().3, digest_of(&[fact]), "{kind:?}");
    }
}

#[test]
fn each_meta_leaves_a_directory_of_its_own() {
    let (home, target) = home();
    let files = Files::draw(Seed(1), 1, 1, 1, 1);
    let (job, group) = (job(target.as_fd(), &files), group(Kind::Meta, 4096));
    let mut worker = Worker::new(&job, &group, 7, Seed(1), "a thread");
    let mut recorder = Recorder::new(&RUN);
    worker.perform(&mut recorder, true).unwrap();
    worker.perform(&mut recorder, true).unwrap();
    let names: BTreeSet<_> = fs::read_dir(home.path().join("ffsb"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, BTreeSet::from(["d0000", "meta7-c0", "meta7-c1"].map(str::to_owned)));
    assert_eq!(worker.transactions, 2);
    // Eight times the thread's number, and 6 for the kind.
    assert_eq!(recorder.totals().3, digest_of(&[62, 62]));
}

#[test]
fn created_files_have_all_sizes_from_the_smallest_to_the_largest() {
    let (home, target) = home();
    // None of the 64 files that should be there is needed: there are 64 empty places.
    let files = Files::draw(Seed(1), 64, 1, 1, 1);
    let (job, group) = (job(target.as_fd(), &files), group(Kind::Create, 4096));
    let mut worker = Worker::new(&job, &group, 0, Seed(1), "a thread");
    let mut recorder = Recorder::new(&RUN);
    for _ in 0..64 {
        worker.perform(&mut recorder, false).unwrap();
    }
    let sizes: Vec<u64> = fs::read_dir(home.path().join("ffsb/d0000"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(sizes.len(), 64);
    assert_eq!(BTreeSet::from_iter(sizes), BTreeSet::from([3, 4, 5, 6]));
}

#[test]
fn an_op_begins_at_any_place_from_which_it_fits() {
    let (_home, target) = home();
    let files = Files::draw(Seed(1), 1, 1, 1, 1);
    let group = group(Kind::Read, 4096);
    let places = |direct: bool, align: bool, size: u64, length: u64| -> BTreeSet<u64> {
        let job = Job { direct, align, ..job(target.as_fd(), &files) };
        let mut worker = Worker::new(&job, &group, 0, Seed(1), "a thread");
        (0..200).map(|_| worker.place(size, length)).collect()
    };
    // A block in a file of three has three places of whole blocks.
    for (direct, align) in [(true, false), (false, true), (true, true)] {
        let found = places(direct, align, 12_288, 4096);
        assert_eq!(found, BTreeSet::from([0, 4096, 8192]), "{direct} {align}");
    }
    // Ten bytes of thirteen can begin at four.
    assert_eq!(places(false, false, 13, 10), BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(places(false, false, 10, 13), BTreeSet::from([0]));
}

#[test]
fn blocks_follow_one_another_unless_their_places_are_random() {
    for random in [false, true] {
        let (home, target) = home();
        let path = home.path().join("ffsb/d0000/f0000000");
        fs::write(&path, vec![0u8; 65_536]).unwrap();
        let files = Files::left(target.as_fd(), 1, 1).unwrap().unwrap();
        // All 16 blocks of the file.
        let group = Group { random, ..group(Kind::Write, 65_536) };
        let job = job(target.as_fd(), &files);
        let mut worker = Worker::new(&job, &group, 0, Seed(1), "a thread");
        worker.perform(&mut Recorder::new(&RUN), false).unwrap();
        assert_eq!(worker.transactions, 16);
        let found = fs::read(&path).unwrap();
        assert_eq!(found.len(), 65_536);
        let untouched = found.chunks(4096).filter(|page| page.iter().all(|byte| *byte == 0));
        // Of 16 random places some are the same, but for one case in 900,000.
        assert_eq!(untouched.count() > 0, random);
    }
}

#[test]
fn what_is_to_be_synced_and_cannot_be_is_a_failure() {
    let (_home, target) = home();
    let files = Files::draw(Seed(1), 1, 1, 1, 1);
    let job = job(target.as_fd(), &files);
    // A socket takes no fsync.
    let (socket, _other) = UnixStream::pair().unwrap();
    let socket = OwnedFd::from(socket);
    let sync = |fsync: bool| {
        let group = Group { fsync, ..group(Kind::Write, 4096) };
        let worker = Worker::new(&job, &group, 0, Seed(1), "a thread");
        worker.sync(&socket).map_err(|error| error.op)
    };
    assert_eq!(sync(false), Ok(()));
    assert_eq!(sync(true), Err("fsync"));
}
