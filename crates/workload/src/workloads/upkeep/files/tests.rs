//! The files of `upkeep`: written, replaced, copied and verified, one call at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::Parameters;
use crate::engine::file_io::open_target;
use crate::workloads::upkeep::phases::{CREATE, DESCRIPTION, FILL};

/// A directory in memory where there is one: a sync of a disk that others use takes too long.
pub(in crate::workloads::upkeep) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(in crate::workloads::upkeep) fn parameters(settings: &str) -> Parameters {
    let given: BTreeMap<String, String> = settings
        .split_whitespace()
        .map(|setting| setting.split_once('=').expect("NAME=VALUE"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

/// This many files below `home`, at most 100, without the loop of `fill`: it might not end where
/// its arithmetic is wrong.
pub(in crate::workloads::upkeep) fn holding(home: &Path, mean: u64, count: u64) -> Files {
    fs::create_dir_all(home.join("upkeep/00000")).unwrap();
    let target = open_target(home).unwrap();
    let mut files = Files::new(Seed(1), mean, Filling::of(&parameters("")));
    for number in 0..count {
        let file = Held { number, size: files.size(), version: 0 };
        files.path_of(number);
        let path = files.path.clone();
        files.write(target.as_fd(), &path, file).unwrap();
        files.files.push(file);
    }
    files
}

/// Where the first files are.
fn file(home: &TempDir, number: u64) -> PathBuf {
    home.path().join(format!("upkeep/00000/f000000{number}"))
}

#[test]
fn a_hundred_files_share_a_directory_and_names_are_padded() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 0);
    // The files 200 to 299 are in the third directory.
    files.directory_of(250);
    assert_eq!(files.path.to_string(), "upkeep/00002");
    files.path_of(250);
    assert_eq!(files.path.to_string(), "upkeep/00002/f0000250");
    files.copy_of(12);
    assert_eq!(files.path.to_string(), "upkeep/copy-00012");
}

#[test]
fn directories_are_made_above_files_and_below() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = Files::new(Seed(1), 1, Filling::of(&parameters("")));
    files.make_directory(target.as_fd(), None).unwrap();
    files.make_directory(target.as_fd(), Some(250)).unwrap();
    assert!(home.path().join("upkeep/00002").is_dir());
    let again = files.make_directory(target.as_fd(), Some(250)).unwrap_err();
    assert_eq!(again.op, "mkdir");
}

#[test]
fn every_version_of_a_file_has_a_place_of_its_own() {
    // 3 times 1 TiB, 2 times 4 GiB, and two pages: 3298534883328 + 8589934592 + 8192.
    let third = Held { number: 3, size: 1, version: 2 };
    assert_eq!(place(third, 8192), 3_307_124_826_112);
}

#[test]
fn sizes_are_from_one_byte_to_twice_the_mean() {
    let home = scratch();
    let mut files = holding(home.path(), 3, 0);
    let sizes: BTreeSet<u64> = (0..200).map(|_| files.size()).collect();
    assert_eq!(sizes, BTreeSet::from([1, 2, 3, 4, 5, 6]));
}

#[test]
fn a_file_of_several_writes_has_its_length_and_no_page_twice() {
    assert_eq!(BLOCK, 1_048_576);
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 1, 0);
    // A block of 1 MiB and two pages: 258 pages.
    let large = Held { number: 3, size: 1_056_768, version: 0 };
    let mut path = PathBuffer::new();
    path.text("upkeep/00000/f0000003");
    files.write(target.as_fd(), &path, large).unwrap();
    let bytes = fs::read(file(&home, 3)).unwrap();
    assert_eq!(bytes.len(), 1_056_768);
    // Each page begins with its place.
    let marks: Vec<u64> =
        bytes.chunks(4096).map(|page| u64::from_le_bytes(page[..8].try_into().unwrap())).collect();
    assert_eq!(marks.len(), 258);
    for (page, mark) in (0_u64..).zip(&marks) {
        assert_eq!(mark.wrapping_sub(marks[0]), page * 4096, "page {page}");
    }
    files.files.push(large);
    assert!(files.whole(large) == bytes);
    assert!(files.is_whole(target.as_fd(), 0));
}

#[test]
fn nothing_but_the_directory_is_made_where_nothing_is_to_be_filled() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = Files::new(Seed(1), 1, Filling::of(&parameters("")));
    files.fill(target.as_fd(), 0, &mut Recorder::new(&FILL), CREATE).unwrap();
    assert_eq!(files.count(), 0);
    assert_eq!(fs::read_dir(home.path().join("upkeep")).unwrap().count(), 0);
}

#[test]
fn filling_ends_when_the_blocks_of_the_files_come_to_the_goal() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    // Of at most 4096 bytes: a page each.
    let mut files = holding(home.path(), 2048, 1);
    // A fill that would not end ends here, since there is never room in it.
    symlink("/dev/full", file(&home, 4)).unwrap();
    let mut recorder = Recorder::new(&FILL);
    files.fill_below(target.as_fd(), 3 * 4096, &mut recorder, CREATE).unwrap();
    assert_eq!((files.count(), files.no_room), (4, 0));
    assert_eq!(recorder.ops_done(), 3);
    let written: u64 = (1..4).map(|number| fs::metadata(file(&home, number)).unwrap().len()).sum();
    assert_eq!(recorder.write_bytes, written);
    assert!(file(&home, 4).is_symlink(), "it was not touched");
    assert_eq!(files.damaged(target.as_fd()), 0);
}

#[test]
fn a_file_that_does_not_fit_is_removed_and_ends_the_filling() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 1);
    symlink("/dev/full", file(&home, 1)).unwrap();
    files.no_room = 5;
    let mut recorder = Recorder::new(&FILL);
    files.fill_below(target.as_fd(), 3 * 4096, &mut recorder, CREATE).unwrap();
    assert_eq!((files.count(), files.no_room, recorder.ops_done()), (1, 6, 0));
    assert!(!file(&home, 1).is_symlink());
}

#[test]
fn filling_fails_for_any_reason_but_a_lack_of_room() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    // The directory of the first hundred files is there already.
    let mut files = holding(home.path(), 2048, 0);
    let mut recorder = Recorder::new(&FILL);
    let failed = files.fill_below(target.as_fd(), 4096, &mut recorder, CREATE).unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("mkdir", Path::new("upkeep/00000")));

    // That of the second file is missing.
    let mut files = holding(home.path(), 2048, 1);
    fs::remove_dir_all(home.path().join("upkeep/00000")).unwrap();
    let failed = files.fill_below(target.as_fd(), 4096, &mut recorder, CREATE).unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("create", Path::new("upkeep/00000/f0000001")));
    assert_eq!((files.count(), files.no_room, recorder.ops_done()), (1, 0, 0));
}

#[test]
fn files_are_replaced_by_new_ones_of_other_sizes_and_contents() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    // Two files of one or two bytes, replaced by six that are mostly much larger.
    let mut files = holding(home.path(), 1, 2);
    files.mean = 2048;
    let mut sizes = Vec::new();
    let places = files.change(target.as_fd(), 6, |size| sizes.push(size)).unwrap();
    assert_eq!((places.len(), sizes.len(), files.no_room), (6, 6, 0));
    assert!(places.iter().all(|place| *place < 2), "{places:?}");
    assert!(sizes.iter().sum::<u64>() > 6 * 2, "{sizes:?} are sizes of the old ones");
    assert_eq!(files.files[places[5]].size, sizes[5]);
    assert_eq!(files.files.iter().map(|held| held.version).sum::<u64>(), 6);
    for held in &files.files {
        assert_eq!(fs::metadata(file(&home, held.number)).unwrap().len(), held.size);
    }
    assert_eq!(files.damaged(target.as_fd()), 0);
    assert!(!home.path().join("upkeep/new").exists());
}

#[test]
fn a_new_version_that_does_not_fit_is_left_out_and_the_old_one_stays() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 2);
    files.no_room = 5;
    // The first new version does not fit, and goes with its link; the next two do.
    symlink("/dev/full", home.path().join("upkeep/new")).unwrap();
    let places = files.change(target.as_fd(), 3, |_| ()).unwrap();
    assert_eq!((places.len(), files.no_room), (2, 6));
    assert_eq!(files.files.iter().map(|held| held.version).sum::<u64>(), 2);
    assert_eq!(files.damaged(target.as_fd()), 0);
}

#[test]
fn replacing_fails_for_any_reason_but_a_lack_of_room() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 2);
    fs::create_dir(home.path().join("upkeep/new")).unwrap();
    let failed = files.change(target.as_fd(), 3, |_| ()).unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("create", Path::new("upkeep/new")));
    assert_eq!(files.no_room, 0);
}

#[test]
fn nothing_is_replaced_where_there_is_no_file() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 0);
    let places = files.change(target.as_fd(), 3, |_| ()).unwrap();
    assert!(places.is_empty());
}

#[test]
fn a_file_that_is_synced_must_be_there() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 2);
    fs::remove_file(file(&home, 1)).unwrap();
    files.fsync(target.as_fd(), 0).unwrap();
    let failed = files.fsync(target.as_fd(), 1).unwrap_err();
    assert_eq!((failed.op, failed.path.as_path()), ("open", Path::new("upkeep/00000/f0000001")));
}

#[test]
fn missing_and_altered_files_are_damaged_and_others_are_whole() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 2048, 3);
    assert_eq!(files.damaged(target.as_fd()), 0);
    fs::remove_file(file(&home, 1)).unwrap();
    let mut longer = fs::read(file(&home, 2)).unwrap();
    longer.push(0);
    fs::write(file(&home, 2), longer).unwrap();
    let whole = [0, 1, 2].map(|place| files.is_whole(target.as_fd(), place));
    assert_eq!(whole, [true, false, false]);
    assert_eq!(files.damaged(target.as_fd()), 2);
}

#[test]
fn forgotten_files_are_those_at_the_places_each_once() {
    let home = scratch();
    let mut files = holding(home.path(), 1, 4);
    files.forget(vec![2, 0, 2]);
    let left: BTreeSet<u64> = files.files.iter().map(|held| held.number).collect();
    assert_eq!((files.count(), left), (2, BTreeSet::from([1, 3])));
}

#[test]
fn copies_are_of_the_first_files_in_turn_and_new() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 1, 2);
    // Blocks are never shared with a file of another filesystem; the second file is missing.
    fs::remove_file(file(&home, 0)).unwrap();
    symlink("/proc/version", file(&home, 0)).unwrap();
    fs::remove_file(file(&home, 1)).unwrap();
    let mut clone = |nth| {
        let failed = files.clone_file(target.as_fd(), nth).unwrap_err();
        (failed.op, failed.path.display().to_string())
    };
    assert_eq!(clone(0), ("clone", "upkeep/copy-00000".to_owned()));
    assert_eq!(clone(1), ("open", "upkeep/00000/f0000001".to_owned()));
    // After the second file comes the first again.
    assert_eq!(clone(2), ("clone", "upkeep/copy-00002".to_owned()));
    assert_eq!(clone(2), ("create", "upkeep/copy-00002".to_owned()), "it is there already");
}

#[test]
fn a_copy_is_removed_and_one_that_is_missing_is_no_error() {
    let home = scratch();
    let target = open_target(home.path()).unwrap();
    let mut files = holding(home.path(), 1, 0);
    let copy = home.path().join("upkeep/copy-00007");
    fs::write(&copy, "").unwrap();
    files.remove_clone(target.as_fd(), 7).unwrap();
    assert!(!copy.exists());
    files.remove_clone(target.as_fd(), 7).unwrap();
    fs::create_dir(&copy).unwrap();
    assert_eq!(files.remove_clone(target.as_fd(), 7).unwrap_err().op, "unlink");
}
