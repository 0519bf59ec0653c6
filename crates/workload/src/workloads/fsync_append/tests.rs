//! Records, figures and verification, without a whole run.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use rustix::fd::AsFd;
use rustix::fs::CWD;
use units::Nanos;

use super::*;
use crate::Cache;

fn filling() -> Filling {
    let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::new(), 1.0).unwrap();
    Filling::compressible(&parameters)
}

/// Three records of 100 bytes to a segment.
fn job(target: BorrowedFd<'_>, records: u64, room: Room) -> Job<'_> {
    Job { target, records, record: 100, segment: 300, sync: Sync::None, room }
}

#[test]
fn a_record_is_random_and_begins_with_its_number() {
    let [first, second] = [0, 1].map(|writer| contents(Seed(1), writer, 4_000, filling()));
    assert_eq!((first.len(), second.len()), (4_000, 4_000));
    assert_ne!(first, second, "each writer has its own");
    let values: HashSet<u8> = first.iter().copied().collect();
    assert!(values.len() > 200, "{} values", values.len());

    let mut record = first.clone();
    number(&mut record, 0x0102_0304_0506_0708);
    assert_eq!(record[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(record[8..], first[8..]);
    let mut short = [0; 3];
    number(&mut short, 0x0102_0304);
    assert_eq!(short, [4, 3, 2]);
}

#[test]
fn commits_of_all_writers_are_divided_by_the_phases_time() {
    let cache = Cache::Warm { why: String::new() };
    let mut result = PhaseResult::empty("fsync-append", "append", cache);
    result.wall = Nanos::from_secs(2);
    figures(&job(CWD, 30, Room::None), 4, &mut result);
    assert_eq!(result.figures, BTreeMap::from([("commits_per_sec".to_owned(), 60.0)]));
}

#[test]
fn a_filesystem_that_reserves_no_blocks_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let target = open_target(directory.path()).unwrap();
    // Where the probe cannot be made, the reason is passed on in the same way.
    let reason = probe_fallocate(target.as_fd()).unwrap_err();
    let expected = "this filesystem does not reserve blocks (fallocate): No such file";
    assert!(reason.starts_with(expected), "{reason}");

    fs::create_dir(directory.path().join(DIRECTORY)).unwrap();
    assert_eq!(probe_fallocate(target.as_fd()), Ok(()));
    assert_eq!(fs::metadata(directory.path().join("fsync-append/probe")).unwrap().len(), 4_096);
}

#[test]
fn a_log_that_lost_or_changed_a_record_is_found() {
    for (room, end) in [(Room::None, 500), (Room::Zeros, 600)] {
        let directory = tempfile::tempdir().unwrap();
        let target = open_target(directory.path()).unwrap();
        let job = job(target.as_fd(), 5, room);
        let mut log = Vec::new();
        let mut record = contents(Seed(1), 0, 100, filling());
        for number in 0..5 {
            record[..8].copy_from_slice(&[number, 0, 0, 0, 0, 0, 0, 0]);
            log.extend_from_slice(&record);
        }
        log.resize(end, 0);
        let place = directory.path().join(DIRECTORY).join("0");
        fs::create_dir_all(&place).unwrap();
        let [first, second] = ["00000000", "00000001"].map(|name| place.join(name));
        fs::write(&first, &log[..300]).unwrap();
        fs::write(&second, &log[300..]).unwrap();
        let verdict = || verify(&job, 1, Seed(1), filling()).map_err(|error| error.to_string());
        assert_eq!(verdict(), Ok(()), "{room:?}");

        let mut changed = log[300..].to_vec();
        changed[150] ^= 1;
        for wrong in [&changed[..], &log[300..400]] {
            fs::write(&second, wrong).unwrap();
            let message = verdict().unwrap_err();
            assert!(message.contains("0/00000001 has other contents than written"), "{message}");
        }
        fs::remove_file(&first).unwrap();
        let message = verdict().unwrap_err();
        assert!(message.contains("0/00000000: No such file"), "{message}");
    }
}
