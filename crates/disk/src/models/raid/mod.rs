//! RAID controllers: `parameters` says what one is, `striping` where a sector is on the members,
//! `jobs` which member operations a read or a stripe's write needs, `controller` in which order
//! things happen.

mod controller;
mod jobs;
mod parameters;
mod striping;

pub(crate) use controller::Controller;
pub use parameters::{ArrayState, ControllerParameters};
pub use striping::Level;
