//! The states of small logs, some against a plain array with every subset tried.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::log::Write;

fn write(lba: u64, sectors: u64, fua: bool, digest: u64) -> Write {
    Write { disk: 0, lba, fua, digests: (0..sectors).map(|nth| mix(digest, nth)).collect() }
}

/// Writes that are completed, then `more` of the log.
fn log(writes: &[Write], more: &[Entry]) -> Log {
    let mut log = Log::default();
    for write in writes {
        let nth = log.submit(write.clone());
        log.entries.push(Entry::Completed(nth));
    }
    log.flushes = vec![0; 4];
    log.entries.extend(more);
    log
}

fn all(log: &Log, cache: Cache) -> Vec<Vec<(usize, Part)>> {
    explore(log, cache, 8, 10_000, 1)
        .states
        .into_iter()
        .map(|mut same| same.swap_remove(0).parts)
        .collect()
}

/// What is lost at the end of a log.
fn at_end(log: &Log, cache: Cache) -> Vec<usize> {
    moments(log, cache).pop().unwrap().pending
}

#[test]
fn only_what_was_completed_before_a_flush_was_submitted_is_durable_with_it() {
    let mut log = log(&[write(0, 1, false, 1)], &[Entry::FlushSubmitted(0)]);
    let late = log.submit(write(1, 1, false, 2));
    log.entries.push(Entry::Completed(late));
    log.entries.push(Entry::FlushCompleted(0));
    assert_eq!(at_end(&log, Cache::Volatile), [late]);
    assert_eq!(at_end(&log, Cache::Lying), [0, late]);
    assert!(at_end(&log, Cache::Protected).is_empty());
    log.entries.pop();
    assert_eq!(at_end(&log, Cache::Volatile), [0, late], "the flush is not done");
}

#[test]
fn a_flush_is_for_its_disk_alone() {
    let mut log =
        log(&[write(0, 1, false, 1)], &[Entry::FlushSubmitted(0), Entry::FlushCompleted(0)]);
    assert!(at_end(&log, Cache::Volatile).is_empty());
    log.flushes[0] = 1;
    assert_eq!(at_end(&log, Cache::Volatile), [0]);
}

#[test]
fn force_unit_access_makes_that_write_durable_and_no_other() {
    let log = log(&[write(0, 1, false, 1), write(9, 1, true, 2)], &[]);
    assert_eq!(at_end(&log, Cache::Volatile), [0]);
    assert_eq!(at_end(&log, Cache::Lying), [0, 1]);
}

#[test]
fn a_write_that_is_under_way_may_be_lost_on_every_disk() {
    let mut log = log(&[], &[]);
    log.submit(write(0, 8, false, 1));
    for cache in [Cache::Volatile, Cache::Protected, Cache::Lying] {
        assert_eq!(all(&log, cache), [vec![(0, Part::None)], vec![(0, Part::All)]]);
    }
}

#[test]
fn few_writes_are_tried_in_every_combination_and_one_disk_once() {
    let three = [write(0, 1, false, 1), write(1, 1, false, 2), write(2, 1, false, 3)];
    assert_eq!(all(&log(&three, &[]), Cache::Volatile).len(), 8);
    // The same contents to the same place: kept once or twice is one disk.
    let twice = [write(0, 1, false, 1), write(0, 1, false, 1)];
    assert_eq!(all(&log(&twice, &[]), Cache::Volatile).len(), 2);
    let over = [write(0, 1, false, 1), write(0, 1, false, 2)];
    assert_eq!(all(&log(&over, &[]), Cache::Volatile).len(), 3, "none, the first, the second");
}

#[test]
fn a_write_is_cut_at_the_disks_unit() {
    let one = log(&[write(0, 32, false, 1)], &[]);
    let found = explore(&one, Cache::Volatile, 8, 100, 1).states;
    let cut = found.iter().flatten().filter_map(|state| match state.parts.first()?.1 {
        Part::First(sectors) => Some(sectors),
        _ => None,
    });
    let cut: Vec<_> = cut.collect();
    assert!(!cut.is_empty() && cut.iter().all(|at| at % 8 == 0 && (8..32).contains(at)), "{cut:?}");
    let whole = log(&[write(0, 8, false, 1)], &[]);
    assert_eq!(all(&whole, Cache::Volatile).len(), 2, "one unit is not cut");
}

#[test]
fn one_disk_is_judged_by_each_expectation_it_may_be_found_under() {
    let log = log(&[write(0, 1, false, 1)], &[Entry::Expected]);
    let found = explore(&log, Cache::Volatile, 8, 100, 1);
    assert_eq!(found.states.len(), 2);
    for same in &found.states {
        assert_eq!(
            same.iter().map(|state| state.expected).collect::<Vec<_>>(),
            [0, 1],
            "{found:?}"
        );
    }
    assert!(found.complete);
}

#[test]
fn a_disk_that_is_as_it_was_says_what_is_lost_at_the_later_moment() {
    let log = log(&[], &[]);
    let nothing = explore(&log, Cache::Volatile, 8, 100, 1).states;
    assert_eq!(nothing.len(), 1);
    let mut log = log;
    let nth = log.submit(write(0, 1, false, 1));
    log.entries.extend([Entry::Completed(nth), Entry::Expected]);
    let mut before = Log::default();
    before.entries.push(Entry::Expected);
    before.writes.clone_from(&log.writes);
    before.entries.extend(log.entries.iter().copied());
    let found = explore(&before, Cache::Volatile, 8, 100, 1).states;
    let untouched = found.iter().find(|same| same[0].parts.is_empty()).expect("the first moment");
    let later = untouched.iter().find(|state| state.expected == 2).expect("the last moment");
    assert_eq!(later.lost(), 1, "{found:?}");
    let all = explore(&before, Cache::Volatile, 8, 100, 1);
    assert_eq!(all.states.len(), 2, "with the write and without");
}

#[test]
fn a_sample_is_no_larger_than_asked_for_and_says_that_it_is_one() {
    let many: Vec<_> = (0..40).map(|nth| write(nth * 8, 8, false, nth)).collect();
    let found = explore(&log(&many, &[]), Cache::Volatile, 8, 50, 1);
    assert_eq!((found.states.len(), found.complete), (50, false));
    assert!(found.possible >= 40f64.exp2());
    let again = explore(&log(&many, &[]), Cache::Volatile, 8, 50, 1);
    assert_eq!(found, again, "the same seed, the same sample");
}

/// What six sectors hold in a state.
fn contents(log: &Log, state: &State) -> [u64; 6] {
    let mut disk = [0u64; 6];
    for piece in pieces(log, Cache::Volatile, state) {
        let write = &log.writes[piece.write];
        disk[write.lba as usize] = write.digests[0];
    }
    disk
}

fn entries() -> impl Strategy<Value = Vec<(u8, u64, bool)>> {
    prop::collection::vec((0u8..4, 0u64..6, any::<bool>()), 0..12)
}

proptest! {
    /// A plain array with every subset tried by hand.
    #[test]
    fn the_states_are_those_of_a_plain_disk(steps in entries()) {
        let mut log = Log::default();
        let mut open = Vec::new();
        for (kind, lba, fua) in steps {
            match kind {
                0 | 1 => open.push(log.submit(write(lba, 1, fua, lba * 7 + kind as u64))),
                2 if !open.is_empty() => log.entries.push(Entry::Completed(open.remove(0))),
                _ => {
                    let flush = log.submit_flush(0);
                    log.entries.push(Entry::FlushCompleted(flush));
                }
            }
        }
        prop_assume!(log.writes.len() <= ALL_SUBSETS_OF);
        let mut expected = HashSet::new();
        for at in 0..=log.entries.len() {
            let mut follower = Follower::new(&log, Cache::Volatile);
            log.entries[..at].iter().for_each(|entry| { follower.take(*entry); });
            let pending = follower.pending();
            for mask in 0..1u32 << pending.len() {
                let mut disk = [0u64; 6];
                for (nth, write) in log.writes.iter().enumerate() {
                    let kept = pending.iter().position(|it| *it == nth).map(|bit| mask >> bit & 1 == 1);
                    if kept.unwrap_or(follower.durable[nth]) {
                        disk[write.lba as usize] = write.digests[0];
                    }
                }
                expected.insert(disk);
            }
        }
        let found = explore(&log, Cache::Volatile, 1, 100_000, 1);
        let mut disks = HashSet::new();
        for same in &found.states {
            let state = &same[0];
            for other in same {
                prop_assert_eq!(
                    contents(&log, other), contents(&log, state), "these are one disk");
            }
            prop_assert!(disks.insert(contents(&log, state)), "one disk twice");
        }
        prop_assert_eq!(disks, expected);
    }
}
