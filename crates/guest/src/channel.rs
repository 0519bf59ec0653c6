//! Events to the host: JSON lines in the shared region, and a byte to the host as notification.

use std::io;

use trial::{Event, protocol};

use crate::port;
use crate::region::{EVENTS_AT, EVENTS_BYTES, Region, Window, Word, Words};

/// Writes events.
pub(crate) struct Channel {
    area: Window,
    words: Words,
}

impl Channel {
    /// The channel of this region, from where the last writer left off.
    pub(crate) fn open(region: &Region) -> io::Result<Channel> {
        Ok(Channel { area: region.map(EVENTS_AT, EVENTS_BYTES)?, words: region.words()? })
    }

    /// Sends one event.
    ///
    /// # Errors
    /// When the channel is full: tens of thousands of phases.
    pub(crate) fn send(&mut self, event: &Event) -> io::Result<()> {
        let mut line = Vec::new();
        protocol::write_event(&mut line, event).map_err(io::Error::other)?;
        let at = self.words.get(Word::EventBytes) as usize;
        let place = self
            .area
            .bytes_mut()
            .get_mut(at..at + line.len())
            .ok_or_else(|| io::Error::other("the event channel is full"))?;
        place.copy_from_slice(&line);
        self.words.set(Word::EventBytes, (at + line.len()) as u64);
        port::ring();
        Ok(())
    }
}
