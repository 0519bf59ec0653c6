//! Filling and churning, by pieces.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use tempfile::TempDir;

use super::*;
use crate::{Cache, Seed};

#[test]
fn sizes_follow_the_law() {
    for (profile, median, mean) in [
        (Profile::Agrawal, 13_095, 268_000),
        (Profile::Meyer, 4000, 318_000),
        (Profile::Mail, 2700, 7194),
    ] {
        let law = law(profile);
        assert!((law.mean() / f64::from(mean) - 1.0).abs() < 0.01, "{profile:?} {}", law.mean());
        let mut draw = Seed(1).stream("x");
        let mut sizes: Vec<u64> = (0..20_001).map(|_| law.draw(&mut draw, 1 << 40)).collect();
        sizes.sort_unstable();
        let found = sizes[10_000] as f64 / f64::from(median);
        assert!((0.94..1.06).contains(&found), "{profile:?}: {found}");
    }
    let mut draw = Seed(1).stream("x");
    assert!((0..1000).all(|_| law(Profile::Meyer).draw(&mut draw, 5000) <= 5000));
}

pub(super) fn parameters(given: &[(&str, &str)]) -> Parameters {
    let given: BTreeMap<String, String> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

/// A target with the directory that everything is below.
pub(super) fn target() -> (TempDir, OwnedFd) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(DIRECTORY)).unwrap();
    let opened = open_target(home.path()).unwrap();
    (home, opened)
}

/// Draws only files that are as large as they may become.
pub(super) fn aging(target: BorrowedFd<'_>, largest: u64) -> Aging<'_> {
    Aging {
        target,
        files: Vec::new(),
        next: 0,
        held: 0,
        written: 0,
        in_vain: 0,
        law: Law { mu: 50.0, sigma: 0.0 },
        largest,
        draw: Seed(1).stream("age"),
        contents: Contents::new(Seed(1), DIRECTORY, BLOCK, Filling::of(&parameters(&[]))),
        path: PathBuffer::new(),
        fixed: true,
    }
}

#[test]
fn the_room_is_the_share_of_the_capacity_and_its_files_of_mean_size() {
    let given = parameters(&[("capacity", "1M"), ("fullness", "0.5"), ("profile", "mail")]);
    // Files of 7193 bytes: 72 of them, 7 directories, and the one above.
    let expected = Space { bytes: Bytes(512 << 10), inodes: 80 };
    assert_eq!(Age.space(&given, &InputFacts::default()), expected);
}

#[test]
fn filling_ends_at_its_goal_with_a_file_of_what_is_left() {
    let (_home, target) = target();
    let mut aging = aging(target.as_fd(), 12_288);
    aging.fill(32_768, &mut Recorder::new(&FILL)).unwrap();
    assert_eq!(aging.files, [(0, 12_288), (1, 12_288), (2, 8192)]);
    assert_eq!(aging.held, 32_768);
}

#[test]
fn a_churn_writes_as_much_as_it_should_and_no_more() {
    let (_home, target) = target();
    let mut aging = aging(target.as_fd(), 4096);
    aging.fill(4 * 4096, &mut Recorder::new(&FILL)).unwrap();
    let mut recorder = Recorder::new(&CHURN);
    aging.in_vain = 5;
    aging.churn(4 * 4096, 0, &mut recorder).unwrap();
    assert_eq!((recorder.ops_done(), aging.files.len()), (0, 4));
    assert_eq!(aging.in_vain, 0, "what did not fit while filling is told by that phase");
    // Two files of 4096 bytes take the places of two others.
    aging.churn(4 * 4096, 8192, &mut recorder).unwrap();
    assert_eq!((recorder.ops_done(), aging.files.len()), (4, 4));
    assert_eq!((aging.next, aging.held, aging.written), (6, 4 * 4096, 8192));
}

#[test]
fn nothing_is_deleted_for_a_file_that_just_fits() {
    let (_home, target) = target();
    let mut aging = aging(target.as_fd(), 4096);
    aging.fill(3 * 4096, &mut Recorder::new(&FILL)).unwrap();
    let mut recorder = Recorder::new(&CHURN);
    aging.churn(4 * 4096, 4096, &mut recorder).unwrap();
    assert_eq!((recorder.ops_done(), aging.files.len(), aging.held), (1, 4, 4 * 4096));
}

/// Creates a file whose directory is missing, after so many in vain; whether that is no failure,
/// and how many were in vain then.
fn create_without_directory(in_vain: u64) -> (bool, u64) {
    let (_home, target) = target();
    let mut aging = aging(target.as_fd(), 4096);
    // The second of its directory, which is made for the first.
    (aging.next, aging.in_vain) = (1, in_vain);
    let made = aging.create(100, &mut Recorder::new(&FILL));
    assert!(aging.files.is_empty() && aging.held == 0 && aging.written == 0);
    (made.is_ok(), aging.in_vain)
}

#[test]
fn files_of_a_directory_that_did_not_fit_are_left_out_up_to_a_limit() {
    assert_eq!(create_without_directory(1), (true, 2));
    assert_eq!(create_without_directory(99), (true, 100));
    assert_eq!(create_without_directory(100), (false, 100));
}

#[test]
fn a_missing_directory_is_a_failure_where_everything_did_fit() {
    assert_eq!(create_without_directory(0), (false, 0));
}

#[test]
fn a_file_that_is_there_already_is_a_failure_and_stays() {
    let (home, target) = target();
    let there = home.path().join("age/0000/00/f0000001");
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    std::fs::write(&there, "here before").unwrap();
    let mut aging = aging(target.as_fd(), 4096);
    (aging.next, aging.in_vain) = (1, 1);
    let failed = aging.create(100, &mut Recorder::new(&FILL)).unwrap_err();
    assert_eq!(failed.op, "create");
    assert_eq!(aging.in_vain, 1);
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "here before");
}

#[test]
fn no_page_of_any_file_is_equal_to_another() {
    let (home, target) = target();
    let mut aging = aging(target.as_fd(), u64::MAX);
    // What each page of a file begins with: more than a block, so two writes.
    let mut marks = |name: &str| -> Vec<u64> {
        aging.create((1 << 20) + 8192, &mut Recorder::new(&FILL)).unwrap();
        let bytes = std::fs::read(home.path().join("age/0000/00").join(name)).unwrap();
        bytes.chunks(4096).map(|page| u64::from_le_bytes(page[..8].try_into().unwrap())).collect()
    };
    let (first, second) = (marks("f0000000"), marks("f0000001"));
    assert_eq!((first.len(), second.len()), (258, 258));
    for (page, mark) in first.iter().enumerate() {
        assert_eq!(mark.wrapping_sub(first[0]), page as u64 * 4096, "page {page}");
    }
    // 64 GiB from one file to the next.
    assert_eq!(second[0].wrapping_sub(first[0]), 68_719_476_736);
}

#[test]
fn what_did_not_fit_is_told_and_otherwise_nothing() {
    let (_home, target) = target();
    let mut aging = aging(target.as_fd(), 4096);
    aging.fill(4096, &mut Recorder::new(&FILL)).unwrap();
    let mut told = |in_vain| {
        aging.in_vain = in_vain;
        let mut result = PhaseResult::empty("age", "fill", Cache::Warm { why: String::new() });
        note_state(&aging, &mut result);
        assert_eq!(result.figures["files"], 1.0);
        assert!((0.0..=1.0).contains(&result.figures["fullness"]), "{result:?}");
        result.notes
    };
    assert!(told(0).is_empty());
    assert_eq!(told(3), ["3 files did not fit and were left out"]);
}
