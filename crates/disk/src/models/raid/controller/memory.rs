//! The controller's memory: what is taken in, and in which order it goes to the members.

use units::Nanos;

use super::{Controller, What};
use crate::models::dirty::Extent;

/// How long part of a stripe waits in the memory for the rest of it. An assumption.
pub(super) const PARTIAL_STRIPE_WAIT: Nanos = Nanos::from_millis(20);

/// Extents the memory keeps account of. An assumption.
const EXTENTS_MAX: usize = 16_384;

impl Controller {
    /// Takes waiting writes into the memory as far as there is room.
    pub(super) fn give_room(&mut self, now: Nanos) {
        while let Some(job) = self.for_room.front().copied() {
            let What::Host(request) = self.jobs[job].what else { return };
            let held = self.held_sectors();
            // A request beyond the whole memory flows through when it is empty.
            if held > 0 && held + request.sectors > self.memory_sectors
                || self.dirty.len() >= EXTENTS_MAX
            {
                return;
            }
            self.for_room.pop_front();
            self.arriving_sectors += request.sectors;
            let at = self.link(request.sectors, now + self.command);
            self.finish_at(job, at);
        }
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
            // What only the battery protected must not become less durable on a member.
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
