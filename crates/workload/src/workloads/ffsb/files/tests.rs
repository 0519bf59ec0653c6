//! Places for files: their sizes and names, and which are found.

use std::collections::BTreeSet;

use super::*;

/// Places with these sizes, in three directories.
fn files(sizes: &[Option<u64>]) -> Files {
    let places = sizes.iter().map(|size| RwLock::new(*size)).collect();
    Files { places, directories: 3 }
}

#[test]
fn sizes_are_from_the_smallest_to_the_largest_and_as_many_places_are_empty() {
    let files = Files::draw(Seed(1), 64, 4, 5, 3);
    let sizes: Vec<Option<u64>> = (0..files.len()).map(|place| *files.read(place)).collect();
    assert_eq!(sizes.len(), 128);
    let drawn: BTreeSet<Option<u64>> = sizes[..64].iter().copied().collect();
    assert_eq!(drawn, BTreeSet::from([Some(4), Some(5)]));
    assert!(sizes[64..].iter().all(Option::is_none), "{sizes:?}");
}

#[test]
fn a_file_is_named_after_its_place_and_directories_take_turns() {
    let (files, mut path) = (files(&[]), PathBuffer::new());
    // 7 is twice 3, and 1.
    files.path(7, &mut path);
    assert_eq!(path.to_string(), "ffsb/d0001/f0000007");
    files.path(9, &mut path);
    assert_eq!(path.to_string(), "ffsb/d0000/f0000009");
}

#[test]
fn another_size_is_one_of_a_file_that_is_there() {
    let files = files(&[None, Some(4096), None, Some(4096)]);
    assert!(!files.holds_other_than(4096));
    assert!(files.holds_other_than(8192));
}

#[test]
fn the_first_file_is_behind_empty_places() {
    assert_eq!(files(&[None, None, Some(1), Some(1)]).first(), Some(2));
    assert_eq!(files(&[None, None]).first(), None);
}

#[test]
fn a_search_begins_anywhere_in_the_first_half_and_goes_around() {
    let files = files(&[None; 8]);
    let mut draw = Seed(1).stream("search");
    let mut firsts = BTreeSet::new();
    for _ in 0..200 {
        let places: Vec<usize> = files.from(&mut draw).collect();
        assert_eq!(places.len(), 8);
        assert!(places.windows(2).all(|two| two[1] == two[0] + 1 || two == [7, 0]), "{places:?}");
        firsts.insert(places[0]);
    }
    assert_eq!(firsts, BTreeSet::from([0, 1, 2, 3]));
}
