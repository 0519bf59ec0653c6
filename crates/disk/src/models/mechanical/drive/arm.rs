//! What the arm does: choosing the next command, reading from the platter and ahead, writing
//! through, and destaging the write cache.

use units::{Lba, Nanos};

use super::{Drive, EXTENTS_MAX, Slot, Stage, Stream};
use crate::models::dirty::Extent;
use crate::{Destaged, Operation};

/// The most sectors that one destage writes, so that a read never waits for more than a few tracks.
const DESTAGE_SECTORS_MAX: u64 = 1024;

/// Dirty extents looked at on either side of the head when the next to destage is chosen: the
/// nearest by place hold most of the nearest by time. Four times as many destage 2 to 8 %
/// faster and cost the host four times as much.
const DESTAGE_WINDOW: usize = 16;

impl Drive {
    /// Gives the arm its next work, if it is free and there is any that does not wait for
    /// idleness.
    pub(super) fn send_arm(&mut self, now: Nanos) -> bool {
        if self.arm_free > now {
            return false;
        }
        let flush = self.active.iter().position(|slot| {
            slot.stage == Stage::Arm && slot.request.operation == Operation::Flush
        });
        if let Some(index) = flush {
            self.flush(index, now);
            return true;
        }
        let asked = self.active.iter().any(|slot| slot.stage == Stage::Arm);
        let short = self.active.iter().any(|slot| slot.stage == Stage::Room)
            || self.dirty.sectors() * 4 > self.buffer_sectors * 3
            || self.dirty.len() * 4 > EXTENTS_MAX * 3;
        if short && !self.dirty.is_empty() && !(asked && self.destaged_last) {
            self.destage_next(now);
            self.destaged_last = true;
            return true;
        }
        if !asked {
            return false;
        }
        self.destaged_last = false;
        if self.stream.is_some() {
            self.read_ahead_until(now);
        }
        let waiting = self.active.iter().enumerate().filter(|(_, slot)| slot.stage == Stage::Arm);
        let chosen = self.scheduler.choose(
            waiting.map(|(index, slot)| (index, &slot.arrived)),
            now,
            self.head.next_lba,
            |index| {
                let slot = &self.active[index];
                let write = slot.request.operation == Operation::Write;
                if !write && self.stream_reaches(slot.arrived.lba) {
                    return now;
                }
                let start = now.max(slot.arrived.arrived + self.overhead_of(write));
                let lba = slot.arrived.lba;
                self.motion.reach_place(&self.head, &slot.place, lba, start, write)
            },
        );
        if let Some(index) = chosen {
            let done = match self.active[index].request.operation {
                Operation::Write => self.write_through(index, now),
                _ => self.read_from_platter(index, now),
            };
            self.active[index].stage = Stage::Done(done);
        }
        chosen.is_some()
    }

    fn overhead_of(&self, write: bool) -> Nanos {
        if write { self.overhead.write_miss } else { self.overhead.read_miss }
    }

    fn read_from_platter(&mut self, index: usize, now: Nanos) -> Nanos {
        let Slot { request, arrived, .. } = &self.active[index];
        let (lba, sectors) = (request.lba.0, request.sectors);
        let end = lba + sectors;
        let start = now.max(arrived.arrived + self.overhead.read_miss);
        self.read_ahead_until(start);
        self.activity.media_operations += 1;
        let link = self.link_time(sectors);
        // Within a sequential run, the arm continues where reading ahead has stopped.
        let running = self.stream_reaches(lba);
        let from = if running { self.head.next_lba.min(end) } else { lba };
        let leave = match &self.stream {
            Some(stream) if running && self.head.next_lba < stream.limit => stream.at,
            _ => start,
        };
        let (first, last) = if from < end {
            self.motion.transfer(&mut self.head, from, end - from, leave, false)
        } else {
            (start, start)
        };
        self.activity.media_read_sectors += end - from;
        let segment = match &self.stream {
            Some(stream) if running => {
                let segment = stream.segment;
                self.segments.extend(segment, end);
                Some(segment)
            }
            _ => self.segments.replace(lba, end),
        };
        self.arm_free = last.max(start);
        let limit = (end + self.segments.sectors_each()).min(self.sectors);
        self.stream = segment.map(|segment| Stream { segment, limit, at: self.arm_free });
        // Data flows to the host while the platter turns; only the last sector's transfer adds
        // time.
        let whole = first.max(start) + Nanos(link);
        whole.max(last + Nanos(self.link_time(1)))
    }

    fn write_through(&mut self, index: usize, now: Nanos) -> Nanos {
        let Slot { request, arrived, .. } = &self.active[index];
        let (lba, sectors) = (request.lba.0, request.sectors);
        let ready = arrived.arrived + self.overhead.write_miss;
        // The first sectors cross the link before the platter writes; the rest overlaps.
        let start = now.max(ready + Nanos(self.link_time(sectors.min(64))));
        self.dirty.remove(lba, lba + sectors);
        let done = self.put(lba, sectors, start);
        done.max(ready + Nanos(self.link_time(sectors)))
    }

    /// Writes to the platter; returns when it is there.
    fn put(&mut self, lba: u64, sectors: u64, start: Nanos) -> Nanos {
        self.read_ahead_until(start);
        self.stream = None;
        self.segments.forget(lba, lba + sectors);
        self.activity.media_operations += 1;
        self.activity.media_written_sectors += sectors;
        let (_, mut done) = self.motion.transfer(&mut self.head, lba, sectors, start, true);
        if !lba.is_multiple_of(self.physical_sectors)
            || !(lba + sectors).is_multiple_of(self.physical_sectors)
        {
            // Part of a physical sector: it is read, and written one revolution later.
            done += self.motion.revolution();
        }
        self.arm_free = done;
        done
    }

    fn flush(&mut self, index: usize, now: Nanos) {
        let mut start = now.max(self.active[index].arrived.arrived + self.overhead.write_hit);
        while !self.dirty.is_empty() {
            start = self.destage_next(start);
        }
        self.active[index].stage = Stage::Done(start);
    }

    /// Writes the dirty extent that the arm reaches first; returns when it is there.
    fn destage_next(&mut self, start: Nanos) -> Nanos {
        self.read_ahead_until(start);
        let near = self.dirty.near(self.head.next_lba, DESTAGE_WINDOW);
        let reach = |extent: &&Extent| self.motion.reach(&self.head, extent.start, start, true);
        let Some(chosen) = near.iter().min_by_key(reach).copied() else { return start };
        let end = chosen.end.min(chosen.start + DESTAGE_SECTORS_MAX);
        let taken = Extent { start: chosen.start, end };
        self.dirty.remove(taken.start, taken.end);
        let finished = self.put(taken.start, taken.sectors(), start);
        self.destaging.push_back((taken, finished));
        if let Some(record) = &mut self.record {
            let (lba, sectors) = (Lba(taken.start), taken.sectors());
            record.push(Destaged { lba, sectors, started: start, finished });
        }
        finished
    }

    /// Empties the write cache in the gaps before `now` in which nobody needed the arm.
    pub(super) fn destage_while_idle(&mut self, now: Nanos) {
        if self.dirty.is_empty() || self.active.iter().any(|slot| slot.stage == Stage::Arm) {
            return;
        }
        let mut start = self.arm_free.max(self.clock);
        if let Some(stream) = &self.stream {
            // Reading ahead goes first; it is short.
            let left = stream.limit.saturating_sub(self.head.next_lba);
            if left > 0 {
                let mut head = self.head;
                let next = head.next_lba;
                start = start.max(self.motion.transfer(&mut head, next, left, stream.at, false).1);
            }
        }
        while start < now && !self.dirty.is_empty() {
            start = self.destage_next(start);
        }
    }

    /// Whether reading ahead has been at `lba` or will come to it.
    pub(super) fn stream_reaches(&self, lba: u64) -> bool {
        self.stream.as_ref().is_some_and(|stream| {
            lba <= stream.limit && self.segments.begins_before(stream.segment, lba)
        })
    }

    /// Lets the arm read ahead until `until` or its limit.
    pub(super) fn read_ahead_until(&mut self, until: Nanos) {
        if let Some(stream) = &mut self.stream {
            let left = stream.limit.saturating_sub(self.head.next_lba);
            if left > 0 {
                stream.at = self.motion.read_on(&mut self.head, left, stream.at, until);
                self.segments.extend(stream.segment, self.head.next_lba);
            }
        }
    }

    /// After a hit, the stream may read further ahead.
    pub(super) fn extend_stream(&mut self, segment: usize, end: u64, now: Nanos) {
        let limit = (end + self.segments.sectors_each()).min(self.sectors);
        if let Some(stream) = &mut self.stream
            && stream.segment == segment
            && limit > stream.limit
        {
            if self.head.next_lba >= stream.limit {
                stream.at = stream.at.max(now);
            }
            stream.limit = limit;
        }
    }
}
