//! The controller's memory: which writes it takes in, and in which order they go to the members.

use units::Nanos;

use super::{Controller, What};
use crate::models::dirty::Extent;

/// How long part of a stripe waits in the memory for the rest of it. An assumption.
pub(super) const PARTIAL_STRIPE_WAIT: Nanos = Nanos::from_millis(20);

/// Extents the memory keeps account of. An assumption.
const EXTENTS_MAX: usize = 16_384;

impl Controller {
    /// Takes waiting writes into the memory as far as there is room: one that does not fit as a
    /// whole goes in stripe by stripe, as the memory is emptied.
    pub(super) fn give_room(&mut self, now: Nanos) {
        while let Some(job) = self.for_room.front().copied() {
            let What::Host(request) = self.jobs[job].what else { return };
            let from = request.lba.0 + self.jobs[job].taken;
            let end = request.lba.0 + request.sectors;
            let Some(until) = self.end_of_room(from, end) else { return };
            // The controller's own time counts once for a command, not for each of its parts.
            let ready = if self.jobs[job].taken == 0 { now + self.command } else { now };
            self.jobs[job].taken += until - from;
            if until == end {
                self.for_room.pop_front();
            }
            let whole = (until == end).then_some(job);
            let part = self.new_job(What::Taken(Extent { start: from, end: until }, whole), false);
            self.arriving_sectors += until - from;
            let at = self.link(until - from, ready);
            self.finish_at(part, at);
        }
    }

    /// How far a write from here to `end` can be taken in now; `None` when there is no room.
    fn end_of_room(&self, from: u64, end: u64) -> Option<u64> {
        if self.dirty.len() >= EXTENTS_MAX {
            return None;
        }
        let held = self.held_sectors();
        let room = self.memory_sectors.saturating_sub(held);
        if end - from <= room {
            return Some(end);
        }
        let stripe = self.striping.stripe_sectors();
        let whole_stripes = (from + room) / stripe * stripe;
        if whole_stripes > from {
            return Some(whole_stripes);
        }
        // A stripe that is larger than the whole memory flows through when the memory is empty.
        (held == 0).then(|| end.min((from / stripe + 1) * stripe))
    }

    fn held_sectors(&self) -> u64 {
        let destaging: u64 = self.destaging.iter().map(|extent| extent.sectors()).sum();
        self.dirty.sectors() + self.arriving_sectors + destaging
    }

    /// Starts moving dirty sectors to the members: whole stripes at once, parts after a wait,
    /// anything when room is short.
    pub(super) fn destage(&mut self, now: Nanos) {
        if self.dirty.is_empty() {
            return;
        }
        let short = !self.for_room.is_empty()
            || self.held_sectors() * 4 > self.memory_sectors * 3
            || self.dirty.len() * 4 > EXTENTS_MAX * 3;
        let patient = now < self.last_write + PARTIAL_STRIPE_WAIT;
        let at_once = self.members.len() * if short { 8 } else { 2 };
        if self.reads > 0 && !short {
            return;
        }
        while self.destaging.len() < at_once
            && let Some(extent) = self.next_extent(short || !patient)
        {
            self.cursor = extent.end;
            self.dirty.remove(extent.start, extent.end);
            self.destaging.push(extent);
            // Data that the battery protected must not become less durable on a member.
            let job = self.new_job(What::Destage(extent, now), self.member_cache);
            self.write_members(job, extent.start, extent.sectors(), now);
        }
    }

    /// The next dirty sectors upwards from the last, within one stripe. Not those of a
    /// stripe that is being written.
    fn next_extent(&self, parts: bool) -> Option<Extent> {
        let whole = self.striping.stripe_sectors();
        let mut from = self.cursor;
        for _ in 0..16 {
            let extent = self.dirty.at_or_after(from)?;
            let start = extent.start.max(if extent.end > from { from } else { 0 });
            let full = start.next_multiple_of(whole);
            let found = if full + whole <= extent.end {
                Extent { start: full, end: full + whole }
            } else {
                Extent { start, end: extent.end.min((start / whole + 1) * whole) }
            };
            let allowed = parts || found.sectors() == whole;
            let busy = |held: &Extent| held.start / whole == found.start / whole;
            if allowed && !self.destaging.iter().any(busy) {
                return Some(found);
            }
            from = extent.end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, SECTOR_BYTES};

    use super::*;
    use crate::models::raid::controller::tests::{completed, controller, parameters, request};
    use crate::models::raid::{ArrayState, ControllerParameters, Level};
    use crate::{Model, Operation};

    /// A controller with stripes of 24 sectors, and room for so many.
    fn with_room(sectors: u64) -> Controller {
        let parameters = ControllerParameters {
            battery: true,
            write_memory: Bytes(sectors * SECTOR_BYTES),
            ..parameters(Level::Raid5, 4)
        };
        controller(&parameters, ArrayState::Clean).0
    }

    #[test]
    fn a_stripe_larger_than_the_memory_is_taken_in_only_when_that_is_empty() {
        let mut small = with_room(16);
        assert_eq!(small.end_of_room(28, 40), Some(40), "it fits");
        assert_eq!(small.end_of_room(28, 100), Some(48), "as far as its stripe goes");
        assert_eq!(small.end_of_room(28, 46), Some(46), "the stripe goes further");
        small.dirty.insert(0, 1);
        assert_eq!(small.end_of_room(28, 43), Some(43), "it fits beside the other");
        assert_eq!(small.end_of_room(28, 100), None);
    }

    #[test]
    fn the_memory_holds_what_arrives_what_is_dirty_and_what_is_on_its_way_out() {
        let mut memory = with_room(64);
        memory.dirty.insert(0, 10);
        memory.arriving_sectors = 5;
        memory.destaging.push(Extent { start: 100, end: 107 });
        assert_eq!(memory.held_sectors(), 22);
        assert_eq!(memory.end_of_room(200, 242), Some(242));
        assert_eq!(memory.end_of_room(200, 243), Some(240), "whole stripes");
    }

    #[test]
    fn nothing_is_held_of_what_the_members_have() {
        let mut memory = with_room(64);
        memory.submit(Nanos::ZERO, request(Operation::Write, 0, 8));
        assert_eq!(memory.held_sectors(), 8);
        // The command, and the link; the members get it later.
        assert_eq!(completed(&mut memory), [Nanos(104_000)]);
        assert_eq!(memory.held_sectors(), 0);
    }

    /// Whether part of a stripe goes to the members although the rest may still come.
    fn is_hurried(memory: &mut Controller) -> bool {
        memory.destage(Nanos::ZERO);
        !memory.destaging.is_empty()
    }

    #[test]
    fn parts_of_stripes_wait_until_three_quarters_of_the_memory_are_taken() {
        let mut memory = with_room(64);
        memory.dirty.insert(0, 8);
        memory.arriving_sectors = 40;
        assert!(!is_hurried(&mut memory), "48 of 64");
        memory.arriving_sectors = 41;
        assert!(is_hurried(&mut memory), "49 of 64");
    }

    #[test]
    fn parts_of_stripes_wait_until_three_quarters_of_the_extents_are_taken() {
        let mut memory = with_room(1 << 20);
        for nth in 0..12_288 {
            memory.dirty.insert(nth * 24, nth * 24 + 1);
        }
        assert!(!is_hurried(&mut memory), "12288 of 16384");
        memory.dirty.insert(12_288 * 24, 12_288 * 24 + 1);
        assert!(is_hurried(&mut memory), "one more");
    }
}
