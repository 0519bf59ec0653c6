//! A RAID controller as its host sees it: memory that a battery keeps alive, and members
//! behind it that are models themselves.

mod memory;
mod reading;
mod rebuild;
#[cfg(test)]
mod tests;
mod writing;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

use super::jobs::{Gap, reconstruction};
use super::parameters::ControllerParameters;
use super::striping::{Level, Piece, Striping};
use crate::models::dirty::{DirtyExtents, Extent};
use crate::models::outbox::Outbox;
use crate::options::Options;
use crate::{Activity, Completion, Destaged, Model, Operation, Request, RequestId};
use memory::PARTIAL_STRIPE_WAIT;
use rebuild::Lost;

/// A simulated controller and its members.
pub(crate) struct Controller {
    striping: Striping,
    sectors: u64,
    command: Nanos,
    link_ns_per_mib: u64,
    parity_ns_per_mib: u64,
    write_back: bool,
    member_cache: bool,
    memory_sectors: u64,
    member_queue_depth: usize,

    members: Vec<Member>,
    lost: Option<Lost>,
    jobs: Vec<Job>,
    free_jobs: Vec<usize>,
    operations: u64,
    /// Commands that are done but for the link or the controller, soonest first.
    finishing: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    for_room: VecDeque<usize>,
    outbox: Outbox,
    completed: Vec<Completion>,

    clock: Nanos,
    link_free: Nanos,
    dirty: DirtyExtents,
    arriving_sectors: u64,
    destaging: Vec<Extent>,
    reads: usize,
    cursor: u64,
    last_write: Nanos,
    record: Option<Vec<Destaged>>,
    activity: Activity,
}

struct Member {
    model: Box<dyn Model>,
    queue: VecDeque<Request>,
    outstanding: usize,
    next_lba: u64,
}

/// Work that takes several steps. It waits for a number of other jobs and member operations, which
/// count down to its next step.
#[derive(Debug, Default)]
struct Job {
    what: What,
    remaining: u32,
    /// What follows when all of the first step is done.
    then: Vec<Piece>,
    fua: bool,
    /// Sectors of a read that are computed from those of other members.
    computed: u64,
    /// Sectors of a write that have been taken into the memory, or are on their way.
    taken: u64,
}

#[derive(Debug, Default, Clone, Copy)]
enum What {
    #[default]
    Nothing,
    /// A host's request.
    Host(Request),
    /// One stripe of another job.
    Part(usize),
    /// Sectors of a write on their way into the memory, and if they are its last, whose.
    Taken(Extent, Option<usize>),
    /// Dirty sectors on their way to the members.
    Destage(Extent, Nanos),
    /// A step of filling a new member, up to this sector of it.
    Rebuild { to: u64, begun: Nanos },
}

impl Controller {
    /// Builds a controller over `members`, which are all alike.
    pub(crate) fn new(
        controller: &ControllerParameters,
        members: Vec<Box<dyn Model>>,
        options: &Options,
    ) -> Controller {
        let each = members.iter().map(|member| member.capacity().0 / SECTOR_BYTES).min();
        let striping = controller.striping();
        let ns_per_mib = |mb_per_s: f64| (1_048_576.0 * 1e3 / mb_per_s) as u64;
        let member = |model| Member { model, queue: VecDeque::new(), outstanding: 0, next_lba: 0 };
        let sectors = options.sectors_of(striping.capacity(each.unwrap_or(0)));
        Controller {
            sectors,
            lost: Lost::of(options.array_state, &striping, sectors, controller.rebuild_share),
            striping,
            command: controller.command,
            link_ns_per_mib: ns_per_mib(controller.link_mb_per_s),
            parity_ns_per_mib: ns_per_mib(controller.parity_mb_per_s),
            write_back: options.battery.unwrap_or(controller.battery),
            member_cache: options.write_cache.unwrap_or(controller.member_write_cache),
            memory_sectors: controller.write_memory.0 / SECTOR_BYTES,
            member_queue_depth: controller.member_queue_depth as usize,
            members: members.into_iter().map(member).collect(),
            jobs: Vec::new(),
            free_jobs: Vec::new(),
            operations: 0,
            finishing: BinaryHeap::new(),
            for_room: VecDeque::new(),
            outbox: Outbox::default(),
            completed: Vec::with_capacity(64),
            clock: Nanos::ZERO,
            link_free: Nanos::ZERO,
            dirty: DirtyExtents::new(1024),
            arriving_sectors: 0,
            destaging: Vec::new(),
            reads: 0,
            cursor: 0,
            last_write: Nanos::ZERO,
            record: options.record_destaging.then(Vec::new),
            activity: Activity::default(),
        }
    }

    fn link(&mut self, sectors: u64, from: Nanos) -> Nanos {
        let time = Nanos((sectors * SECTOR_BYTES).saturating_mul(self.link_ns_per_mib) >> 20);
        self.link_free = self.link_free.max(from) + time;
        self.link_free
    }

    fn work_until(&mut self, now: Nanos) {
        while let Some(event) = self.internal_event()
            && event <= now
        {
            self.step(event.max(self.clock));
        }
        self.step(now);
    }

    fn internal_event(&self) -> Option<Nanos> {
        let members = self.members.iter().filter_map(|member| member.model.next_event());
        let finishing = self.finishing.peek().map(|Reverse((at, ..))| *at);
        let partial = self.last_write + PARTIAL_STRIPE_WAIT;
        let partial = (!self.dirty.is_empty() && partial > self.clock).then_some(partial);
        members.chain(finishing).chain(partial).chain(self.next_step()).min()
    }

    fn step(&mut self, now: Nanos) {
        self.clock = now;
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if member.model.next_event().is_some_and(|event| event <= now) {
                let mut completed = std::mem::take(&mut self.completed);
                member.model.advance(now, &mut completed);
                for completion in completed.drain(..) {
                    self.members[index].outstanding -= 1;
                    self.count_down((completion.id.0 & 0xff_ffff) as usize, completion.at);
                }
                self.completed = completed;
                self.feed(index, now);
            }
        }
        while let Some(Reverse((at, _, job))) = self.finishing.peek().copied()
            && at <= now
        {
            self.finishing.pop();
            self.answer(job, at);
        }
        self.give_room(now);
        self.destage(now);
        self.rebuild(now);
    }

    fn new_job(&mut self, what: What, fua: bool) -> usize {
        let job = Job { what, remaining: 0, then: Vec::new(), fua, computed: 0, taken: 0 };
        match self.free_jobs.pop() {
            Some(index) => {
                self.jobs[index] = job;
                index
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() - 1
            }
        }
    }

    /// Gives a member something to do for `job`.
    fn send(&mut self, job: usize, piece: Piece, operation: Operation, fua: bool, now: Nanos) {
        self.jobs[job].remaining += 1;
        self.operations += 1;
        let id = RequestId((self.operations << 24) | job as u64);
        let request = Request { id, operation, lba: Lba(piece.lba), sectors: piece.sectors, fua };
        let index = piece.member as usize;
        self.members[index].queue.push_back(request);
        self.feed(index, now);
    }

    fn feed(&mut self, index: usize, now: Nanos) {
        let depth = self.member_queue_depth;
        let member = &mut self.members[index];
        while member.outstanding < depth
            && let Some(request) = member.queue.pop_front()
        {
            member.outstanding += 1;
            member.next_lba = request.lba.0 + request.sectors;
            member.model.submit(now, request);
        }
    }

    /// One step of a job is done; what follows from it is begun.
    fn count_down(&mut self, index: usize, now: Nanos) {
        let job = &mut self.jobs[index];
        job.remaining -= 1;
        if job.remaining > 0 {
            return;
        }
        if !job.then.is_empty() {
            let (then, fua) = (std::mem::take(&mut job.then), job.fua);
            for piece in then {
                self.send(index, piece, Operation::Write, fua, now);
            }
            return;
        }
        match self.jobs[index].what {
            // These end at a fixed time.
            What::Nothing | What::Taken(..) => {}
            What::Part(parent) => {
                self.free_jobs.push(index);
                self.count_down(parent, now);
            }
            What::Destage(extent, started) => {
                self.free_jobs.push(index);
                self.destaging.retain(|held| *held != extent);
                if let Some(record) = &mut self.record {
                    let (lba, sectors) = (Lba(extent.start), extent.sectors());
                    record.push(Destaged { lba, sectors, started, finished: now });
                }
            }
            What::Rebuild { to, begun } => {
                self.free_jobs.push(index);
                self.filled(to, begun, now);
            }
            What::Host(request) => {
                let parity = |sectors: u64| {
                    let bytes = sectors * SECTOR_BYTES;
                    Nanos(bytes.saturating_mul(self.parity_ns_per_mib) >> 20)
                };
                // The controller's own time is added at the end, which gives the same sum.
                let ready = now + self.command;
                let at = match request.operation {
                    Operation::Read => {
                        let ready = ready + parity(self.jobs[index].computed);
                        self.reads -= 1;
                        self.link(request.sectors, ready)
                    }
                    Operation::Write if self.striping.level == Level::Raid5 => {
                        ready + parity(request.sectors)
                    }
                    _ => ready,
                };
                self.finish_at(index, at);
            }
        }
    }

    fn finish_at(&mut self, job: usize, at: Nanos) {
        self.operations += 1;
        self.finishing.push(Reverse((at, self.operations, job)));
    }

    /// Ends a job whose time has come: sectors are in the memory, a request is done.
    fn answer(&mut self, index: usize, at: Nanos) {
        match std::mem::take(&mut self.jobs[index].what) {
            What::Taken(extent, last_of) => {
                self.arriving_sectors -= extent.sectors();
                self.dirty.insert(extent.start, extent.end);
                self.last_write = at;
                if let Some(request) = last_of {
                    self.answer(request, at);
                }
            }
            What::Host(request) => {
                if request.operation == Operation::Flush {
                    self.activity.flushes += 1;
                }
                self.outbox.push(request.id, at);
            }
            _ => {}
        }
        self.free_jobs.push(index);
    }

    fn begin(&mut self, request: Request, now: Nanos) {
        let job = self.new_job(What::Host(request), request.fua && self.member_cache);
        let ready = now + self.command;
        match request.operation {
            Operation::Read if request.sectors > 0 => self.begin_read(job, request, ready, now),
            Operation::Write if request.sectors > 0 => {
                self.activity.host_written_sectors += request.sectors;
                if self.write_back {
                    self.for_room.push_back(job);
                    self.give_room(now);
                } else {
                    self.write_members(job, request.lba.0, request.sectors, now);
                }
            }
            Operation::Flush if !self.write_back && self.member_cache => {
                let absent = self.absent();
                for member in (0..self.striping.members).filter(|one| Some(*one) != absent) {
                    let piece = Piece { member, lba: 0, sectors: 0 };
                    self.send(job, piece, Operation::Flush, false, now);
                }
            }
            _ => self.finish_at(job, ready),
        }
    }
}

impl Model for Controller {
    fn capacity(&self) -> Bytes {
        Bytes(self.sectors * SECTOR_BYTES)
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.work_until(now);
        self.begin_rebuild(now);
        self.begin(request.within(self.sectors), now);
        self.destage(now);
        self.rebuild(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.outbox.first().or_else(|| self.internal_event())
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        self.work_until(now);
        self.outbox.take(completed);
    }

    fn is_durable(&self, lba: Lba, sectors: u64) -> bool {
        if self.write_back {
            return true;
        }
        let sectors = sectors.min(self.sectors.saturating_sub(lba.0));
        let (striping, gap) = (self.striping, self.unreadable());
        let durable = |piece: Piece| {
            let model = &self.members[piece.member as usize].model;
            model.is_durable(Lba(piece.lba), piece.sectors)
        };
        striping.pieces(lba.0, sectors).all(|piece| {
            let copies = piece.member..piece.member + striping.copies();
            let mut copies =
                copies.map(|member| Piece { member, ..piece }).filter(|copy| !Gap::has(gap, copy));
            match copies.next() {
                Some(copy) => durable(copy) && copies.all(durable),
                None => reconstruction(&striping, &piece).all(durable),
            }
        })
    }

    fn is_rebuilding(&self) -> bool {
        self.lost_is_new()
    }

    fn take_destaged(&mut self, destaged: &mut Vec<Destaged>) {
        if let Some(record) = &mut self.record {
            destaged.append(record);
        }
    }

    fn activity(&self) -> Activity {
        let mut activity = self.activity;
        for member in &self.members {
            activity.add_medium_of(&member.model.activity());
        }
        activity
    }
}
