//! A device that takes no time, or always the same time. It is the reference for other devices, and
//! shows the overhead of everything between model and host.

use std::collections::VecDeque;

use serde::Deserialize;
use units::{Bytes, Lba, Nanos, SECTOR_BYTES};

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
        if self.sectors == 0 {
            return Err(("sectors", "a device needs at least one sector".to_owned()));
        }
        Ok(())
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
