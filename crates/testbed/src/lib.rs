//! Where trials run. A testbed prepares a place, lets [`trial::execute`] do its work in a
//! process (or guest) of its own, and cleans up.

use store::Environment;
use trial::{Event, TrialSpec};

/// A place where trials can run.
pub trait Testbed: Sync {
    /// `dir`, `device` or `lab`.
    fn name(&self) -> &'static str;

    /// Facts about it, stored with every run.
    fn environment(&self) -> Environment;

    /// An id that exact comparisons require to be equal; `None` for real machines.
    fn lab_id(&self) -> Option<String>;

    /// How many of these trials may run at the same time without changing each other's
    /// figures: 1 on real machines.
    fn lanes(&self, specs: &[TrialSpec]) -> usize;

    /// Checks, before anything is made, that these trials can run here: tools, drivers,
    /// sizes, room. One refusal per trial index that cannot.
    fn admit(&self, specs: &[TrialSpec]) -> Vec<(usize, stack::Refusal)>;

    /// Runs one trial; `sink` receives its events, [`Event::Ended`] last and exactly once.
    fn run(&self, spec: &TrialSpec, sink: &mut dyn FnMut(Event));
}
