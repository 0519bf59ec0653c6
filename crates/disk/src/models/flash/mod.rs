//! Solid-state drives: `parameters` says what one is, `mapping` where its data lies and
//! what collecting garbage moves, `dies` when channels and dies are free, `ssd` what the
//! host sees.

mod dies;
mod mapping;
mod parameters;
mod ssd;

pub use parameters::SsdParameters;
pub(crate) use ssd::Ssd;
