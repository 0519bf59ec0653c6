//! Simulated drives, SSDs and RAID controllers.
//!
//! The caller tells a model what time it is; a model does nothing by itself. It has no clock, no
//! I/O, no threads and no data. [`Model::submit`] hands it a request, [`Model::next_event`] says
//! when something will happen, and [`Model::advance`] moves its time and returns what completed. So
//! it can be tested in microseconds, and driven by the guest's block device server, by a trace on
//! the host, or by a crash explorer.
//!
//! A device is described by a file: [`DISKS`] lists the shipped ones, [`DiskDescription::load`]
//! reads a user's own, [`DiskDescription::build`] makes a [`Model`] of it. [`RequestLog`] holds
//! the requests that a simulated disk served; its contents are the guest's affair. [`check`]
//! measures a model as one measures a drive; [`agreement`] compares it with a trace of a real drive.
#![forbid(unsafe_code)]

mod catalogue;
mod check;
mod demerit;
mod description;
mod log;
mod model;
pub mod models;
mod options;
mod published;
mod replay;
mod request;

pub use catalogue::{DISKS, Shipped};
pub use check::{Check, CheckRow, SeekPoint, ZoneRate, check};
pub use demerit::{Agreement, Measured, TraceError, agreement, demerit, read_trace};
pub use description::{ArrayOf, DescriptionError, Device, DiskDescription, Provenance, Variant};
pub use log::{RECORD_BYTES, Record, RequestLog, UnknownOperation};
pub use model::{Activity, Destaged, Model};
pub use models::Scheduler;
pub use models::raid::{ArrayState, Level};
pub use options::Options;
pub use published::{Figure, Published};
pub use replay::{Asked, Replay, Served, Stalled};
pub use request::{Completion, Operation, Request, RequestId};
