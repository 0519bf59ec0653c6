//! A small SSD, each command by itself.

use super::*;
use crate::models::flash::parameters::tests_support::small;
use crate::{Asked, Replay};

#[test]
fn commands_that_are_done_at_once_complete_in_order_of_arrival() {
    let parameters = SsdParameters { command_interval: Nanos::ZERO, ..small(4096) };
    let mut ssd = Ssd::new(&parameters, &Options::default());
    for id in [9, 4, 7].map(RequestId) {
        let (operation, lba) = (Operation::Discard, Lba(0));
        ssd.submit(Nanos::ZERO, Request { id, operation, lba, sectors: 8, fua: false });
    }
    let mut completed = Vec::new();
    ssd.advance(Nanos::from_millis(1), &mut completed);
    let done = |id| Completion { id: RequestId(id), at: Nanos::from_micros(10) };
    assert_eq!(completed, [9, 4, 7].map(done));
}

/// One die with 13 blocks of two pages of four units, for 64 units. The 24th page needs a free
/// block: the first block is emptied, which has one valid unit left in each of its two pages. Both
/// fit on one page.
#[test]
fn collecting_garbage_is_counted_as_work_of_the_medium() {
    let parameters = SsdParameters { channels: 1, pages_per_block: 2, ..small(512) };
    let mut ssd = Ssd::new(&parameters, &Options::default());
    let write = |unit: u64, units: u64| Asked::write(unit * UNIT_SECTORS, units * UNIT_SECTORS);
    let mut asked: Vec<Asked> = (0..16).map(|page| write(page * 4, 4)).collect();
    // All of the first block but units 0 and 4; two of the second; four each of five more.
    asked.extend([write(1, 3), write(5, 1), write(6, 4)]);
    asked.extend([16, 24, 32, 40, 48].map(|unit| write(unit, 4)));
    let mut serve = |asked: Vec<Asked>| {
        let requests = asked.into_iter().map(|asked| (Nanos::ZERO, asked));
        Replay::new(&mut ssd).closed(1, requests, |_| {}).unwrap();
        ssd.activity()
    };
    let before = Activity {
        host_written_sectors: 23 * 32,
        media_operations: 23,
        media_written_sectors: 23 * 32,
        ..Activity::default()
    };
    assert_eq!(serve(asked), before);
    let after = Activity {
        host_written_sectors: 24 * 32,
        media_operations: 24 + 2 + 1,
        media_read_sectors: 2 * 32,
        media_written_sectors: (24 + 1) * 32,
        erases: 1,
        ..Activity::default()
    };
    assert_eq!(serve(vec![write(56, 4)]), after);
}

/// Both are in the buffer from 13 µs and 16 µs on. The page that they do not fill waits for 10 ms;
/// then it takes 16 µs on its channel and 400 µs to be programmed.
#[test]
fn what_leaves_the_buffer_is_told_with_its_place_when_it_is_on_the_flash() {
    let parameters = SsdParameters { channel_mb_per_s: 1024.0, ..small(4096) };
    let options = Options { record_destaging: true, ..Options::default() };
    let mut ssd = Ssd::new(&parameters, &options);
    for lba in [40, 72] {
        let (id, operation) = (RequestId(lba), Operation::Write);
        ssd.submit(Nanos::ZERO, Request { id, operation, lba: Lba(lba), sectors: 8, fua: false });
    }
    let mut told_at = |now| {
        let mut destaged = Vec::new();
        ssd.advance(now, &mut Vec::new());
        ssd.take_destaged(&mut destaged);
        destaged
    };
    let (started, finished) = (Nanos::from_micros(10_013), Nanos::from_micros(10_429));
    assert!(told_at(finished - Nanos(1)).is_empty());
    let moved = |lba| Destaged { lba: Lba(lba), sectors: 8, started, finished };
    assert_eq!(told_at(finished), [40, 72].map(moved));
}
