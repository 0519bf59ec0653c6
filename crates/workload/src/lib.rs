//! Workloads: what is done on a filesystem.
//!
//! A [`Workload`] describes itself (parameters, phases, what is inside each clock) and runs
//! against a directory through a [`Context`], which owns the clocks: a workload never times
//! itself and never prints. Adding one is a file in `workloads/` and a line in
//! [`WORKLOADS`]; what workloads are made of is in `engine/`.

mod amounts;
mod begun;
mod care;
mod context;
pub mod corpora;
mod description;
mod engine;
mod failure;
pub mod foreign;
mod host;
mod inputs;
#[cfg(test)]
mod kept;
pub mod overhead;
#[cfg(test)]
mod own_process;
mod parameters;
mod phase;
mod recorder;
mod seed;
mod shown;
mod typed;
mod workload;
mod workloads;

pub use amounts::range;
pub use context::Context;
pub use description::{
    Description, Headline, InputKind, Kind, Limits, OpDescription, Parameter, PhaseDescription,
    Preset, Program,
};
pub use failure::{Failure, OpError};
pub use host::{Care, Host, Uncared};
pub use inputs::{InputFacts, Inputs};
pub use parameters::{ParameterError, Parameters};
pub use phase::{Cache, NotComparable, PhaseEvent, PhaseResult, PhaseStatus};
pub use recorder::{Op, Recorded, Recorder};
pub use seed::{Draw, Seed};
pub use shown::{idle_parameters, shown};
pub use workload::{OwnFigure, Space, Workload};
pub use workloads::{
    Better, BonnieCsv, FioSurroundings, Job, JobPhase, Metric, ORIGINALS, PRELOAD_COMMAND,
    PROGRAMS, Promising, UnknownWorkload, WORKLOADS, bonnie_csv, catalogue, find, fio_job_text,
    named, original_of, preload_main, prepare_system,
};
