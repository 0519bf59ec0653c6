//! An SSD as its host sees it: a link, a controller, a write buffer and the flash behind it.
//!
//! A read of data that was never written (or was discarded) is answered by the controller without
//! reading flash. A model starts as a new drive, with every block free.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

use super::dies::Dies;
use super::mapping::{Collected, Mapping};
use super::parameters::{SsdParameters, UNIT_BYTES, UNIT_SECTORS};
use crate::models::outbox::Outbox;
use crate::options::Options;
use crate::{Activity, Completion, Destaged, Model, Operation, Request, RequestId};

/// How long a page that is not full waits in the buffer for more. An assumption.
const PARTIAL_PAGE_WAIT: Nanos = Nanos::from_millis(10);

/// A simulated SSD.
pub(crate) struct Ssd {
    ssd: SsdParameters,
    sectors: u64,
    queue_depth: usize,
    buffered: bool,
    buffer_units: u64,
    link_ns_per_mib: u64,

    waiting: VecDeque<Request>,
    /// Commands under way: when each completes, in which order they came, and its name.
    active: BinaryHeap<Reverse<(Nanos, u64, RequestId)>>,
    order: u64,
    outbox: Outbox,

    clock: Nanos,
    command_free: Nanos,
    link_in_free: Nanos,
    link_out_free: Nanos,
    /// Nothing starts before an exclusive flush is done.
    barrier: Nanos,
    last_done: Nanos,
    dies: Dies,
    mapping: Mapping,
    /// Units in the buffer that do not fill a page yet, and since when.
    staged: Vec<u32>,
    staged_at: Nanos,
    /// When units leave the buffer, and how many.
    leaving: BinaryHeap<Reverse<(Nanos, u64)>>,
    leaving_units: u64,
    written_since_flush: bool,
    /// When the last flush is or was done.
    flushed: Nanos,
    record: Option<Vec<Destaged>>,
    activity: Activity,
}

impl Ssd {
    /// Builds an SSD from checked parameters.
    pub(crate) fn new(ssd: &SsdParameters, options: &Options) -> Ssd {
        let sectors = options.sectors_of(ssd.sectors);
        Ssd {
            sectors,
            queue_depth: options.queue_depth.unwrap_or(ssd.queue_depth).max(1) as usize,
            buffered: options.write_cache.unwrap_or(true),
            buffer_units: ssd.write_buffer.0 / UNIT_BYTES,
            link_ns_per_mib: (1_048_576.0 * 1e3 / ssd.link_mb_per_s) as u64,
            waiting: VecDeque::with_capacity(256),
            active: BinaryHeap::with_capacity(256),
            order: 0,
            outbox: Outbox::default(),
            clock: Nanos::ZERO,
            command_free: Nanos::ZERO,
            link_in_free: Nanos::ZERO,
            link_out_free: Nanos::ZERO,
            barrier: Nanos::ZERO,
            last_done: Nanos::ZERO,
            dies: Dies::new(ssd),
            mapping: Mapping::new(ssd, sectors),
            staged: Vec::with_capacity(ssd.units_per_page() as usize),
            staged_at: Nanos::ZERO,
            leaving: BinaryHeap::new(),
            leaving_units: 0,
            written_since_flush: false,
            flushed: Nanos::ZERO,
            record: options.record_destaging.then(Vec::new),
            activity: Activity::default(),
            ssd: ssd.clone(),
        }
    }

    fn work_until(&mut self, now: Nanos) {
        while let Some(Reverse((at, _, id))) = self.active.peek().copied()
            && at <= now
        {
            self.active.pop();
            self.clock = self.clock.max(at);
            self.outbox.push(id, at);
            self.start_waiting();
        }
        if !self.staged.is_empty() && self.staged_at + PARTIAL_PAGE_WAIT <= now {
            self.program_staged(self.staged_at + PARTIAL_PAGE_WAIT);
        }
        self.clock = self.clock.max(now);
        while let Some(Reverse((at, units))) = self.leaving.peek().copied()
            && at <= now
        {
            self.leaving.pop();
            self.leaving_units -= units;
        }
    }

    fn start_waiting(&mut self) {
        while self.active.len() < self.queue_depth
            && let Some(request) = self.waiting.pop_front()
        {
            let done = self.begin(&request, self.clock);
            self.last_done = self.last_done.max(done);
            self.order += 1;
            self.active.push(Reverse((done, self.order, request.id)));
        }
    }

    /// Works out when a command that starts at `now` is done.
    fn begin(&mut self, request: &Request, now: Nanos) -> Nanos {
        let start = self.command_free.max(now).max(self.barrier);
        self.command_free = start + self.ssd.command_interval;
        let start = start + self.ssd.command_interval;
        match request.operation {
            Operation::Read => {
                self.activity.host_read_sectors += request.sectors;
                self.read(request, start + self.ssd.command_read)
            }
            Operation::Write => {
                self.activity.host_written_sectors += request.sectors;
                self.write(request, start + self.ssd.command_write)
            }
            Operation::Flush => {
                self.activity.flushes += 1;
                self.flush(start)
            }
            Operation::Discard => {
                for unit in whole_units(request) {
                    self.mapping.discard(unit);
                }
                start + self.ssd.command_write
            }
        }
    }

    fn link(&mut self, sectors: u64, from: Nanos, ready: Nanos, to_host: bool) -> Nanos {
        let time = Nanos((sectors * SECTOR_BYTES).saturating_mul(self.link_ns_per_mib) >> 20);
        let free = if self.ssd.full_duplex && to_host {
            &mut self.link_out_free
        } else {
            &mut self.link_in_free
        };
        // Only the total work is tracked: a late transfer does not delay one that could go before.
        *free = (*free).max(from) + time;
        (*free).max(ready + time)
    }

    fn read(&mut self, request: &Request, start: Nanos) -> Nanos {
        let mut ready = start;
        let mut from_flash = false;
        let mut page_units = 0;
        let mut page = None;
        for unit in units(request) {
            let place = self.place_to_read(unit, start);
            if place != page {
                ready = ready.max(self.read_page(page, page_units, start));
                (page, page_units) = (place, 0);
            }
            page_units += 1;
            from_flash |= place.is_some();
        }
        ready = ready.max(self.read_page(page, page_units, start));
        if !from_flash {
            self.activity.read_hits += 1;
        }
        self.link(request.sectors, start, ready, true)
    }

    /// The die and page to read for a unit; `None` if it is in the buffer or was never written.
    fn place_to_read(&self, unit: u64, now: Nanos) -> Option<(u32, u64)> {
        if self.staged.contains(&(unit as u32)) {
            return None;
        }
        let page = self.mapping.page_of(unit)?;
        self.dies.pending(page.die, page.number, now).is_none().then_some((page.die, page.number))
    }

    fn read_page(&mut self, page: Option<(u32, u64)>, units: u64, now: Nanos) -> Nanos {
        let Some((die, _)) = page else { return now };
        self.activity.media_operations += 1;
        self.activity.media_read_sectors += units * UNIT_SECTORS;
        self.dies.read(die, units * UNIT_BYTES, now)
    }

    fn write(&mut self, request: &Request, start: Nanos) -> Nanos {
        let arrived = self.link(request.sectors, start, start, false);
        let (mut room, mut ready) = (start, arrived);
        for unit in units(request) {
            let whole = unit * UNIT_SECTORS >= request.lba.0
                && (unit + 1) * UNIT_SECTORS <= request.lba.0 + request.sectors;
            if !whole {
                // Part of a unit: the rest of it is read first.
                let page = self.place_to_read(unit, start);
                ready = ready.max(self.read_page(page, 1, start));
            }
            // If there is more data than the buffer holds, it flows in as fast as it flows out.
            while self.leaving_units + self.staged.len() as u64 >= self.buffer_units
                && let Some(Reverse((at, units))) = self.leaving.pop()
            {
                self.leaving_units -= units;
                room = room.max(at);
            }
            self.stage(unit as u32, room);
        }
        let ready = ready.max(room);
        self.written_since_flush = true;
        if self.ssd.power_loss_protection || (self.buffered && !request.fua) {
            return ready;
        }
        // Through the buffer: the data, then the map that finds it.
        self.program_staged(ready);
        let durable = self.dies.all_programmed(ready);
        if request.fua { durable + self.ssd.flush } else { durable }
    }

    /// Puts a unit into the buffer; a full page goes to the flash.
    fn stage(&mut self, unit: u32, at: Nanos) {
        if self.staged.contains(&unit) {
            return;
        }
        if self.staged.is_empty() {
            self.staged_at = at;
        }
        self.staged.push(unit);
        if self.staged.len() == self.ssd.units_per_page() as usize {
            self.program_staged(at);
        }
    }

    fn program_staged(&mut self, at: Nanos) {
        if self.staged.is_empty() {
            return;
        }
        let staged = std::mem::take(&mut self.staged);
        let (page, collected) = self.mapping.append(&staged);
        if collected != Collected::default() {
            let Collected { pages_read, pages_programmed, erases } = collected;
            self.dies.collect(page.die, pages_read, pages_programmed, erases, at);
            let page_sectors = self.ssd.page.0 / SECTOR_BYTES;
            self.activity.media_operations += u64::from(pages_read + pages_programmed);
            self.activity.media_read_sectors += u64::from(pages_read) * page_sectors;
            self.activity.media_written_sectors += u64::from(pages_programmed) * page_sectors;
            self.activity.erases += u64::from(erases);
        }
        let done = self.dies.program(page.die, page.number, self.ssd.page.0, at);
        self.activity.media_operations += 1;
        self.activity.media_written_sectors += self.ssd.page.0 / SECTOR_BYTES;
        self.leaving.push(Reverse((done, staged.len() as u64)));
        self.leaving_units += staged.len() as u64;
        if let Some(record) = &mut self.record
            && !self.ssd.power_loss_protection
        {
            record.extend(staged.iter().map(|unit| Destaged {
                lba: Lba(u64::from(*unit) * UNIT_SECTORS),
                sectors: UNIT_SECTORS,
                started: at,
                finished: done,
            }));
        }
        // The buffer's memory is kept for the next page.
        self.staged = staged;
        self.staged.clear();
    }

    fn flush(&mut self, start: Nanos) -> Nanos {
        let start = if self.ssd.flush_exclusive { start.max(self.last_done) } else { start };
        let done = if self.ssd.power_loss_protection {
            start + self.ssd.flush
        } else if self.written_since_flush {
            self.program_staged(start);
            self.dies.all_programmed(start) + self.ssd.flush
        } else {
            // Nothing new, but an earlier flush may still be in progress.
            self.flushed.max(start + self.ssd.command_write)
        };
        self.flushed = done;
        self.written_since_flush = false;
        if self.ssd.flush_exclusive {
            self.barrier = done;
        }
        done
    }
}

/// The units a request touches.
fn units(request: &Request) -> std::ops::Range<u64> {
    let end = request.lba.0 + request.sectors;
    request.lba.0 / UNIT_SECTORS..end.div_ceil(UNIT_SECTORS)
}

/// The units a request covers whole.
fn whole_units(request: &Request) -> std::ops::Range<u64> {
    let end = request.lba.0 + request.sectors;
    request.lba.0.div_ceil(UNIT_SECTORS)..end / UNIT_SECTORS
}

impl Model for Ssd {
    fn capacity(&self) -> Bytes {
        Bytes(self.sectors * SECTOR_BYTES)
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.work_until(now);
        self.waiting.push_back(request.within(self.sectors));
        self.start_waiting();
    }

    fn next_event(&self) -> Option<Nanos> {
        self.outbox.first().or_else(|| self.active.peek().map(|Reverse((at, ..))| *at))
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        self.work_until(now);
        self.outbox.take(completed);
    }

    fn is_durable(&self, lba: Lba, sectors: u64) -> bool {
        let asked = Request {
            id: RequestId(0),
            operation: Operation::Read,
            lba,
            sectors: sectors.min(self.sectors.saturating_sub(lba.0)),
            fua: false,
        };
        self.ssd.power_loss_protection
            || units(&asked).all(|unit| {
                !self.staged.contains(&(unit as u32))
                    && self.mapping.page_of(unit).is_none_or(|page| {
                        self.dies.pending(page.die, page.number, self.clock).is_none()
                    })
            })
    }

    fn take_destaged(&mut self, destaged: &mut Vec<Destaged>) {
        let clock = self.clock;
        if let Some(record) = &mut self.record {
            // Dies finish in a different order than they start.
            record.sort_by_key(|entry| entry.finished);
            let due = record.partition_point(|entry| entry.finished <= clock);
            destaged.extend(record.drain(..due));
        }
    }

    fn activity(&self) -> Activity {
        self.activity
    }
}
