//! How a job and its events travel: one JSON document in, one JSON line an event out.
//!
//! The version is part of both, so that a message of another version is refused and not misread.
//! The same protocol crosses a pipe to a process and a debug port to a guest.

use std::io::{self, BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Event;

/// Version of both messages; raised on any change of their meaning.
pub const VERSION: u32 = 1;

/// Why a message cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// Not JSON of this shape: cut off, or not ours.
    #[error("not a message of the trial protocol: {0}")]
    Malformed(#[from] serde_json::Error),
    /// From another version of fstrial.
    #[error("trial protocol version {found}, this binary speaks {VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The pipe failed.
    #[error("trial protocol: {0}")]
    Io(#[from] io::Error),
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    v: u32,
    m: T,
}

/// Writes what a trial's process is to do, as one line, and flushes.
///
/// # Errors
/// When the writer fails.
pub fn write_order<T: Serialize>(writer: &mut dyn Write, order: &T) -> Result<(), ProtocolError> {
    write(writer, order)
}

/// Reads what [`write_order`] wrote, to the end of its line or input.
///
/// # Errors
/// When it is cut off, malformed or of another version.
pub fn read_order<T: DeserializeOwned>(reader: &mut dyn BufRead) -> Result<T, ProtocolError> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    decode(&line)
}

/// Writes an event as one line and flushes.
///
/// # Errors
/// When the writer fails.
pub fn write_event(writer: &mut dyn Write, event: &Event) -> Result<(), ProtocolError> {
    write(writer, event)
}

/// Reads one line of events.
///
/// # Errors
/// When it is cut off, malformed or of another version.
pub fn decode_event(line: &str) -> Result<Event, ProtocolError> {
    decode(line)
}

fn write<T: Serialize>(writer: &mut dyn Write, message: T) -> Result<(), ProtocolError> {
    let mut line = serde_json::to_vec(&Envelope { v: VERSION, m: message })?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()?;
    Ok(())
}

fn decode<T: for<'a> Deserialize<'a>>(line: &str) -> Result<T, ProtocolError> {
    #[derive(Deserialize)]
    struct VersionOnly {
        v: u32,
    }
    let VersionOnly { v: found } = serde_json::from_str(line)?;
    if found != VERSION {
        return Err(ProtocolError::Version { found });
    }
    Ok(serde_json::from_str::<Envelope<T>>(line)?.m)
}
