//! Spreads the trials of a run over the nodes of a Slurm cluster.
//!
//! [`SlurmTestbed`] wraps another testbed: it submits a job array of one task a trial, waits for
//! the results in a directory shared by all nodes (the spool), and passes their events on as if
//! the trial had run here. What a task does on its node is [`Task`]. Nothing here measures, and
//! nothing here knows which testbed is wrapped.

mod commands;
mod error;
mod options;
mod queue;
mod spool;
mod task;
mod testbed;

pub use error::SlurmError;
pub use options::Options;
pub use spool::{Order, Spool};
pub use task::Task;
pub use testbed::{SlurmTestbed, Tell};
