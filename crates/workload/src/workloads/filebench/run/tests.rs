//! The room, the rounds, the figures and the verification of a personality, without a whole run.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::workloads::filebench::personalities::VARMAIL;
use crate::workloads::filebench::set::Place;
use crate::{Cache, Seed, Workload};

#[test]
fn the_room_is_that_of_files_at_twice_their_size_and_of_their_directories() {
    let given = [
        ("files", "100"),
        ("directory_width", "10"),
        ("mean_size", "1000"),
        ("append_size", "500"),
    ];
    let given = BTreeMap::from(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let parameters = Parameters::resolve(VARMAIL.describe(), &given, 1.0).unwrap();
    // A file takes 1000 + 500 + 4096 = 5596 bytes, and 11,192 when it has grown. 100 files in
    // directories of ten: ten directories, as many above them at most, and two; 22 times 4096.
    let expected = Space { bytes: Bytes(1_119_200 + 90_112), inodes: 122 };
    assert_eq!(space(&parameters), expected);
}

#[test]
fn rounds_begin_until_there_were_enough_or_the_time_is_over() {
    let time = Nanos(5);
    let timed = [4, 5, 6].map(|spent| goes_on(0, 9, Nanos(spent), time));
    assert_eq!(timed, [true, false, false]);
    // However long it takes.
    let counted = [2, 3, 4].map(|done| goes_on(3, done, Nanos(9), time));
    assert_eq!(counted, [true, false, false]);
}

/// What two threads' counts of lists and of left out ops make of a phase of two and a half seconds.
fn noted(left_out: u64) -> PhaseResult {
    let cache = Cache::Warm { why: "not asked for".to_owned() };
    let mut result = PhaseResult::empty("varmail", "run", cache);
    result.wall = Nanos(2_500_000_000);
    result.ops = 35;
    (result.read_bytes, result.write_bytes) = (Bytes(5_242_880), Bytes(20_971_520));
    figures(&[(4, left_out, 70), (6, 0, 30)], &mut result);
    result
}

#[test]
fn figures_are_sums_over_threads_and_rates_of_a_second() {
    // 10 lists, 35 ops, 5 MiB read and 20 MiB written, each divided by 2.5.
    let expected = [
        ("lists", 10.0),
        ("lists_per_sec", 4.0),
        ("ops_per_sec", 14.0),
        ("read_mib_per_s", 2.0),
        ("write_mib_per_s", 8.0),
    ];
    let expected = BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(noted(0).figures, expected);
}

#[test]
fn left_out_ops_are_noted_where_there_are_any() {
    assert!(noted(0).notes.is_empty());
    assert_eq!(noted(3).notes, ["3 ops were left out: no file of the set was free"]);
}

#[test]
fn a_file_or_log_of_another_size_than_the_ops_left_it_with_is_found() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join("r");
    fs::create_dir(&place).unwrap();
    let target = open_target(home.path()).unwrap();
    let set = Set::draw(Seed(1), 2, 100, 1.0, 10, "r");
    set.give_back(0, Place { exists: true, busy: false, planned: 9, size: 5 });
    set.give_back(1, Place { exists: false, busy: false, planned: 9, size: 0 });
    let mut log = PathBuffer::new();
    log.text("r/log");
    fs::write(place.join("00000000"), [0u8; 5]).unwrap();
    fs::write(place.join("log"), [0u8; 7]).unwrap();
    let said = || verify(target.as_fd(), &set, &log, 7).map_err(|failure| failure.to_string());
    assert_eq!(said(), Ok(()));

    // What is looked at earlier is told first, so that nothing need be put right in between.
    fs::write(place.join("log"), [0u8; 8]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: r/log: Some(8) bytes, not Some(7)");
    fs::write(place.join("00000001"), [0u8; 1]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: r/00000001: Some(1) bytes, not None");
    fs::write(place.join("00000000"), [0u8; 4]).unwrap();
    assert_eq!(said().unwrap_err(), "verification: r/00000000: Some(4) bytes, not Some(5)");
    fs::remove_file(place.join("00000000")).unwrap();
    assert_eq!(said().unwrap_err(), "verification: r/00000000: None bytes, not Some(5)");
}
