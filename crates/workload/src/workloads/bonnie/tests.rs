//! Bonnie's numbers: room, figures, ops, and which file is small for the memory.

use std::collections::BTreeMap;

use measure::CpuTime;
use units::Nanos;

use super::*;
use crate::Cache;

#[test]
fn the_room_is_for_the_large_file_or_for_the_small_ones() {
    let room = |size: &str| {
        let given = [("size", size), ("files", "3"), ("max_size", "5000"), ("directories", "7")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let parameters = Parameters::resolve(&DESCRIPTION, &BTreeMap::from(given), 1.0).unwrap();
        Bonnie.space(&parameters, &InputFacts::default())
    };
    // 3072 files of two blocks of 4096 bytes are 25,165,824 bytes, and 7 directories of a block
    // 28,672. Two more entries are the large file and the directory above the seven.
    assert_eq!(room("1M"), Space { bytes: Bytes(25_194_496), inodes: 3081 });
    // The small files come when the large one is gone.
    assert_eq!(room("100M"), Space { bytes: Bytes(104_857_600), inodes: 3081 });
}

#[test]
fn figures_are_of_seconds_and_cpu_is_a_share_of_the_time() {
    let cache = Cache::Warm { why: "a test".to_owned() };
    let mut result = PhaseResult::empty("bonnie", "rewrite", cache);
    result.wall = Nanos::from_secs(2);
    result.cpu = CpuTime { user: Nanos::from_millis(500), sys: Nanos::from_millis(250) };
    figures(&mut result, "k_per_sec", 1000.0);
    // 1000 in 2 s, and 0.75 s of these.
    let expected = [("cpu_percent", 37.5), ("k_per_sec", 500.0)];
    let found: Vec<(&str, f64)> =
        result.figures.iter().map(|(name, figure)| (name.as_str(), *figure)).collect();
    assert_eq!(found, expected);
}

#[test]
fn twice_the_memory_is_twice_what_files_can_be_cached_in() {
    let memory = measure::usable_memory().unwrap();
    assert_eq!(twice_the_memory(), Some(memory.0 * 2));
}

fn large(manner: Manner, size: u64, cold: bool) -> Large {
    Large { manner, size, chunk: 8192, fsync: false, cold }
}

#[test]
fn caches_matter_for_a_file_below_twice_the_memory_unless_they_are_emptied() {
    for (size, cold, twice, expected) in [
        (1023, false, Some(1024), true),
        (1024, false, Some(1024), false),
        (1025, false, Some(1024), false),
        (1023, true, Some(1024), false),
        (1025, true, Some(1024), false),
        (1023, false, None, false),
    ] {
        let found = caches_matter(large(Manner::V200a, size, cold), twice);
        assert_eq!(found, expected, "{size} {cold} {twice:?}");
    }
}

#[test]
fn byte_by_byte_the_older_version_has_an_op_for_each_buffer_and_the_newer_for_each_byte() {
    let ops = |manner, size| char_ops(large(manner, size, false));
    // A buffer of 4096 bytes, and 100 bytes of another.
    assert_eq!(ops(Manner::V103a, 4196), 2);
    assert_eq!(ops(Manner::V200a, 4196), 4196);
    // 4 MiB, of which the newer one takes 3.
    assert_eq!(ops(Manner::V103a, 4_194_304), 1024);
    assert_eq!(ops(Manner::V200a, 4_194_304), 3_145_728);
}
