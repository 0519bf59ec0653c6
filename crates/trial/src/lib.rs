//! One trial: a contender, a sequence of workloads and a seed, on a fresh filesystem.
//!
//! [`TrialSpec`] says what is to be done, [`Job`] adds where, [`execute`] does it, and [`Event`]s
//! report what happened. The same function runs in a process of this machine (testbeds `dir` and
//! `device`) and as PID 1 of the lab's guest: a job goes in as JSON, events come out as JSON
//! lines, see [`protocol`].

pub mod capabilities;
mod event;
mod execute;
mod job;
mod outcome;
pub mod protocol;
mod record;
mod spec;
mod step;

pub use event::{Event, Left, Made, SpaceUse};
pub use execute::{CrashTask, Guard, Unguarded, execute, layout_plan, try_power_cuts};
pub use job::{DeviceKind, InputFiles, Job, Site};
pub use outcome::{OVERHEAD_SHARE, Outcome, SUBTRACTED_SHARE};
pub use record::TrialRecord;
pub use spec::{TrialKind, TrialSpec, WorkloadChoice};
pub use step::Step;

/// What only this crate's own test program calls from outside.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::execute::{after_workloads, shut_down};
}
