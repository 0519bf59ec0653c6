//! Any device with a slow clock: every seek, revolution, transfer and pause takes longer by the
//! same share. Nothing else changes, so a comparison with the original has a known result.

use units::{Bytes, Lba, Nanos};

use crate::{Activity, Completion, Destaged, Model, Request};

/// What [`crate::Options::slower`] is counted in.
const WHOLE: u128 = 1000;

/// A model whose time passes slower than its host's.
pub(crate) struct Slowed {
    model: Box<dyn Model>,
    /// Thousandths of the original's time that everything takes: 1050 is 5 % slower.
    takes: u128,
    completed: Vec<Completion>,
    destaged: Vec<Destaged>,
}

impl Slowed {
    /// `model`, each of whose times is longer by `slower` thousandths.
    pub(crate) fn new(model: Box<dyn Model>, slower: u32) -> Slowed {
        Slowed {
            model,
            takes: WHOLE + u128::from(slower),
            completed: Vec::new(),
            destaged: Vec::new(),
        }
    }

    /// The model's time at the host's `now`: rounded up, so that what it then finishes at
    /// once is not finished before it was asked for.
    fn inside(&self, now: Nanos) -> Nanos {
        Nanos(saturated((u128::from(now.0) * WHOLE).div_ceil(self.takes)))
    }

    /// The first of the host's times that [`Slowed::inside`] takes to `at`.
    fn outside(&self, at: Nanos) -> Nanos {
        Nanos(saturated(u128::from(at.0) * self.takes / WHOLE))
    }
}

fn saturated(nanos: u128) -> u64 {
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

impl Model for Slowed {
    fn capacity(&self) -> Bytes {
        self.model.capacity()
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.model.submit(self.inside(now), request);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.model.next_event().map(|at| self.outside(at))
    }

    fn advance(&mut self, now: Nanos, completed: &mut Vec<Completion>) {
        let mut own = std::mem::take(&mut self.completed);
        self.model.advance(self.inside(now), &mut own);
        // Between two of the host's nanoseconds the model may be a fraction ahead.
        completed.extend(
            own.drain(..)
                .map(|Completion { id, at }| Completion { id, at: self.outside(at).min(now) }),
        );
        self.completed = own;
    }

    fn is_durable(&self, lba: Lba, sectors: u64) -> bool {
        self.model.is_durable(lba, sectors)
    }

    fn take_destaged(&mut self, destaged: &mut Vec<Destaged>) {
        let mut own = std::mem::take(&mut self.destaged);
        self.model.take_destaged(&mut own);
        destaged.extend(own.drain(..).map(|moved| Destaged {
            started: self.outside(moved.started),
            finished: self.outside(moved.finished),
            ..moved
        }));
        self.destaged = own;
    }

    fn is_rebuilding(&self) -> bool {
        self.model.is_rebuilding()
    }

    fn activity(&self) -> Activity {
        self.model.activity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayState, DiskDescription, Options};

    #[test]
    fn a_slow_array_says_whether_it_is_rebuilding() {
        let disk = DiskDescription::find("areca-arc-1220").unwrap();
        for (array_state, rebuilding) in
            [(ArrayState::Degraded, false), (ArrayState::Rebuilding, true)]
        {
            let options = Options { array_state, ..Options::default() };
            let slow = Slowed::new(disk.build(7, &options), 50);
            assert_eq!(slow.is_rebuilding(), rebuilding, "{array_state:?}");
        }
    }
}
