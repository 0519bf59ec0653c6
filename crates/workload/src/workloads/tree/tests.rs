//! The room of the workload `tree`, its digests, and what it says of what is missing.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::Cache;

/// Parameters of these settings, all others by default.
fn parameters(settings: &str) -> Parameters {
    let pairs = settings.split_whitespace().map(|setting| setting.split_once('=').unwrap());
    let given: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Parameters::resolve(&DESCRIPTION, &given, 1.0).unwrap()
}

#[test]
fn the_room_is_for_the_trees_and_archives_that_are_asked_for() {
    let given = InputFacts {
        source_tree: Some(TreeFacts { entries: 7, files: 5, bytes: 1_000_000 }),
        ..InputFacts::default()
    };
    let room = |settings: &str| Tree.space(&parameters(settings), &given);
    // A tree has half a block of 4096 bytes more for each file, 10,240 bytes, and a block for each
    // entry, 28,672: 1,038,912. An archive has 768 more for each entry, 5376: 1,005,376. There are
    // two of each; entries are those of two trees, two archives and the directory above.
    assert_eq!(room(""), Space { bytes: Bytes(4_088_576), inodes: 19 });
    // One of each: 7 entries, an archive and the directory.
    let one = Space { bytes: Bytes(2_044_288), inodes: 10 };
    assert_eq!(room("phases=copy+tar+find"), one);
    assert_eq!(room("phases=copy-archive+untar"), one);
    assert_eq!(room("phases=find"), Space { bytes: Bytes(0), inodes: 1 });
}

#[test]
fn the_room_of_a_synthetic_tree_does_not_depend_on_the_given_one() {
    // 400 files of 2 MiB in 25 directories. A tree: 2,097,152 bytes, 819,200 for half blocks and
    // 1,740,800 for blocks, together 4,657,152. An archive: 326,400 more than 2 MiB, 2,423,552.
    // Two of each, and two trees of 425 entries, two archives and the directory above.
    let expected = Space { bytes: Bytes(14_161_408), inodes: 855 };
    let given = InputFacts {
        source_tree: Some(TreeFacts { entries: 7, files: 5, bytes: 1_000_000 }),
        ..InputFacts::default()
    };
    let synthetic = parameters("source=synthetic files=400 bytes=2M");
    assert_eq!(Tree.space(&synthetic, &given), expected);
    let without = parameters("files=400 bytes=2M");
    assert_eq!(Tree.space(&without, &InputFacts::default()), expected);
}

#[test]
fn a_synthetic_tree_has_a_directory_for_each_16_files() {
    let facts = statistics(&parameters("files=400 bytes=2M"));
    assert_eq!(facts, TreeFacts { entries: 425, files: 400, bytes: 2_097_152 });
}

#[test]
fn digests_are_those_that_the_authors_of_fnv_1a_published() {
    assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn a_phase_without_what_it_needs_says_which_part_leaves_it() {
    let home = tempfile::tempdir().unwrap();
    let target = open_target(home.path()).unwrap();
    let needed = || needs(target.as_fd(), &COPY, UNTARRED, "untar");
    let failure = needed().unwrap_err();
    assert!(matches!(failure, Failure::Input(_)), "{failure:?}");
    let message = failure.to_string();
    assert!(message.starts_with("copy needs tree/untarred, which untar leaves: "), "{message}");
    fs::create_dir_all(home.path().join(UNTARRED)).unwrap();
    assert!(needed().is_ok());
}

#[test]
fn only_links_that_were_left_out_make_a_phase_not_comparable() {
    let noted = |left_out| {
        let cache = Cache::Warm { why: "a test".to_owned() };
        let mut result = PhaseResult::empty("tree", "untar", cache);
        note_left_out(left_out, &mut result);
        result.not_comparable
    };
    assert_eq!(noted(0), None);
    let why = "this filesystem has no such links: 2 were left out".to_owned();
    assert_eq!(noted(2), Some(NotComparable::Other { why }));
}
