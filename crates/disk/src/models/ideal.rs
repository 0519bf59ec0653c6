//! A device that takes no time, or always the same time. It is the reference for other devices, and
//! shows the overhead of everything between model and host.

use std::collections::VecDeque;

use serde::Deserialize;
use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

use crate::models::bounds;
use crate::models::outbox::Outbox;
use crate::options::Options;
use crate::{Activity, Completion, Destaged, Model, Operation, Request};

/// The `[ideal]` table of a parameter file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdealParameters {
    /// Sectors of 512 bytes offered to the host.
    pub sectors: u64,
    /// The time of every request, however many there are.
    pub latency: Nanos,
}

impl IdealParameters {
    /// Checks the whole; the error is the offending key and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        bounds::sectors(self.sectors)?;
        bounds::times(&[("latency", self.latency)])
    }
}

/// The model of [`IdealParameters`]: everything is durable when it completes.
pub(crate) struct Ideal {
    sectors: u64,
    latency: Nanos,
    due: VecDeque<Completion>,
    outbox: Outbox,
    activity: Activity,
}

impl Ideal {
    pub(crate) fn new(parameters: &IdealParameters, options: &Options) -> Ideal {
        Ideal {
            sectors: options.sectors_of(parameters.sectors),
            latency: parameters.latency,
            due: VecDeque::with_capacity(64),
            outbox: Outbox::default(),
            activity: Activity::default(),
        }
    }

    fn work_until(&mut self, now: Nanos) {
        while let Some(completion) = self.due.front()
            && completion.at <= now
        {
            self.outbox.push(completion.id, completion.at);
            self.due.pop_front();
        }
    }
}

impl Model for Ideal {
    fn capacity(&self) -> Bytes {
        Bytes(self.sectors * SECTOR_BYTES)
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        match request.operation {
            Operation::Read => {
                self.activity.host_read_sectors += request.sectors;
                self.activity.media_read_sectors += request.sectors;
            }
            Operation::Write => {
                self.activity.host_written_sectors += request.sectors;
                self.activity.media_written_sectors += request.sectors;
            }
            Operation::Flush => self.activity.flushes += 1,
            Operation::Discard => {}
        }
        self.activity.media_operations += 1;
        self.due.push_back(Completion { id: request.id, at: now + self.latency });
    }

    fn next_event(&self) -> Option<Nanos> {
        self.outbox.first().or_else(|| self.due.front().map(|completion| completion.at))
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        self.work_until(now);
        self.outbox.take(completed);
    }

    fn is_durable(&self, _lba: Lba, _sectors: u64) -> bool {
        true
    }

    fn take_destaged(&mut self, _destaged: &mut Vec<Destaged>) {}

    fn activity(&self) -> Activity {
        self.activity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestId;

    #[test]
    fn a_device_without_sectors_is_refused() {
        let check = |sectors| IdealParameters { sectors, latency: Nanos::ZERO }.check();
        assert_eq!(check(0).map_err(|(key, _)| key), Err("sectors"));
        assert_eq!(check(1), Ok(()));
    }

    #[test]
    fn every_request_takes_the_same_time_and_is_counted() {
        let parameters = IdealParameters { sectors: 1000, latency: Nanos(30) };
        let mut model = Ideal::new(&parameters, &Options::default());
        let requests = [
            (Operation::Read, 3),
            (Operation::Read, 5),
            (Operation::Write, 7),
            (Operation::Write, 11),
            (Operation::Flush, 0),
            (Operation::Discard, 2),
        ];
        for (id, (operation, sectors)) in (0..).map(RequestId).zip(requests) {
            model.submit(Nanos(1000), Request { id, operation, lba: Lba(0), sectors, fua: false });
        }
        let mut completed = Vec::new();
        model.advance(Nanos(1029), &mut completed);
        assert!(completed.is_empty(), "{completed:?}");
        model.advance(Nanos(1030), &mut completed);
        let done = |id| Completion { id: RequestId(id), at: Nanos(1030) };
        assert_eq!(completed, [0, 1, 2, 3, 4, 5].map(done));
        let expected = Activity {
            host_read_sectors: 3 + 5,
            host_written_sectors: 7 + 11,
            media_operations: 6,
            media_read_sectors: 3 + 5,
            media_written_sectors: 7 + 11,
            flushes: 1,
            ..Activity::default()
        };
        assert_eq!(model.activity(), expected);
        assert!(!model.is_rebuilding(), "it has no members");
    }
}
