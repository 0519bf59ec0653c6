//! A plan of trials, run on a testbed into the store.
//!
//! [`Request`] is what was asked for, [`plan()`] turns it into trial specs in random blocks,
//! [`run()`] executes what has no outcome yet. Everything that happens is told as
//! [`RunEvent`]s; the runner itself prints nothing.

mod estimate;
mod event;
mod plan;
mod request;
mod run;
mod size;

pub use estimate::{Durations, Estimate, Remaining};
pub use event::{RunEnd, RunEvent};
pub use plan::{PlanError, plan};
pub use request::{Request, StudyTag, TestbedRequest, WorkloadRequest, parse_workload};
pub use run::{RunError, run};
pub use size::{device_size, room};
