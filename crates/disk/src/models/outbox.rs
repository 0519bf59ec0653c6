//! Completions that nobody has fetched yet, in order of time.

use units::Nanos;

use crate::{Completion, RequestId};

/// Completions already due. Filled in order of time, since models work through their events
/// in that order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    due: Vec<Completion>,
}

impl Outbox {
    pub(crate) fn push(&mut self, id: RequestId, at: Nanos) {
        self.due.push(Completion { id, at });
    }

    /// The earliest, if one waits to be fetched.
    pub(crate) fn first(&self) -> Option<Nanos> {
        self.due.first().map(|completion| completion.at)
    }

    pub(crate) fn take(&mut self, completed: &mut Vec<Completion>) {
        completed.append(&mut self.due);
    }
}
