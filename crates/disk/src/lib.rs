//! Simulated drives, SSDs and RAID controllers.
//!
//! A model is *told* the time and does nothing by itself: no clock, no I/O, no threads, no
//! data. [`Model::submit`] hands it a request, [`Model::next_event`] says when something
//! will happen, [`Model::advance`] moves its time and yields what completed. So it is
//! tested in microseconds, driven by the guest's block device server, by a trace on the
//! host, or by a crash explorer.
#![forbid(unsafe_code)]

mod model;
mod request;

pub use model::Model;
pub use request::{Completion, Operation, Request, RequestId};
