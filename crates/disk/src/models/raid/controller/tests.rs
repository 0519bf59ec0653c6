//! What a controller asks of its members, and when: they are stand-ins that note it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::*;
use crate::models::raid::{ArrayState, Level};

/// Which member was asked what, and when.
type Notes = Arc<Mutex<Vec<(u32, Nanos, Request)>>>;

/// A member of 5000 sectors that takes a millisecond for whatever it is asked, however much it has
/// to do, and notes it. Of the first member, sectors 8 to 15 are never durable; of the second, 16
/// to 23, and so on.
struct Probe {
    index: u32,
    notes: Notes,
    due: Vec<Completion>,
}

impl Model for Probe {
    fn capacity(&self) -> Bytes {
        Bytes(5000 * SECTOR_BYTES)
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.notes.lock().unwrap().push((self.index, now, request));
        self.due.push(Completion { id: request.id, at: now + Nanos::from_millis(1) });
    }

    fn next_event(&self) -> Option<Nanos> {
        self.due.first().map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        let done = self.due.partition_point(|completion| completion.at <= now);
        completed.extend(self.due.drain(..done));
    }

    fn is_durable(&self, lba: Lba, sectors: u64) -> bool {
        let never = 8 * (u64::from(self.index) + 1);
        lba.0 + sectors <= never || lba.0 >= never + 8
    }

    fn take_destaged(&mut self, _destaged: &mut Vec<Destaged>) {}

    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// A stripe unit of 8 sectors; half a microsecond a sector on the link, one for its parity.
pub(super) fn parameters(level: Level, members: u32) -> ControllerParameters {
    ControllerParameters {
        member: "probe".to_owned(),
        members,
        level,
        stripe_unit: Bytes::from_kib(4),
        member_write_cache: false,
        write_memory: Bytes::from_mib(1),
        battery: false,
        command: Nanos::from_micros(100),
        link_mb_per_s: 1024.0,
        parity_mb_per_s: 512.0,
        member_queue_depth: 4,
        rebuild_share: 0.25,
    }
}

/// A controller over members that note what they are asked.
pub(super) fn controller(
    parameters: &ControllerParameters,
    array_state: ArrayState,
) -> (Controller, Notes) {
    let notes = Notes::default();
    let mut members: Vec<Box<dyn Model>> = Vec::new();
    for index in 0..parameters.members {
        members.push(Box::new(Probe { index, notes: Arc::clone(&notes), due: Vec::new() }));
    }
    let options = Options { array_state, record_destaging: true, ..Options::default() };
    (Controller::new(parameters, members, &options), notes)
}

pub(super) fn request(operation: Operation, lba: u64, sectors: u64) -> Request {
    Request { id: RequestId(0), operation, lba: Lba(lba), sectors, fua: false }
}

/// When the requests under way complete: within a second, or never.
pub(super) fn completed(controller: &mut Controller) -> Vec<Nanos> {
    let mut completed = Vec::new();
    controller.advance(Nanos::from_secs(1), &mut completed);
    completed.iter().map(|completion| completion.at).collect()
}

/// Member, first sector and sectors of all such operations, sorted.
fn sorted(notes: &Notes, operation: Operation) -> Vec<(u32, u64, u64)> {
    let notes = notes.lock().unwrap();
    let mut all: Vec<(u32, u64, u64)> = notes
        .iter()
        .filter(|(.., request)| request.operation == operation)
        .map(|(member, _, request)| (*member, request.lba.0, request.sectors))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn no_two_requests_under_way_at_a_member_have_one_name() {
    let (mut controller, notes) = controller(&parameters(Level::Raid0, 2), ArrayState::Clean);
    controller.submit(Nanos::ZERO, request(Operation::Read, 0, 32));
    let notes = notes.lock().unwrap();
    let names: BTreeSet<RequestId> = notes.iter().map(|(.., request)| request.id).collect();
    assert_eq!((notes.len(), names.len()), (4, 4));
}

#[test]
fn a_member_has_no_more_to_do_at_a_time_than_its_queue_takes() {
    let (mut controller, notes) = controller(&parameters(Level::Raid0, 2), ArrayState::Clean);
    for stripe in 0..6 {
        controller.submit(Nanos::ZERO, request(Operation::Read, stripe * 16, 8));
    }
    completed(&mut controller);
    let seen: Vec<(u32, u64)> =
        notes.lock().unwrap().iter().map(|(member, at, _)| (*member, at.0 / 1_000_000)).collect();
    assert_eq!(seen, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 1), (0, 1)]);
}

/// The third takes the place of the second, which was freed last; the fourth that of the first.
#[test]
fn commands_that_are_done_at_once_complete_in_order_of_arrival() {
    let (mut controller, _) = controller(&parameters(Level::Raid0, 2), ArrayState::Clean);
    let mut completed = Vec::new();
    for (millis, names) in [(0, [1, 2]), (1, [3, 4])] {
        for id in names.map(RequestId) {
            let flush = Request { id, ..request(Operation::Flush, 0, 0) };
            controller.submit(Nanos::from_millis(millis), flush);
        }
        controller.advance(Nanos::from_millis(millis + 1), &mut completed);
    }
    let names: Vec<u64> = completed.iter().map(|completion| completion.id.0).collect();
    assert_eq!(names, [1, 2, 3, 4]);
}

#[test]
fn what_the_host_asked_for_is_counted() {
    for battery in [true, false] {
        let parameters = ControllerParameters { battery, ..parameters(Level::Raid0, 2) };
        let (mut controller, _) = controller(&parameters, ArrayState::Clean);
        for (operation, lba, sectors) in [
            (Operation::Read, 800, 8),
            (Operation::Write, 0, 8),
            (Operation::Write, 32, 24),
            (Operation::Flush, 0, 0),
        ] {
            controller.submit(Nanos::ZERO, request(operation, lba, sectors));
        }
        assert_eq!(completed(&mut controller).len(), 4);
        let expected = Activity {
            host_read_sectors: 8,
            host_written_sectors: 32,
            flushes: 1,
            ..Activity::default()
        };
        assert_eq!(controller.activity(), expected);
    }
}

#[test]
fn a_small_write_takes_two_steps_of_the_members_and_its_parity() {
    let (mut controller, notes) = controller(&parameters(Level::Raid5, 4), ArrayState::Clean);
    controller.submit(Nanos::ZERO, request(Operation::Write, 0, 8));
    // Twice a millisecond, the command's 100 µs, 8 µs for the parity.
    assert_eq!(completed(&mut controller), [Nanos(2_108_000)]);
    assert_eq!(sorted(&notes, Operation::Read), [(0, 0, 8), (3, 0, 8)]);
    assert_eq!(sorted(&notes, Operation::Write), [(0, 0, 8), (3, 0, 8)]);
}

/// A millisecond and the command's 100 µs.
#[test]
fn a_write_without_parity_takes_no_time_for_it() {
    for (level, members) in [(Level::Raid0, 3), (Level::Raid1, 2), (Level::Raid10, 4)] {
        let (mut controller, _) = controller(&parameters(level, members), ArrayState::Clean);
        controller.submit(Nanos::ZERO, request(Operation::Write, 0, 8));
        assert_eq!(completed(&mut controller), [Nanos(1_100_000)], "{level:?}");
    }
}

/// The second stripe's first unit is on member 3, which is missing.
#[test]
fn a_read_takes_longer_by_what_must_be_computed() {
    let of_all: &[(u32, u64, u64)] = &[(0, 8, 8), (1, 8, 8), (2, 8, 8)];
    for (array_state, nanos, reads) in [
        // A millisecond, the command's 100 µs, 4 µs on the link; 8 µs to compute it.
        (ArrayState::Clean, 1_104_000, &[(3, 8, 8)][..]),
        (ArrayState::Degraded, 1_112_000, of_all),
    ] {
        let (mut controller, notes) = controller(&parameters(Level::Raid5, 4), array_state);
        controller.submit(Nanos::ZERO, request(Operation::Read, 24, 8));
        assert_eq!(completed(&mut controller), [Nanos(nanos)], "{array_state:?}");
        assert_eq!(sorted(&notes, Operation::Read), reads, "{array_state:?}");
    }
}

#[test]
fn a_write_goes_to_the_members_stripe_by_stripe_each_with_its_own_parity() {
    let (mut controller, notes) = controller(&parameters(Level::Raid5, 4), ArrayState::Clean);
    // The last 4 sectors of one stripe of 24, a whole one, 12 sectors of a third.
    controller.submit(Nanos::ZERO, request(Operation::Write, 20, 40));
    completed(&mut controller);
    let first = [(2, 4, 4), (3, 4, 4)];
    let second = [(0, 8, 8), (1, 8, 8), (2, 8, 8), (3, 8, 8)];
    let third = [(1, 16, 8), (2, 16, 8), (3, 16, 4)];
    let mut expected: Vec<(u32, u64, u64)> = [&first[..], &second[..], &third[..]].concat();
    expected.sort_unstable();
    assert_eq!(sorted(&notes, Operation::Write), expected);
}

#[test]
fn a_durable_write_passes_the_members_caches_if_they_are_on() {
    for (fua, member_write_cache) in [(true, true), (true, false), (false, true), (false, false)] {
        let parameters = ControllerParameters { member_write_cache, ..parameters(Level::Raid0, 2) };
        let (mut controller, notes) = controller(&parameters, ArrayState::Clean);
        let write = Request { fua, ..request(Operation::Write, 0, 8) };
        controller.submit(Nanos::ZERO, write);
        let passes: Vec<bool> =
            notes.lock().unwrap().iter().map(|(.., request)| request.fua).collect();
        assert_eq!(passes, [fua && member_write_cache]);
    }
}

#[test]
fn a_flush_goes_to_the_members_if_they_hold_what_no_battery_keeps() {
    for (battery, member_write_cache, array_state, asked) in [
        (false, true, ArrayState::Clean, 4),
        (false, true, ArrayState::Degraded, 3),
        (false, false, ArrayState::Clean, 0),
        (true, true, ArrayState::Clean, 0),
        (true, false, ArrayState::Clean, 0),
    ] {
        let parameters =
            ControllerParameters { battery, member_write_cache, ..parameters(Level::Raid5, 4) };
        let (mut controller, notes) = controller(&parameters, array_state);
        controller.submit(Nanos::ZERO, request(Operation::Flush, 0, 0));
        let at = if asked > 0 { 1_100_000 } else { 100_000 };
        assert_eq!(completed(&mut controller), [Nanos(at)]);
        assert_eq!(sorted(&notes, Operation::Flush).len(), asked);
    }
}

#[test]
fn a_request_beyond_the_end_does_not_wait_for_the_link() {
    for operation in [Operation::Read, Operation::Write] {
        let parameters = ControllerParameters { battery: true, ..parameters(Level::Raid0, 2) };
        let (mut controller, _) = controller(&parameters, ArrayState::Clean);
        // A millisecond on the link.
        controller.submit(Nanos::ZERO, request(Operation::Write, 0, 2000));
        controller.submit(Nanos::ZERO, request(operation, 1 << 40, 8));
        assert_eq!(completed(&mut controller), [Nanos(100_000), Nanos(1_100_000)]);
    }
}

#[test]
fn without_a_battery_only_what_the_members_made_durable_is() {
    for battery in [true, false] {
        let parameters = ControllerParameters { battery, ..parameters(Level::Raid0, 2) };
        let (controller, _) = controller(&parameters, ArrayState::Clean);
        assert!(controller.is_durable(Lba(0), 16));
        // The first member's sectors 8 to 15.
        assert_eq!(controller.is_durable(Lba(16), 8), battery);
    }
}

/// Stripe unit by stripe unit, of 8 sectors: one is durable if all its copies are; if it is on no
/// member, all that it is computed from must be.
#[test]
fn without_a_battery_a_unit_is_as_durable_as_the_least_of_its_copies() {
    let (clean, degraded) = (ArrayState::Clean, ArrayState::Degraded);
    for (level, members, array_state, expected) in [
        (Level::Raid0, 2, clean, "++-++-"),
        (Level::Raid1, 2, clean, "+--+"),
        (Level::Raid1, 2, degraded, "+-++"),
        (Level::Raid10, 4, clean, "++-+-++-+-"),
        (Level::Raid10, 4, degraded, "++-+-++-++"),
        (Level::Raid5, 4, clean, "++++-++++"),
        (Level::Raid5, 4, degraded, "+++--++-+"),
    ] {
        let (controller, _) = controller(&parameters(level, members), array_state);
        let durable = |unit: usize| controller.is_durable(Lba(unit as u64 * 8), 8);
        let units = 0..expected.len();
        let found: String = units.map(|unit| if durable(unit) { '+' } else { '-' }).collect();
        assert_eq!(found, expected, "{level:?} {array_state:?}");
    }
}

/// A whole stripe is in the memory at 108 µs, and the member has read what was asked at 1 ms.
#[test]
fn what_the_memory_holds_goes_to_the_members_once_no_read_is_under_way() {
    let parameters = ControllerParameters { battery: true, ..parameters(Level::Raid0, 2) };
    let (mut controller, notes) = controller(&parameters, ArrayState::Clean);
    controller.submit(Nanos::ZERO, request(Operation::Write, 0, 16));
    controller.submit(Nanos::ZERO, request(Operation::Read, 160, 8));
    assert_eq!(completed(&mut controller), [Nanos(108_000), Nanos(1_104_000)]);
    let seen: Vec<(u32, Nanos, Operation)> =
        notes.lock().unwrap().iter().map(|(member, at, of)| (*member, *at, of.operation)).collect();
    let (read, write) = (Operation::Read, Operation::Write);
    let then = Nanos::from_millis(1);
    assert_eq!(seen, [(0, Nanos::ZERO, read), (0, then, write), (1, then, write)]);
}

/// It is in the memory at 108 µs, and on its members a millisecond later.
#[test]
fn what_went_from_the_memory_to_the_members_is_told_once() {
    let parameters = ControllerParameters { battery: true, ..parameters(Level::Raid0, 2) };
    let (mut controller, _) = controller(&parameters, ArrayState::Clean);
    controller.submit(Nanos::ZERO, request(Operation::Write, 0, 16));
    completed(&mut controller);
    let mut destaged = Vec::new();
    controller.take_destaged(&mut destaged);
    controller.take_destaged(&mut destaged);
    let (started, finished) = (Nanos::from_micros(108), Nanos::from_micros(1108));
    assert_eq!(destaged, [Destaged { lba: Lba(0), sectors: 16, started, finished }]);
}

#[test]
fn a_copy_reads_on_where_its_last_read_ended() {
    let (mut controller, notes) = controller(&parameters(Level::Raid1, 2), ArrayState::Clean);
    // The third is elsewhere, so the copy that has less to do reads it.
    for lba in [800, 808, 1600, 1608, 816] {
        controller.submit(Nanos::ZERO, request(Operation::Read, lba, 8));
    }
    let expected = [(0, 800, 8), (0, 808, 8), (0, 816, 8), (1, 1600, 8), (1, 1608, 8)];
    assert_eq!(sorted(&notes, Operation::Read), expected);
}

#[test]
fn a_missing_copy_is_neither_read_nor_written() {
    let (mut controller, notes) = controller(&parameters(Level::Raid1, 2), ArrayState::Degraded);
    // The second read would go to the other copy, which has nothing to do.
    for (operation, lba) in
        [(Operation::Read, 800), (Operation::Read, 1600), (Operation::Write, 2400)]
    {
        controller.submit(Nanos::ZERO, request(operation, lba, 8));
    }
    completed(&mut controller);
    assert_eq!(sorted(&notes, Operation::Read), [(0, 800, 8), (0, 1600, 8)]);
    assert_eq!(sorted(&notes, Operation::Write), [(0, 2400, 8)]);
}

/// A step of 1 MiB takes 2 ms here: a millisecond to read it and one to write it. A rebuild may
/// take a quarter of the time, so it rests for 6 ms after each.
#[test]
fn a_new_member_is_filled_step_by_step_from_the_others_or_from_its_copy() {
    let (all, copy): (&[u32], &[u32]) = (&[0, 1, 2], &[2]);
    for (level, sources) in [(Level::Raid5, all), (Level::Raid10, copy)] {
        let (mut controller, notes) = controller(&parameters(level, 4), ArrayState::Rebuilding);
        controller.submit(Nanos::from_millis(10), request(Operation::Flush, 0, 0));
        assert!(controller.is_rebuilding());
        completed(&mut controller);
        assert!(!controller.is_rebuilding());
        let mut expected: Vec<(u32, u64, Operation, u64, u64)> = Vec::new();
        for (millis, lba, sectors) in [(10, 0, 2048), (18, 2048, 2048), (26, 4096, 904)] {
            for member in sources {
                expected.push((*member, millis, Operation::Read, lba, sectors));
            }
            expected.push((3, millis + 1, Operation::Write, lba, sectors));
        }
        let seen: Vec<(u32, u64, Operation, u64, u64)> = notes
            .lock()
            .unwrap()
            .iter()
            .map(|(member, at, of)| (*member, at.0 / 1_000_000, of.operation, of.lba.0, of.sectors))
            .collect();
        assert_eq!(seen, expected, "{level:?}");
    }
}
