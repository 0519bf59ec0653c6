//! The kinds of device. Each is parameters (what a TOML file may say), a check of them, and
//! a [`crate::Model`] built from them.

mod bounds;
pub(crate) mod dirty;
pub(crate) mod draw;
pub mod flash;
pub mod hypervisor;
pub mod ideal;
pub mod mechanical;
mod outbox;
pub(crate) mod queue;
pub mod raid;
pub(crate) mod slowed;

pub use queue::Scheduler;
