//! Drives a model on the host, in virtual time: with a fixed number of requests outstanding, or
//! with requests at given times. It measures nothing itself; the caller sees every served request.

use std::collections::VecDeque;

use units::{Lba, Nanos};

use crate::{Completion, Model, Operation, Request, RequestId};

/// A request before it has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// What is asked.
    pub operation: Operation,
    /// First sector; 0 for a flush.
    pub lba: Lba,
    /// Sectors of 512 bytes; 0 for a flush.
    pub sectors: u64,
    /// Whether a write must be durable when it completes.
    pub fua: bool,
}

impl Asked {
    /// A read.
    pub const fn read(lba: u64, sectors: u64) -> Asked {
        Asked { operation: Operation::Read, lba: Lba(lba), sectors, fua: false }
    }

    /// A write.
    pub const fn write(lba: u64, sectors: u64) -> Asked {
        Asked { operation: Operation::Write, lba: Lba(lba), sectors, fua: false }
    }

    /// A flush.
    pub const FLUSH: Asked =
        Asked { operation: Operation::Flush, lba: Lba(0), sectors: 0, fua: false };
}

/// A request that has been served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// What was asked.
    pub asked: Asked,
    /// When it was submitted.
    pub submitted: Nanos,
    /// When it completed.
    pub completed: Nanos,
}

impl Served {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        self.completed - self.submitted
    }
}

/// The model has outstanding requests and says that nothing will ever happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk model stopped at {at} with {outstanding} requests outstanding: a defect in it")]
pub struct Stalled {
    /// The virtual time.
    pub at: Nanos,
    /// How many never complete.
    pub outstanding: usize,
}

/// A host in virtual time.
pub struct Replay<'a> {
    model: &'a mut dyn Model,
    now: Nanos,
    ids: u64,
    outstanding: Vec<(RequestId, Asked, Nanos)>,
    completed: Vec<Completion>,
}

impl<'a> Replay<'a> {
    /// Starts at time zero.
    pub fn new(model: &'a mut dyn Model) -> Replay<'a> {
        let (outstanding, completed) = (Vec::with_capacity(64), Vec::with_capacity(64));
        Replay { model, now: Nanos::ZERO, ids: 0, outstanding, completed }
    }

    /// The virtual time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The model, to look into.
    pub fn model(&mut self) -> &mut dyn Model {
        self.model
    }

    /// Lets time pass without requests.
    pub fn idle(&mut self, time: Nanos) {
        self.now += time;
        self.model.advance(self.now, &mut self.completed);
    }

    /// Keeps `depth` requests outstanding: each is submitted its own gap after an earlier
    /// one has completed. Returns when all are served.
    ///
    /// # Errors
    /// When the model stalls.
    pub fn closed(
        &mut self,
        depth: usize,
        requests: impl IntoIterator<Item = (Nanos, Asked)>,
        mut seen: impl FnMut(Served),
    ) -> Result<(), Stalled> {
        let mut free: VecDeque<Nanos> = std::iter::repeat_n(self.now, depth.max(1)).collect();
        let mut requests = requests.into_iter().peekable();
        loop {
            let due = match (requests.peek(), free.front()) {
                (Some((gap, _)), Some(since)) => Some((*since + *gap).max(self.now)),
                _ => None,
            };
            if !self.step(due, |served| {
                free.push_back(served.completed);
                seen(served);
            })? {
                return Ok(());
            }
            if due == Some(self.now)
                && let Some((_, asked)) = requests.next()
            {
                free.pop_front();
                self.submit(asked);
            }
        }
    }

    /// Submits each request at its time (times must ascend), however many are outstanding.
    ///
    /// # Errors
    /// When the model stalls.
    pub fn open(
        &mut self,
        requests: impl IntoIterator<Item = (Nanos, Asked)>,
        mut seen: impl FnMut(Served),
    ) -> Result<(), Stalled> {
        let mut requests = requests.into_iter().peekable();
        loop {
            let due = requests.peek().map(|(at, _)| (*at).max(self.now));
            if !self.step(due, &mut seen)? {
                return Ok(());
            }
            if due == Some(self.now)
                && let Some((_, asked)) = requests.next()
            {
                self.submit(asked);
            }
        }
    }

    /// Serves one request, alone.
    ///
    /// # Errors
    /// When the model stalls.
    pub fn one(&mut self, asked: Asked) -> Result<Served, Stalled> {
        let mut last = None;
        self.closed(1, [(Nanos::ZERO, asked)], |served| last = Some(served))?;
        last.ok_or(Stalled { at: self.now, outstanding: 1 })
    }

    fn submit(&mut self, asked: Asked) {
        let id = RequestId(self.ids);
        self.ids += 1;
        let Asked { operation, lba, sectors, fua } = asked;
        self.outstanding.push((id, asked, self.now));
        self.model.submit(self.now, Request { id, operation, lba, sectors, fua });
    }

    /// Moves to the model's next event or to `due`, whichever is first; false when there is
    /// neither.
    fn step(&mut self, due: Option<Nanos>, mut seen: impl FnMut(Served)) -> Result<bool, Stalled> {
        let event = self.model.next_event();
        let until = match (event, due) {
            (None, None) if self.outstanding.is_empty() => return Ok(false),
            (None, None) => {
                return Err(Stalled { at: self.now, outstanding: self.outstanding.len() });
            }
            (Some(event), Some(due)) => event.min(due),
            (Some(time), None) | (None, Some(time)) => time,
        };
        self.now = self.now.max(until);
        self.model.advance(self.now, &mut self.completed);
        for completion in self.completed.drain(..) {
            let place = self.outstanding.iter().position(|(id, ..)| *id == completion.id);
            if let Some(place) = place {
                let (_, asked, submitted) = self.outstanding.swap_remove(place);
                seen(Served { asked, submitted, completed: completion.at });
            }
        }
        Ok(due.is_some() || event.is_some())
    }
}
