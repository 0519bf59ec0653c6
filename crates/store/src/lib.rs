//! Results in SQLite: raw measurements, spec, environment and outcome of every trial.
//! Reports compute from them; a figure can always be traced to its trial.

mod rows;

pub use rows::{Environment, RunHeader, RunState, StoredRun, StoredTrial};
