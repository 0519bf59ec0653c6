//! The server of the simulated disks. It takes requests from a front end, advances the models'
//! time, moves the data, and completes each request at the time its model gives.
//!
//! It knows nothing of ublk: [`FrontEnd`] is all it needs of a kernel, so tests drive it with a
//! front end of their own.

use std::io;

use disk::{Completion, Model, Operation, Record, Request, RequestId};
use units::{Nanos, SECTOR_BYTES};

pub use crate::front::{Arrival, Ending, FrontEnd};
use crate::late::LateTime;
use crate::region::{Region, Word, Words};
use crate::requests::RequestLog;
pub use crate::service::{FIXED, Service};
use crate::store::{PageStore, StoreError};
use crate::tape::{Logged, SharedTape};

/// Defects beyond this number are not reported.
const COMPLAINTS_MAX: u64 = 4;

/// One disk and its outstanding requests.
struct Served {
    model: Box<dyn Model>,
    /// How far the model's time has come; never goes back.
    told: Nanos,
    outstanding: Vec<Option<Outstanding>>,
}

#[derive(Clone, Copy)]
struct Outstanding {
    arrival: Arrival,
    submitted: Nanos,
    phase: u32,
    ending: Ending,
    /// Set during calibration: the completion time, regardless of the model.
    fixed: Option<Nanos>,
    /// Its place in the tape.
    logged: Option<Logged>,
}

/// The server.
pub struct Server<F> {
    front: F,
    region: Region,
    words: Words,
    store: PageStore,
    disks: Vec<Served>,
    log: RequestLog,
    /// Origin of the models' time.
    origin: Nanos,
    completed: Vec<Completion>,
    /// When requests were late, on any disk.
    late: LateTime,
    /// Completions that the next wait sends off.
    sent: u64,
    /// Time that the kernel spent in the last wait on completing requests, mainly on releasing
    /// each page of a write. The interrupt of a real drive does the same and delays the next one,
    /// so this makes no request late that would be on time with a real drive.
    ending: Nanos,
    /// Called for requests that could not be served.
    complain: fn(&str),
    /// Whether it works on a processor that the trial does not have.
    own_processor: bool,
    /// Records contents, where a power cut is tried.
    tape: Option<SharedTape>,
}

impl<F: FrontEnd> Server<F> {
    /// A server of these disks; their time begins now.
    ///
    /// # Errors
    /// When the region's words cannot be mapped.
    pub fn new(
        front: F,
        region: Region,
        store: PageStore,
        models: Vec<Box<dyn Model>>,
        complain: fn(&str),
    ) -> io::Result<Server<F>> {
        let words = region.words()?;
        let origin = front.now();
        let disks = models
            .into_iter()
            .map(|model| Served { model, told: Nanos::ZERO, outstanding: Vec::new() })
            .collect();
        Ok(Server {
            front,
            region,
            words,
            store,
            disks,
            log: RequestLog::new(),
            origin,
            completed: Vec::new(),
            late: LateTime::default(),
            sent: 0,
            ending: Nanos::ZERO,
            complain,
            own_processor: false,
            tape: None,
        })
    }

    /// The same server, which records what it is told to.
    #[must_use]
    pub fn with_tape(self, tape: Option<SharedTape>) -> Server<F> {
        Server { tape, ..self }
    }

    /// The same server on a processor of its own: the trial's clock never stands still.
    #[must_use]
    pub fn on_own_processor(self, own_processor: bool) -> Server<F> {
        Server { own_processor, ..self }
    }

    /// Serves until the devices are gone.
    ///
    /// # Errors
    /// Whatever [`FrontEnd::wait`] ends with.
    pub fn run(&mut self) -> io::Result<()> {
        let mut arrived = Vec::new();
        loop {
            self.step(&mut arrived)?;
        }
    }

    /// Waits once and does what is then to be done.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn step(&mut self, arrived: &mut Vec<Arrival>) -> io::Result<()> {
        arrived.clear();
        let deadline = self.deadline();
        let before = self.front.spent();
        self.front.wait(deadline, arrived)?;
        // On the trial's only processor the clock stands still until the next wait: advancing the
        // models and copying data is work that a machine with real disks does not do. Nothing else
        // runs meanwhile.
        let now = self.front.now();
        let spent = self.front.spent().saturating_sub(before);
        let round_trips = self.words.get(Word::RoundTrip) * self.sent.max(1);
        self.ending = spent.saturating_sub(Nanos(round_trips));
        self.sent = 0;
        for arrival in arrived.iter() {
            self.submit(arrival, now);
        }
        for arrival in arrived.iter() {
            let ending = self.move_data(arrival);
            let tape = self.tape.as_ref();
            let logged = tape.and_then(|tape| tape.arrived(arrival, &mut self.store));
            if let Some(outstanding) = self.slot(arrival.disk, arrival.slot) {
                (outstanding.ending, outstanding.logged) = (ending, logged);
            }
        }
        self.complete_due(now)?;
        if !self.own_processor {
            self.front.exclude_since(now);
        }
        Ok(())
    }

    fn lead(&self) -> Nanos {
        Nanos(self.words.get(Word::Lead))
    }

    fn slot(&mut self, disk: usize, slot: u16) -> Option<&mut Outstanding> {
        self.disks.get_mut(disk)?.outstanding.get_mut(usize::from(slot))?.as_mut()
    }

    /// When there is next something to do if no new request arrives.
    fn deadline(&self) -> Option<Nanos> {
        let lead = self.lead();
        let fixed = self
            .disks
            .iter()
            .flat_map(|disk| disk.outstanding.iter().flatten())
            .filter_map(|outstanding| outstanding.fixed)
            .min();
        let models = self
            .disks
            .iter()
            .filter_map(|disk| disk.model.next_event())
            .min()
            .map(|event| (self.origin + event).saturating_sub(lead));
        fixed.into_iter().chain(models).min()
    }

    fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        let phase = self.words.get(Word::Phase) as u32;
        let service = Service::of(self.words.get(Word::Service));
        let Some(disk) = self.disks.get_mut(arrival.disk) else { return };
        let submitted = (now - self.origin).max(disk.told);
        let fixed = match service {
            Service::Immediate => Some(now),
            Service::Fixed => Some(now + FIXED),
            Service::Models => None,
        };
        if fixed.is_none() {
            disk.told = submitted;
            let request = Request {
                id: RequestId(u64::from(arrival.slot)),
                operation: arrival.operation,
                lba: arrival.lba,
                sectors: arrival.sectors,
                fua: arrival.fua,
            };
            disk.model.submit(submitted, request);
        }
        let slot = usize::from(arrival.slot);
        if disk.outstanding.len() <= slot {
            disk.outstanding.resize(slot + 1, None);
        }
        disk.outstanding[slot] = Some(Outstanding {
            arrival: *arrival,
            submitted,
            phase,
            ending: Ending::Error,
            fixed,
            logged: None,
        });
    }

    fn move_data(&mut self, arrival: &Arrival) -> Ending {
        let offset = arrival.lba.byte_offset().0;
        let len = arrival.sectors * SECTOR_BYTES;
        let front = &mut self.front;
        let changes = matches!(arrival.operation, Operation::Write | Operation::Discard);
        let moved = match arrival.operation {
            // Without power the write is dropped, but a process that waits for it must not wait
            // for ever.
            _ if changes && self.words.get(Word::PowerLost) != 0 => Ok(()),
            _ if self.tape.as_ref().is_some_and(|tape| !tape.admits(changes, &mut self.store)) => {
                Ok(())
            }
            Operation::Read => self.store.read(arrival.disk, offset, len, &mut |piece, place| {
                front.deliver(arrival, piece, place)
            }),
            Operation::Write => self.store.write(arrival.disk, offset, len, &mut |piece, place| {
                front.fetch(arrival, piece, place)
            }),
            Operation::Discard => self.store.discard(arrival.disk, offset, len),
            Operation::Flush => Ok(()),
        };
        match moved {
            Ok(()) => Ending::Done,
            Err(StoreError::Full(_)) => {
                self.words.set(Word::StoreFull, 1);
                Ending::NoSpace
            }
            Err(error @ (StoreError::Outside { .. } | StoreError::Io(_))) => {
                if self.words.get(Word::Defects) < COMPLAINTS_MAX {
                    (self.complain)(&format!("{arrival:?}: {error}"));
                }
                self.words.add(Word::Defects, 1);
                Ending::Error
            }
        }
    }

    /// Completes the requests that are done by `now`, or will be done within the time their way
    /// back takes.
    fn complete_due(&mut self, now: Nanos) -> io::Result<()> {
        let horizon = (now - self.origin) + self.lead();
        let mut completed = std::mem::take(&mut self.completed);
        for nth in 0..self.disks.len() {
            for slot in 0..self.disks[nth].outstanding.len() {
                let due = |outstanding: &Outstanding| outstanding.fixed.is_some_and(|at| at <= now);
                if let Some(outstanding) = self.disks[nth].outstanding[slot].take_if(|one| due(one))
                {
                    self.front.complete(&outstanding.arrival, outstanding.ending)?;
                    self.sent += 1;
                }
            }
            completed.clear();
            let disk = &mut self.disks[nth];
            while let Some(event) = disk.model.next_event().filter(|&event| event <= horizon) {
                disk.told = disk.told.max(event);
                disk.model.advance(disk.told, &mut completed);
            }
            for completion in &completed {
                self.finish(nth, completion, now)?;
            }
        }
        self.completed = completed;
        self.words.set(Word::StorePages, self.store.pages_in_use());
        let rebuilding = self.disks.iter().filter(|disk| disk.model.is_rebuilding()).count();
        self.words.set(Word::Rebuilding, rebuilding as u64);
        Ok(())
    }

    fn finish(&mut self, nth: usize, completion: &Completion, now: Nanos) -> io::Result<()> {
        let slot = usize::try_from(completion.id.0).unwrap_or(usize::MAX);
        let found = self.disks[nth].outstanding.get_mut(slot).and_then(Option::take);
        let Some(outstanding) = found else {
            self.words.add(Word::Defects, 1);
            return Ok(());
        };
        if let (Some(tape), Some(logged)) = (&self.tape, outstanding.logged) {
            tape.completed(logged);
        }
        self.front.complete(&outstanding.arrival, outstanding.ending)?;
        self.sent += 1;
        let late = self.lateness(&outstanding, completion.at, now);
        self.words.add(Word::Excess, self.late.add(completion.at, late).0);
        let arrival = &outstanding.arrival;
        let record = Record {
            disk: nth as u8,
            operation: arrival.operation,
            fua: arrival.fua,
            phase: u16::try_from(outstanding.phase).unwrap_or(u16::MAX),
            lba: arrival.lba,
            sectors: u32::try_from(arrival.sectors).unwrap_or(u32::MAX),
            submitted: outstanding.submitted,
            completed: Some(completion.at),
            payload: 0,
        };
        match self.log.append(&self.region, &record) {
            Some(count) => self.words.set(Word::Requests, count),
            None => self.words.add(Word::RequestsLost, 1),
        }
        Ok(())
    }

    /// By how much a request sent off `now` is later than its model says.
    fn lateness(&self, outstanding: &Outstanding, at: Nanos, now: Nanos) -> Nanos {
        // The least time of the whole round trip, compared with the model's time.
        let short = Nanos(self.words.get(Word::Floor)).saturating_sub(at - outstanding.submitted);
        // The time by which this server was too late.
        let late = now.saturating_sub(self.origin + at).saturating_sub(self.ending);
        short.max(late)
    }
}
