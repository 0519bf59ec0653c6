//! Quantities as types: time ([`Nanos`]), size ([`Bytes`]), place on a disk ([`Lba`]) and
//! throughput ([`Rate`]); and the number of a block device ([`DeviceNumber`]).
//!
//! This crate holds the only formatter and the only parser of these quantities, so that
//! `256M` means the same on the command line, in TOML and in a report. Machine formats
//! (JSON, the store) carry plain numbers in the base unit; people read and write suffixes.
#![forbid(unsafe_code)]

mod bytes;
mod device_number;
mod lba;
mod nanos;
mod number;
mod rate;

pub use bytes::Bytes;
pub use device_number::{DeviceNumber, ParseDeviceNumberError};
pub use lba::{Lba, SECTOR_BYTES};
pub use nanos::Nanos;
pub use number::{ParseQuantityError, significant};
pub use rate::Rate;
