//! Real programs as workloads: the user's own, and those that people ask about. [`PROGRAMS`] is
//! the only list of the latter; to add one, add a file here and a line there.

mod call;
mod enclosure;
mod git;
mod inside;
mod job;
mod listed;
mod memory;
mod npm_tree;
mod postgresql;
mod program;
mod rsync;
mod server;
mod sqlite;
mod steps;
mod text;
mod tree;

pub use self::job::{Better, Job, Metric};
pub(super) use self::program::OwnProgram;

use crate::Workload;

/// Every real program, in the order `fstrial list workloads` shows.
pub static PROGRAMS: &[&dyn Workload] =
    &[&sqlite::Sqlite, &postgresql::Postgresql, &git::Git, &rsync::Rsync, &npm_tree::NpmTree];
