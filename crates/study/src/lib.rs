//! Studies as data. A study is a folder of three files: `study.toml` (what was asked, on
//! what machine, contenders × workloads), `published.toml` (the tables as they were
//! published) and `claims.toml` (what their author concluded, in a language that can be
//! tested). [`load()`] reads and checks all three and reports everything that is wrong at once.
//!
//! [`Execution`] runs a study with a session of the runner. Nothing here prints.
#![forbid(unsafe_code)]

mod ahead;
#[cfg(test)]
mod answer_tests;
mod assemble;
mod atom;
#[cfg(test)]
mod beside_tests;
mod catalogue;
#[cfg(test)]
mod cells_tests;
mod describe;
#[cfg(test)]
mod error_rate_tests;
mod execution;
#[cfg(test)]
mod execution_tests;
mod figures;
mod formats;
mod ladder;
#[cfg(test)]
mod ladder_tests;
mod limit;
mod load;
mod matrix;
mod measured;
mod model;
mod needs;
mod only;
mod problem;
mod published;
mod reading;
mod results;
mod seeds;
mod source;
mod statement;
mod tables;
mod unit;
mod verdict;
#[cfg(test)]
mod verdict_tests;

pub use ahead::Ahead;
pub use assemble::results;
pub use atom::size_in_words;
pub use catalogue::{STUDIES, Shipped};
pub use describe::described;
pub use execution::{
    Added, Execution, ExecutionEnd, Limits, Observer, Spreading, Told, stored_runs,
};
pub use figures::PartRun;
pub use formats::{FORMATS, Format, Markdown, markdown_with_charts, render};
pub use load::load;
pub use matrix::{Place, Planned, Wishes, matrix};
pub use measured::SEEDS_MIN;
pub use model::{
    Absent, Assumption, Because, Cause, Cell, Claim, LargerMachine, Measured, NamedContender,
    NamedWorkload, Part, Published, Revision, Row, Study, Test,
};
pub use problem::Problem;
pub use results::{
    AtSize, ClaimResults, MeasuredCell, Results, RowResults, RunFacts, TableResults, Under,
};
pub use source::{Source, SourceError, digest};
pub use statement::{Assertion, Figure, Statement, StatementError};
pub use unit::{Direction, RowUnit};
pub use verdict::{Answer, Elsewhere, Judged, Limit, QuestionVerdict, Says, Verdict};
