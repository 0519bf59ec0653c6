//! In which order a drive does things and when they are done, on one whose times can be worked out
//! by hand: see `small`. Its platter's first slot begins to pass at time zero.

use super::*;
use crate::models::mechanical::parameters::tests_support::small;
use crate::{Asked, Replay, RequestId};

/// One sector in the middle of the first track. It passes from 5000 to 5100 µs; the arm is busy
/// until then, and the host has it 1 µs later.
const READ: Asked = Asked::read(50, 1);

fn drive(parameters: &DriveParameters) -> Drive {
    let mut drive =
        Drive::new(parameters, 1, &Options { record_destaging: true, ..Options::default() });
    drive.motion = drive.motion.at_the_first_slot();
    drive
}

/// A drive whose cache takes 16 sectors.
fn with_16_sectors() -> DriveParameters {
    DriveParameters { write_buffer: Bytes(8192), ..small() }
}

fn named(id: u64, asked: Asked) -> Request {
    let Asked { operation, lba, sectors, fua } = asked;
    Request { id: RequestId(id), operation, lba, sectors, fua }
}

/// What is asked at these times, in the order in which it completes, and when; in µs.
fn served(drive: &mut Drive, asked: &[(u64, Asked)]) -> Vec<(Asked, u64)> {
    let mut served = Vec::new();
    let requests = asked.iter().map(|(at, asked)| (Nanos::from_micros(*at), *asked));
    Replay::new(drive)
        .open(requests, |each| served.push((each.asked, each.completed.0 / 1000)))
        .unwrap();
    served
}

/// The arm is free at 1800 µs, long before the slow link has passed the first read on at 9192 µs.
/// Whatever waits for the arm then must not wait for the flush or for the link.
#[test]
fn a_flush_without_anything_to_write_leaves_the_arm_to_the_next() {
    let mut parameters = DriveParameters { link_mb_per_s: 0.5, ..small() };
    parameters.overhead.write_hit = Nanos::from_millis(50);
    let first = Asked::read(10, 8);
    let served = served(&mut drive(&parameters), &[(0, first), (0, Asked::FLUSH), (0, READ)]);
    assert_eq!(served, [(READ, 6124), (first, 9192), (Asked::FLUSH, 50_000)]);
}

/// As above, but the host looks only at 9 ms: what was done until then is the same.
#[test]
fn the_arm_goes_on_whether_or_not_the_host_looks() {
    let mut parameters = DriveParameters { link_mb_per_s: 0.5, ..small() };
    parameters.overhead.write_hit = Nanos::from_millis(50);
    let mut drive = drive(&parameters);
    for (id, asked) in (0..).zip([Asked::read(10, 8), Asked::FLUSH, READ]) {
        drive.submit(Nanos::ZERO, named(id, asked));
    }
    let mut completed = Vec::new();
    drive.advance(Nanos::from_millis(9), &mut completed);
    assert_eq!(completed, [Completion { id: RequestId(2), at: Nanos::from_micros(6124) }]);
}

/// Without a cache, or where the cache survives, a flush does not wait for the arm.
#[test]
fn a_flush_that_has_nothing_to_do_is_done_after_its_overhead() {
    for parameters in [
        DriveParameters { write_cache: false, ..small() },
        DriveParameters { write_cache_protected: true, ..small() },
    ] {
        let served = served(&mut drive(&parameters), &[(0, READ), (0, Asked::FLUSH)]);
        assert_eq!(served, [(Asked::FLUSH, 100), (READ, 5101)]);
    }
}

/// Through the cache in a tenth of a millisecond; past it, at the next revolution.
#[test]
fn a_write_of_the_whole_cache_is_taken_in() {
    let completed = |sectors| {
        let write = Asked::write(0, sectors);
        served(&mut drive(&with_16_sectors()), &[(0, write)])
    };
    assert_eq!(completed(16), [(Asked::write(0, 16), 116)]);
    assert_eq!(completed(17), [(Asked::write(0, 17), 11_700)]);
}

/// While the arm is busy, a durable write of 100 to 109 waits for it.
#[test]
fn a_write_is_not_cached_before_an_older_one_of_the_same_sectors_is_written() {
    let older = Asked { fua: true, ..Asked::write(100, 10) };
    for (lba, sectors, cached) in
        [(90, 10, true), (90, 11, false), (109, 10, false), (110, 10, true)]
    {
        let write = Asked::write(lba, sectors);
        let served = served(&mut drive(&small()), &[(0, READ), (0, older), (0, write)]);
        assert_eq!(served.len(), 3);
        let first = served[0] == (write, 100 + sectors);
        assert_eq!(first, cached, "{sectors} from {lba}: {served:?}");
    }
}

/// The first write leaves the cache at 11.2 ms. Both that waited have room then, and their data
/// follows each other on the link.
#[test]
fn all_that_have_room_are_taken_in_at_once() {
    let writes = [Asked::write(0, 12), Asked::write(200, 10), Asked::write(300, 5)];
    let served = served(&mut drive(&with_16_sectors()), &writes.map(|write| (0, write)));
    assert_eq!(served, [(writes[0], 112), (writes[1], 11_310), (writes[2], 11_315)]);
}

/// When the first is written, at 10.6 ms, there is room for the last, but not yet for the one
/// before it: both wait for the second, which is written at 15.8 ms.
#[test]
fn a_write_that_waits_for_room_is_not_overtaken_by_a_smaller_one_that_waits() {
    let writes =
        [Asked::write(0, 6), Asked::write(50, 8), Asked::write(200, 12), Asked::write(300, 4)];
    let served = served(&mut drive(&with_16_sectors()), &writes.map(|write| (0, write)));
    let at = [106, 114, 15_912, 15_916];
    let expected: Vec<(Asked, u64)> = writes.into_iter().zip(at).collect();
    assert_eq!(served, expected);
}

/// It tracks 1024, and every command under way may need one.
#[test]
fn a_write_needs_an_extent_that_is_not_used() {
    let has_room = |extents: u64, under_way: u64| {
        let mut drive = drive(&small());
        for id in 0..under_way {
            drive.submit(Nanos::ZERO, named(id, READ));
        }
        for extent in 0..extents {
            drive.dirty.insert(extent * 2, extent * 2 + 1);
        }
        let write = named(under_way, Asked::write(1, 1));
        drive.take_in(&write, Nanos::ZERO) != Stage::Room
    };
    assert!(has_room(1023, 0));
    assert!(!has_room(1024, 0));
    assert!(has_room(1021, 2));
    assert!(!has_room(1022, 2));
}

/// Sectors that the drive has begun to write from its cache when a read comes.
fn written_before_a_read(mut drive: Drive) -> u64 {
    drive.submit(Nanos::ZERO, named(0, READ));
    drive.activity().media_written_sectors
}

#[test]
fn a_read_goes_first_until_more_than_three_quarters_of_the_cache_are_full() {
    let with_dirty = |sectors| {
        let mut drive = drive(&with_16_sectors());
        drive.dirty.insert(0, sectors);
        written_before_a_read(drive)
    };
    assert_eq!(with_dirty(12), 0);
    assert_eq!(with_dirty(13), 13);
}

/// A cache tracks 1024 extents; these are of one sector each, and none holds what is read.
#[test]
fn a_read_goes_first_until_more_than_three_quarters_of_the_extents_are_used() {
    let with_extents = |extents: u64| {
        let mut drive = drive(&small());
        for extent in 0..extents {
            drive.dirty.insert(extent * 2 + 1, extent * 2 + 2);
        }
        written_before_a_read(drive)
    };
    assert_eq!(with_extents(768), 0);
    assert_eq!(with_extents(769), 1);
}

/// A read of the disk's last sectors leaves nothing to read ahead. So the write that is in the
/// cache at 10601 µs is begun then, and waits for nothing but its place: the platter's next start
/// after the seek, at 20 ms.
#[test]
fn a_drive_that_has_read_ahead_to_its_end_writes_what_it_holds_at_once() {
    let mut drive =
        drive(&DriveParameters { read_segments: 2, read_segment: Bytes(51_200), ..small() });
    let (read, write) = (Asked::read(1992, 8), Asked::write(0, 1));
    let served = served(&mut drive, &[(0, read), (10_500, write)]);
    assert_eq!(served, [(read, 10_001), (write, 10_601)]);
    let mut completed = Vec::new();
    let mut durable_at = |drive: &mut Drive, at| {
        drive.advance(Nanos::from_micros(at), &mut completed);
        (drive.is_durable(Lba(0), 1), drive.is_durable(Lba(1), 1))
    };
    assert_eq!(durable_at(&mut drive, 20_099), (false, true));
    assert_eq!(durable_at(&mut drive, 20_100), (true, true));
    let mut destaged = Vec::new();
    drive.take_destaged(&mut destaged);
    let (started, finished) = (Nanos::from_micros(10_601), Nanos::from_micros(20_100));
    assert_eq!(destaged, [Destaged { lba: Lba(0), sectors: 1, started, finished }]);
}
