//! The contract of a disk model.

use units::{Bytes, Nanos};

use crate::{Completion, Request};

/// A simulated device. Time never goes back: each call's `now` is at least the last one's.
///
/// Invariants, tested for every model of the catalogue: nothing completes before it was
/// submitted; every request completes exactly once; a flush completes only after every
/// write that had completed before its submission is durable; equal seed and equal calls
/// give equal completions to the nanosecond.
pub trait Model: Send {
    /// The size offered to the host.
    fn capacity(&self) -> Bytes;

    /// Hands over a request at `now`. How many may be outstanding is the front end's
    /// business; the model queues without limit and serves as many as its queue depth says.
    fn submit(&mut self, now: Nanos, request: Request);

    /// The time of the next thing that will happen by itself, if any.
    fn next_event(&self) -> Option<Nanos>;

    /// Moves time to `now` and appends what completed at or before it, in order of
    /// completion.
    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>);
}
