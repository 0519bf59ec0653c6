//! What threads count, and the figures made of it.

use std::collections::BTreeMap;

use super::*;
use crate::Cache;
use crate::workloads::randomio::tests::terms;

fn sums(latencies_ms: &[u64]) -> Sums {
    let mut sums = Sums::default();
    for ms in latencies_ms {
        sums.add(Nanos::from_millis(*ms));
    }
    sums
}

/// What is reported of these threads after a phase of two and a half seconds.
fn reported(tallies: &[Tally]) -> PhaseResult {
    let cache = Cache::Warm { why: String::new() };
    let mut result = PhaseResult::empty("randomio", "random", cache);
    result.wall = Nanos::from_millis(2_500);
    figures(tallies, terms(1 << 20, 0), &mut result);
    result
}

#[test]
fn latencies_and_their_squares_are_added_up() {
    let parts = |sums: Sums| (sums.count, sums.sum_ms, sums.squares_ms, sums.min_ms, sums.max_ms);
    // 2 * 2 + 3 * 3 = 13, and 13 + 4 * 4 = 29.
    assert_eq!(parts(sums(&[2, 3])), (2, 5.0, 13.0, 2.0, 3.0));
    assert_eq!(parts(sums(&[2, 3]).plus(sums(&[4]))), (3, 9.0, 29.0, 2.0, 4.0));
}

#[test]
fn the_deviation_is_that_of_a_sample() {
    assert_eq!(sums(&[]).deviation(), None);
    assert_eq!(sums(&[7]).deviation(), None, "a single one deviates from nothing");
    // Each of the two is 2 from their mean of 4: (4 + 4) / 1 = 8.
    assert_eq!(sums(&[2, 6]).deviation(), Some(8f64.sqrt()));
    // From their mean of 5 they are 4, 0 and 4: (16 + 0 + 16) / 2 = 16.
    assert_eq!(sums(&[1, 5, 9]).deviation(), Some(4.0));
}

#[test]
fn figures_are_those_of_all_threads_together() {
    let one = Tally { read: sums(&[1, 5]), write: sums(&[2]), seconds: vec![3, 1, 9, 0] };
    let other = Tally { read: sums(&[9]), write: sums(&[4, 6]), seconds: vec![2, 3] };
    let mut result = reported(&[one, other]);
    // Six I/Os in 2.5 s with 0.75 * 5 ms + 0.25 * 4 ms = 4.75 ms each: 2.4 * 0.00475 s = 0.0114
    // of them at once, by two threads.
    let consistency = result.figures.remove("consistency").unwrap();
    assert!((consistency - 0.0057).abs() < 1e-12, "{consistency}");
    let expected = [
        ("iops", 2.4),
        // Three of each kind in 2.5 s.
        ("read_iops", 1.2),
        ("read_min_ms", 1.0),
        ("read_avg_ms", 5.0),
        ("read_max_ms", 9.0),
        ("read_sdev_ms", 4.0),
        ("write_iops", 1.2),
        ("write_min_ms", 2.0),
        ("write_avg_ms", 4.0),
        ("write_max_ms", 6.0),
        // From their mean of 4 they are 2, 0 and 2: (4 + 0 + 4) / 2 = 4.
        ("write_sdev_ms", 2.0),
        // 3 + 2 and 1 + 3; the third second is not complete.
        ("iops_least_second", 4.0),
        ("iops_most_second", 5.0),
    ];
    let expected = BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(result.figures, expected);
    assert_eq!(result.notes, ["I/Os in each second: 5 4"]);
}

#[test]
fn what_was_not_done_has_no_figures() {
    let none = reported(&[Tally::default()]);
    assert_eq!(none.figures, BTreeMap::from([("iops".to_owned(), 0.0)]));
    assert_eq!(none.notes, [""; 0]);
    let reads = reported(&[Tally { read: sums(&[2, 4]), ..Tally::default() }]);
    assert!(reads.figures.contains_key("read_iops"), "{:?}", reads.figures);
    assert!(reads.figures.keys().all(|name| !name.starts_with("write")), "{:?}", reads.figures);
}

#[test]
fn there_is_room_for_each_second_of_the_time_and_for_the_end_of_the_last_io() {
    let room = |time: Option<Nanos>| Tally::new(time).seconds.len();
    assert_eq!(room(None), 0);
    assert_eq!(room(Some(Nanos::from_millis(50))), 2);
    assert_eq!(room(Some(Nanos::from_secs(3))), 5);
    assert_eq!(room(Some(Nanos::from_millis(3_999))), 5);
}
