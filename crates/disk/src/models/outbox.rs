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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_completion_waits_until_it_is_fetched() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.first(), None);
        outbox.push(RequestId(1), Nanos(5));
        outbox.push(RequestId(2), Nanos(9));
        assert_eq!(outbox.first(), Some(Nanos(5)));
        let mut completed = Vec::new();
        outbox.take(&mut completed);
        assert_eq!(completed.iter().map(|each| each.id.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(outbox.first(), None);
    }
}
