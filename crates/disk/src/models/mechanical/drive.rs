//! A mechanical drive as its host sees it: admits commands, answers from its caches, and
//! sends the arm.
//!
//! One arm, one link, up to `queue_depth` commands at a time. What the arm does while it is idle
//! (reading ahead, destaging) is computed only at the next call: it needs no event and does not
//! wake up the caller.

mod arm;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

use super::geometry::Place;
use super::motion::{Head, Motion};
use super::parameters::{DriveParameters, Overhead};
use super::segments::ReadSegments;
use crate::models::dirty::{DirtyExtents, Extent};
use crate::models::outbox::Outbox;
use crate::models::queue::{Scheduler, Waiting};
use crate::options::Options;
use crate::{Activity, Completion, Destaged, Model, Operation, Request};

/// The most extents that a cache can track; with more it is full, whatever their size. An
/// assumption: drives do not publish the size of their tables.
const EXTENTS_MAX: usize = 1024;

/// A simulated mechanical drive.
pub(crate) struct Drive {
    pub(super) motion: Motion,
    pub(super) sectors: u64,
    physical_sectors: u64,
    overhead: Overhead,
    link_ns_per_mib: u64,
    queue_depth: usize,
    scheduler: Scheduler,
    flush_exclusive: bool,
    write_cache: bool,
    protected: bool,
    buffer_sectors: u64,

    waiting: VecDeque<Request>,
    active: Vec<Slot>,
    outbox: Outbox,

    clock: Nanos,
    head: Head,
    arm_free: Nanos,
    link_free: Nanos,
    segments: ReadSegments,
    stream: Option<Stream>,
    dirty: DirtyExtents,
    /// Cached writes whose data is still on the link.
    arriving_sectors: u64,
    /// What the arm is writing from the cache, and when it is done; ascending in time.
    destaging: VecDeque<(Extent, Nanos)>,
    destaged_last: bool,
    record: Option<Vec<Destaged>>,
    activity: Activity,
}

/// A command the drive has admitted.
struct Slot {
    request: Request,
    arrived: Waiting,
    /// Where it begins, cached so that sorting the queue does not compute it again; not set in a
    /// queue of one, which needs no sorting.
    place: Place,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Needs the arm.
    Arm,
    /// A write that waits for room in the cache.
    Room,
    /// Completes at this time.
    Done(Nanos),
    /// A write into the cache whose data has arrived at this time.
    Cached(Nanos),
}

/// Reading ahead from `head.next_lba`.
struct Stream {
    segment: usize,
    limit: u64,
    /// When the sector before `head.next_lba` had passed, or the arm was sent to read on.
    at: Nanos,
}

impl Drive {
    /// Builds a drive from checked parameters.
    pub(crate) fn new(drive: &DriveParameters, seed: u64, options: &Options) -> Drive {
        let sectors = options.sectors_of(drive.sectors);
        let depth = options.queue_depth.unwrap_or(drive.queue_depth).clamp(1, 256) as usize;
        let read_ahead = if options.read_ahead == Some(false) { 0 } else { drive.read_segments };
        Drive {
            motion: Motion::new(drive, seed),
            sectors,
            physical_sectors: (drive.physical_sector / SECTOR_BYTES).max(1),
            overhead: drive.overhead,
            link_ns_per_mib: (1_048_576.0 * 1e3 / drive.link_mb_per_s) as u64,
            queue_depth: depth,
            scheduler: options.scheduler.unwrap_or(drive.scheduler),
            flush_exclusive: drive.flush_exclusive,
            write_cache: options.write_cache.unwrap_or(drive.write_cache),
            protected: drive.write_cache_protected,
            buffer_sectors: drive.write_buffer.0 / SECTOR_BYTES,
            waiting: VecDeque::with_capacity(256),
            active: Vec::with_capacity(depth),
            outbox: Outbox::default(),
            clock: Nanos::ZERO,
            head: Head::default(),
            arm_free: Nanos::ZERO,
            link_free: Nanos::ZERO,
            segments: ReadSegments::new(read_ahead, drive.read_segment.0 / SECTOR_BYTES),
            stream: None,
            dirty: DirtyExtents::new(EXTENTS_MAX),
            arriving_sectors: 0,
            destaging: VecDeque::with_capacity(EXTENTS_MAX),
            destaged_last: false,
            record: options.record_destaging.then(Vec::new),
            activity: Activity::default(),
        }
    }

    fn link_time(&self, sectors: u64) -> u64 {
        sectors.saturating_mul(self.link_ns_per_mib) / (1_048_576 / SECTOR_BYTES)
    }

    /// Works through everything that happens up to and including `now`.
    fn work_until(&mut self, now: Nanos) {
        while let Some(event) = self.internal_event()
            && event <= now
        {
            self.step(event);
        }
        self.step(now);
    }

    /// The next time at which something changes that a host could notice.
    fn internal_event(&self) -> Option<Nanos> {
        let events = self.active.iter().filter_map(|slot| match slot.stage {
            Stage::Done(at) | Stage::Cached(at) => Some(at),
            // With the arm free, these wait for one of the others.
            Stage::Arm | Stage::Room => (self.arm_free > self.clock).then_some(self.arm_free),
        });
        events.min()
    }

    /// Processes everything that happens at one moment, in order.
    fn step(&mut self, now: Nanos) {
        self.destage_while_idle(now);
        self.clock = now;
        while self.destaging.front().is_some_and(|(_, done)| *done <= now) {
            self.destaging.pop_front();
        }
        loop {
            self.finish(now);
            let admitted = self.admit(now);
            self.find_room(now);
            let sent = self.send_arm(now);
            if !admitted && !sent {
                break;
            }
        }
    }

    /// Completes the commands that are done: at `now`, since every moment at which one is done has
    /// its own step.
    fn finish(&mut self, now: Nanos) {
        let done = |slot: &Slot| match slot.stage {
            Stage::Done(at) | Stage::Cached(at) => at <= now,
            Stage::Arm | Stage::Room => false,
        };
        while let Some(index) = self.active.iter().position(done) {
            // The order of the rest is kept: first come, first served.
            let slot = self.active.remove(index);
            let Request { lba, sectors, .. } = slot.request;
            if let Stage::Cached(_) = slot.stage {
                self.arriving_sectors -= sectors;
                self.dirty.insert(lba.0, lba.0 + sectors);
            }
            if slot.request.operation == Operation::Flush {
                self.activity.flushes += 1;
            }
            self.outbox.push(slot.request.id, now);
        }
    }

    /// Takes commands from the host's queue; false if none could be.
    fn admit(&mut self, now: Nanos) -> bool {
        let mut admitted = false;
        while let Some(request) = self.waiting.front().copied()
            && self.active.len() < self.queue_depth
        {
            let is_flush = |slot: &Slot| slot.request.operation == Operation::Flush;
            let alone = request.operation == Operation::Flush && !self.active.is_empty();
            if self.flush_exclusive && (alone || self.active.iter().any(is_flush)) {
                break;
            }
            self.waiting.pop_front();
            let arrived = Waiting { lba: request.lba.0, arrived: now };
            let stage = self.begin(&request, now);
            let place = match stage {
                Stage::Arm if self.queue_depth > 1 => self.motion.geometry().locate(request.lba.0),
                _ => Place::default(),
            };
            self.active.push(Slot { request, arrived, place, stage });
            admitted = true;
        }
        admitted
    }

    /// What a command needs, determined when it arrives.
    fn begin(&mut self, request: &Request, now: Nanos) -> Stage {
        let (start, end) = (request.lba.0, request.lba.0 + request.sectors);
        match request.operation {
            Operation::Read => {
                self.activity.host_read_sectors += request.sectors;
                let ready = now + self.overhead.read_hit;
                if self.stream_reaches(start) {
                    self.read_ahead_until(ready);
                }
                let hit = self.segments.covering(start, end);
                if hit.is_none() && !self.dirty.covers(start, end) {
                    return Stage::Arm;
                }
                self.activity.read_hits += 1;
                if let Some(segment) = hit {
                    self.extend_stream(segment, end, ready);
                }
                self.link_free = self.link_free.max(ready) + Nanos(self.link_time(request.sectors));
                Stage::Done(self.link_free)
            }
            Operation::Write => {
                self.activity.host_written_sectors += request.sectors;
                let through = !self.write_cache
                    || (request.fua && !self.protected)
                    || request.sectors > self.buffer_sectors
                    || self.overtakes_a_write(start, end);
                if through { Stage::Arm } else { self.take_in(request, now) }
            }
            Operation::Flush if self.write_cache && !self.protected => Stage::Arm,
            Operation::Flush | Operation::Discard => Stage::Done(now + self.overhead.write_hit),
        }
    }

    /// Whether an older write to the same sectors still waits for the arm: the cache must not
    /// get ahead of it.
    fn overtakes_a_write(&self, start: u64, end: u64) -> bool {
        self.active.iter().any(|slot| {
            let Request { operation, lba, sectors, .. } = slot.request;
            slot.stage == Stage::Arm
                && operation == Operation::Write
                && lba.0 < end
                && start < lba.0 + sectors
        })
    }

    /// Takes a write into the cache, if there is room.
    fn take_in(&mut self, request: &Request, now: Nanos) -> Stage {
        let destaging: u64 = self.destaging.iter().map(|(extent, _)| extent.sectors()).sum();
        let held = self.dirty.sectors() + self.arriving_sectors + destaging;
        let extents = self.dirty.len() + self.active.len();
        if held + request.sectors > self.buffer_sectors || extents >= EXTENTS_MAX {
            return Stage::Room;
        }
        self.arriving_sectors += request.sectors;
        let ready = self.link_free.max(now + self.overhead.write_hit);
        self.link_free = ready + Nanos(self.link_time(request.sectors));
        Stage::Cached(self.link_free)
    }

    fn find_room(&mut self, now: Nanos) {
        for index in 0..self.active.len() {
            if self.active[index].stage == Stage::Room {
                let request = self.active[index].request;
                self.active[index].stage = self.take_in(&request, now);
                if self.active[index].stage == Stage::Room {
                    return;
                }
            }
        }
    }
}

impl Model for Drive {
    fn capacity(&self) -> Bytes {
        Bytes(self.sectors * SECTOR_BYTES)
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.work_until(now);
        let mut request = request.within(self.sectors);
        if request.sectors == 0 && request.operation != Operation::Flush {
            // No data to move: it costs only the command's overhead.
            request.operation = Operation::Discard;
        }
        self.waiting.push_back(request);
        self.step(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.outbox.first().or_else(|| self.internal_event())
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        self.work_until(now);
        self.outbox.take(completed);
    }

    fn is_durable(&self, lba: Lba, sectors: u64) -> bool {
        let (start, end) = (lba.0, lba.0.saturating_add(sectors));
        // What has reached the platter is no longer among it.
        let mut destaging = self.destaging.iter();
        let in_motion = destaging.any(|(extent, _)| extent.start < end && start < extent.end);
        self.protected || !(in_motion || self.dirty.touches(start, end))
    }

    fn take_destaged(&mut self, destaged: &mut Vec<Destaged>) {
        if let Some(record) = &mut self.record {
            let due = record.partition_point(|entry| entry.finished <= self.clock);
            destaged.extend(record.drain(..due));
        }
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
