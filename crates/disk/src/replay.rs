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

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::{Activity, Destaged};

    /// Serves each request after the same time, or never. A replay that gets nowhere fails after a
    /// thousand calls.
    struct Server {
        takes: Option<Nanos>,
        due: Vec<Completion>,
        calls: u32,
    }

    impl Server {
        fn taking(takes: Option<Nanos>) -> Server {
            Server { takes, due: Vec::new(), calls: 0 }
        }
    }

    impl Model for Server {
        fn capacity(&self) -> Bytes {
            Bytes::from_mib(1)
        }

        fn submit(&mut self, now: Nanos, request: Request) {
            if let Some(takes) = self.takes {
                self.due.push(Completion { id: request.id, at: now + takes });
            }
        }

        fn next_event(&self) -> Option<Nanos> {
            self.due.first().map(|completion| completion.at)
        }

        fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
            self.calls += 1;
            assert!(self.calls < 1000, "the replay gets nowhere");
            let done = self.due.partition_point(|completion| completion.at <= now);
            completed.extend(self.due.drain(..done));
        }

        fn is_durable(&self, _lba: Lba, _sectors: u64) -> bool {
            true
        }

        fn take_destaged(&mut self, _destaged: &mut Vec<Destaged>) {}

        fn activity(&self) -> Activity {
            Activity::default()
        }
    }

    const READ: Asked = Asked::read(0, 8);

    /// When a request was submitted and when it completed, both in milliseconds.
    fn times(served: Served) -> (u64, u64) {
        (served.submitted.0 / 1_000_000, served.completed.0 / 1_000_000)
    }

    #[test]
    fn a_request_comes_its_gap_after_the_one_before_it_is_done() {
        let mut server = Server::taking(Some(Nanos::from_millis(3)));
        let mut seen = Vec::new();
        let requests = [1, 10].map(|gap| (Nanos::from_millis(gap), READ));
        Replay::new(&mut server).closed(1, requests, |each| seen.push(times(each))).unwrap();
        assert_eq!(seen, [(1, 4), (14, 17)]);
    }

    #[test]
    fn requests_come_at_their_times_however_many_are_outstanding() {
        let mut server = Server::taking(Some(Nanos::from_millis(3)));
        let mut seen = Vec::new();
        let requests = [0, 1, 1, 9].map(|at| (Nanos::from_millis(at), READ));
        Replay::new(&mut server).open(requests, |each| seen.push(times(each))).unwrap();
        assert_eq!(seen, [(0, 3), (1, 4), (1, 4), (9, 12)]);
    }

    #[test]
    fn time_passes_without_requests() {
        let mut server = Server::taking(Some(Nanos::from_millis(3)));
        let mut replay = Replay::new(&mut server);
        replay.idle(Nanos::from_millis(5));
        assert_eq!(replay.now(), Nanos::from_millis(5));
        assert_eq!(times(replay.one(READ).unwrap()), (5, 8));
        assert_eq!(replay.now(), Nanos::from_millis(8));
    }

    #[test]
    fn a_model_that_never_answers_has_stalled() {
        let mut server = Server::taking(None);
        let mut replay = Replay::new(&mut server);
        let stalled = Stalled { at: Nanos::from_millis(2), outstanding: 1 };
        let request = [(Nanos::from_millis(2), READ)];
        assert_eq!(replay.closed(1, request, |_| {}), Err(stalled));
    }
}
