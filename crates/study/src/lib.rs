//! Studies as data. A study is a folder of three files: `study.toml` (what was asked, on
//! what machine, contenders × workloads), `published.toml` (the tables as they were
//! published) and `claims.toml` (what their author concluded, in a language that can be
//! tested). [`load()`] reads and checks all three and tells everything that is wrong at once.
//!
//! Nothing here runs a trial, and nothing here prints.
#![forbid(unsafe_code)]

mod catalogue;
mod describe;
mod load;
mod model;
mod problem;
mod reading;
mod source;
mod statement;
mod unit;

pub use catalogue::{STUDIES, Shipped};
pub use describe::described;
pub use load::load;
pub use model::{
    Absent, Assumption, Cell, Claim, Measured, NamedContender, NamedWorkload, Part, Published, Row,
    Study, Test,
};
pub use problem::Problem;
pub use source::{Source, SourceError};
pub use statement::{Assertion, Figure, Statement, StatementError};
pub use unit::{Direction, RowUnit};
