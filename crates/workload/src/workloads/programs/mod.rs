//! Real programs as workloads: the user's own, and those that people ask about.

mod call;
mod enclosure;
mod job;
mod program;
mod tree;

pub use self::job::{Better, Job, Metric};
pub(super) use self::program::OwnProgram;
