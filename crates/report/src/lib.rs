//! From a stored run to a report: terminal, HTML, Markdown, CSV, JSON, bonnie++'s CSV.
//!
//! [`analyse`] turns raw measurements into tables with intervals, ranks and verdicts (all
//! arithmetic is in [`stats`]); a [`Format`] writes them down. Nothing here has side effects: no
//! file is read or written, no clock is read, and the same run gives the same text.
#![forbid(unsafe_code)]

mod agreement;
mod analysis;
mod answer;
mod busy;
mod changes;
mod charts;
mod crosscheck;
mod formats;
mod numbers;
mod redaction;
mod repeat;
mod repeats;
mod sentences;
mod testbeds;
mod wording;

pub use agreement::{
    Agreement, Explanation, Nearness, TwoTimes, Verdict as AgreementVerdict, agreement_table,
    agreements, explanation_table, explanations, left_out, nearness, times_table, two_times,
};
pub use analysis::{
    AgainstBest, Analysis, Behind, CacheUse, Cell, Conditions, Decision, DrawnCourse, Footnote,
    Group, Mark, Measure, Measured, Metric, MetricTable, OpKind, PairResult, PhaseAnalysis,
    Quantile, Rank, Reason, Relation, SpaceLeft, Stalls, Standing, TrialCounts, TrialFigure, Unit,
    WorkloadAnalysis, analyse, metrics_of, simulated_memory,
};
pub use changes::{
    AtLimit, Change, Changes, CountChange, Difference, Effect, Gate, Moments, PhaseChange, Place,
    Verdict as ChangeVerdict, What, changes, places,
};
pub use crosscheck::{
    Answer, ContenderCheck, CountCheck, Crosscheck, PhaseCheck, TimeCheck, Verdict, crosscheck,
};
pub use formats::{
    FORMATS, Format, Options, SCHEMA_VERSION, STYLE, find, fitted, folded, phases_as_html,
    write_escaped,
};
pub use numbers::counted;
pub use redaction::redacted;
pub use repeat::quoted;
pub use repeats::first_place;
