//! The trait of all workloads.

use units::{Bytes, Nanos};

use crate::{Context, Description, Failure, InputFacts, Parameters};

/// Work that is done on a filesystem.
pub trait Workload: Sync {
    /// Its fixed description.
    fn describe(&self) -> &'static Description;

    /// Checks, before anything runs, that parameters which are each valid by themselves make sense
    /// together.
    ///
    /// # Errors
    /// What is wrong and what is accepted.
    fn check(&self, _parameters: &Parameters) -> Result<(), String> {
        Ok(())
    }

    /// Why it cannot run after its own `earlier` runs in a sequence, if so: it works on what one of
    /// them leaves.
    fn lacks(&self, _parameters: &Parameters, _earlier: &[&Parameters]) -> Option<String> {
        None
    }

    /// Room it needs on the filesystem under test, before the filesystem's own overhead.
    fn space(&self, parameters: &Parameters, inputs: &InputFacts) -> Space;

    /// The largest filesystem that it means to fill, if it fills a share of all of it.
    fn largest_filesystem(&self, _parameters: &Parameters) -> Option<Bytes> {
        None
    }

    /// Whether, in a sequence, it works on the files that an earlier run of it has left, so that
    /// all of them need the room of the largest.
    fn takes_over_files(&self) -> bool {
        false
    }

    /// Why it must not run on the user's machine but only in the lab's guest, if so.
    fn only_in_guest(&self) -> Option<&'static str> {
        None
    }

    /// Why it must not run in a directory of a filesystem that others use, if so.
    fn needs_own_filesystem(&self) -> Option<&'static str> {
        None
    }

    /// Does the work in `context.target()`. State that an earlier workload of a sequence
    /// left there is used, not destroyed.
    ///
    /// # Errors
    /// When it could not go on. Phases report their own failures; a workload whose later
    /// phases do not depend on a failed one goes on and returns the first failure at its end.
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure>;

    /// The question that it answers with these parameters; completes "For …:".
    fn question(&self, parameters: &[(String, String)]) -> String {
        self.describe().question(parameters).to_owned()
    }

    /// Its parameters that only say how large an invented source tree is.
    fn of_invented_tree(&self) -> &'static [&'static str] {
        &[]
    }

    /// Its own figures by which contenders are ranked, the most important first.
    fn figures(&self, _parameters: &Parameters) -> Vec<OwnFigure> {
        Vec::new()
    }

    /// How long it runs at least by the trial's clock, where its parameters say so.
    fn runs_for(&self, _parameters: &Parameters) -> Option<Nanos> {
        None
    }

    /// For an original: the workload of ours that does the same.
    fn counterpart(&self) -> Option<&'static str> {
        None
    }
}

/// A figure that a workload adds to a phase, with the direction that is better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFigure {
    /// Its name in [`crate::PhaseResult::figures`].
    pub name: String,
    /// Name and unit, for people: `rate, MB/s`.
    pub label: String,
    /// Whether the larger one is better, as of a rate.
    pub higher_is_better: bool,
}

/// Room a workload needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// File contents.
    pub bytes: Bytes,
    /// Files and directories.
    pub inodes: u64,
}
