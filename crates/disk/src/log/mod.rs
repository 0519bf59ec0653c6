//! The request log: one record of fixed size for every request. `record` defines the format, and
//! `table` exports the log for other programs.
//!
//! ```text
//! record, 48 bytes: submitted u64, completed u64 (all ones: never), first sector u64,
//!                   sectors u32, operation u8, flags u8, phase u16, payload u64, disk u8, 0
//! ```
//!
//! The lab's guest writes such records in order of completion into the memory it shares with its
//! host. All numbers are little-endian. The payload is a reference whose meaning the writer of the
//! log defines, such as where the written data is kept; 0 means none.

mod record;
mod table;

pub use record::{RECORD_BYTES, Record, RequestLog, UnknownOperation};
