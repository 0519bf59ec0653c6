//! The filesystems and layouts below a workload, as data. It touches no device; the guard that
//! keeps every other device on the machine safe is the crate `device`.
//!
//! A filesystem driver or a layout *returns* what is to be done ([`Command`]s, mount
//! options, what to wait for); it never does it. So a driver can be tested without privileges, and
//! the same plan can be executed on this machine or inside a guest.

mod choosing;
mod command;
mod contender;
mod durability;
pub mod filesystems;
pub mod layouts;
mod refusal;

pub use choosing::ContenderError;
pub use command::Command;
pub use contender::Contender;
pub use durability::Durability;
pub use filesystems::{FILESYSTEMS, Filesystem};
pub use layouts::{LAYOUTS, Layout, LayoutChoice};
pub use refusal::Refusal;
