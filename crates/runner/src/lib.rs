//! A plan of trials, run on a testbed into the store.
//!
//! [`Request`] is what was asked for, [`plan()`] turns it into trial specs in random blocks. A
//! [`Session`] does the rest: it opens inputs and a testbed through [`Places`], puts the run into
//! the store, executes what has no outcome yet, and adds repeats where a run asks for them until its
//! figures decide. Everything that happens is reported as
//! [`RunEvent`]s; the runner itself prints nothing.

mod adaptive;
mod admission;
mod error;
mod estimate;
mod event;
mod places;
mod plan;
mod request;
mod run;
mod session;
mod size;

#[cfg(test)]
mod adaptive_tests;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod session_tests;

pub use error::SessionError;
pub use estimate::{Durations, Estimate, Remaining};
pub use event::{RunEnd, RunEvent};
pub use places::{Inputs, Places};
pub use plan::{PlanError, plan};
pub use request::{Request, StudyTag, TestbedRequest, WorkloadRequest, parse_workload};
pub use session::{Limit, Prepared, Session, prepare};
pub use size::{device_size, room};
