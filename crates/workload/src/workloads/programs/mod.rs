//! Real programs as workloads: the user's own, and those that people ask about. [`PROGRAMS`] is
//! the only list of the latter; to add one, add a file here and a line there.

mod call;
mod enclosure;
mod fio;
mod git;
mod inside;
mod job;
mod listed;
mod memory;
mod metric;
mod npm_tree;
mod postgresql;
mod printed_unit;
mod program;
mod promising;
mod rsync;
mod server;
mod sqlite;
mod steps;
mod text;
mod trace;
mod tree;

pub use self::fio::{Surroundings as FioSurroundings, fio_job_text};
pub use self::job::{Job, JobPhase};
pub use self::metric::{Better, Metric};
pub(super) use self::program::OwnProgram;
pub use self::promising::Promising;

use crate::Workload;

/// Every real program, in the order `fstrial list workloads` shows.
pub static PROGRAMS: &[&dyn Workload] = &[
    &sqlite::Sqlite,
    &postgresql::Postgresql,
    &git::Git,
    &rsync::Rsync,
    &npm_tree::NpmTree,
    &fio::Fio,
];
