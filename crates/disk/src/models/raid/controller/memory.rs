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
