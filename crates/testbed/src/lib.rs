//! Where trials run. A testbed prepares a place, lets [`trial::execute`] do its work in a
//! process (or guest) of its own, and cleans up.

mod child;
mod device;
mod directory;
mod facts;
mod lanes;
mod leftovers;
mod memory;
mod place;
mod process;
mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use store::Environment;
use trial::{Event, TrialSpec};

pub use child::child_main;
pub use device::DeviceTestbed;
pub use directory::{DirectoryTestbed, directory_contenders};
pub use facts::{kernel_has, machine_facts};
pub use lanes::{Lane, Lanes, Queue, Share};
pub use leftovers::{open_ledger, sweep};
pub use process::CHILD_COMMAND;

/// A place where trials can run.
pub trait Testbed: Sync {
    /// The name that the store keeps with a run: `dir`, `device`, `lab`.
    fn name(&self) -> &'static str;

    /// Facts about it, stored with every run.
    fn environment(&self) -> Environment;

    /// An id that exact comparisons require to be equal; `None` for real machines.
    fn lab_id(&self) -> Option<String> {
        None
    }

    /// How many of these trials may run at the same time without changing each other's
    /// figures: 1 on real machines.
    fn lanes(&self, _specs: &[TrialSpec]) -> usize {
        1
    }

    /// How much of this machine each trial needs while it runs beside other fstrial processes.
    fn share(&self) -> Share {
        Share::Machine
    }

    /// Checks, before anything is made, that these trials can run here: tools, drivers,
    /// sizes, room. One refusal per trial index that cannot.
    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, stack::Refusal)>;

    /// Called before these trials of a run, each with its position in it, are run. For a testbed
    /// that submits all of them at once.
    ///
    /// # Errors
    /// When they cannot be submitted; none of them runs then.
    fn begin(&self, _pending: &[(u32, TrialSpec)]) -> Result<(), stack::Refusal> {
        Ok(())
    }

    /// What was asked for beside the figures and could not be written, and why.
    fn unwritten(&self) -> Option<String> {
        None
    }

    /// Runs one trial; `sink` receives its events, [`Event::Ended`] last and exactly once.
    ///
    /// # Errors
    /// When it was stopped: then no `Ended` was sent, nothing of it is left running, and the
    /// trial counts as not begun.
    fn run(
        &self,
        spec: &TrialSpec,
        stop: &Stop,
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), Stopped>;
}

/// Asks running trials to stop, from a signal handler or another thread.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    begin_until: Option<Instant>,
}

impl Stop {
    /// Not asked to stop.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether it was asked.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// The same flag, but no trial begins after `instant`; a trial that has begun is finished.
    pub fn beginning_until(&self, instant: Option<Instant>) -> Stop {
        Stop { begin_until: instant, ..self.clone() }
    }

    /// Whether another trial may begin.
    pub fn may_begin(&self) -> bool {
        !self.asked() && self.begin_until.is_none_or(|last| Instant::now() < last)
    }

    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }
}

/// A trial was stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;
