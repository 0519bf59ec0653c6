//! Reads and writes of a thread's open files.

use std::sync::atomic::Ordering;

use rustix::io::{Errno, ReadWriteFlags};

use super::super::model::{Does, Flowop};
use super::behind::Write;
use super::descriptors::{Descriptors, Slot, Which};
use super::done::Done;
use crate::{Draw, OpError, Recorder};

impl Descriptors<'_> {
    /// Does a flowop that reads or writes.
    pub(super) fn move_data(
        &mut self,
        flowop: &Flowop,
        draw: &mut Draw,
        recorder: &mut Recorder<'_>,
    ) -> Result<Done, OpError> {
        let size = flowop.iosize.draw(draw);
        let size = match flowop.does {
            Does::AppendRandom => 1 + draw.below(size),
            _ => size,
        };
        let Some(which) = self.which(flowop, recorder)? else { return Ok(Done::LeftOut) };
        let source = self.slots[flowop.srcfd].as_ref().filter(|_| flowop.srcfd > 0);
        let source = source.map(|slot| (slot.set, slot.place));
        let Some(mut slot) = self.slot(which).take() else { return Ok(Done::LeftOut) };
        let (set, place) = source.unwrap_or((slot.set, slot.place));
        let planned = self.sets[set].planned(place);
        // Filebench takes 0 for the whole file.
        let whole = matches!(flowop.does, Does::ReadWhole | Does::WriteWhole) && size == 0;
        let length = (if whole { planned } else { size }).clamp(1, self.buffer.len() as u64);
        let moved = match flowop.does {
            Does::ReadWhole => self.read_whole(&mut slot, length, recorder),
            Does::Read => self.read_some(&mut slot, flowop, length, draw, recorder),
            Does::WriteWhole => self.write_whole(&mut slot, planned, length, recorder),
            Does::Write => self.write_some(&mut slot, flowop, length, draw, recorder),
            Does::AioWrite => {
                let number = match which {
                    Which::Numbered(number) | Which::Rotating(number) => number,
                };
                self.write_behind(&slot, flowop, length, number, draw, recorder)
            }
            _ => self.append(&mut slot, length, recorder),
        };
        let moved = moved.map_err(|error| self.failed(word_of(flowop.does), &slot, error));
        *self.slot(which) = Some(slot);
        let bytes = moved?;
        Ok(Done::Moved { bytes, fact: length })
    }

    /// A place for a random read or write: a multiple of its size within the file or working set.
    fn offset(&self, slot: &Slot, flowop: &Flowop, length: u64, draw: &mut Draw) -> u64 {
        let range = match flowop.workingset {
            0 => self.sets[slot.set].planned(slot.place),
            given => given,
        };
        draw.below((range / length).max(1)) * length
    }

    fn read_whole(
        &mut self,
        slot: &mut Slot,
        length: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        slot.position = 0;
        loop {
            let piece = &mut self.buffer[..length as usize];
            let got = rustix::io::pread(&*slot.file, piece, slot.position)?;
            if got == 0 {
                recorder.read(slot.position);
                return Ok(slot.position);
            }
            slot.position += got as u64;
        }
    }

    fn read_some(
        &mut self,
        slot: &mut Slot,
        flowop: &Flowop,
        length: u64,
        draw: &mut Draw,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        let at = match flowop.random {
            true => self.offset(slot, flowop, length, draw),
            false => slot.position,
        };
        let piece = &mut self.buffer[..length as usize];
        let got = rustix::io::pread(&*slot.file, piece, at)? as u64;
        if !flowop.random {
            // At the end it begins again.
            slot.position = if got == 0 { 0 } else { at + got };
        }
        recorder.read(got);
        Ok(got)
    }

    fn write_whole(
        &mut self,
        slot: &mut Slot,
        planned: u64,
        length: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        let mut left = planned;
        while left > 0 {
            let piece = length.min(left);
            self.write_at(slot, slot.position, piece)?;
            slot.position += piece;
            left -= piece;
        }
        recorder.wrote(planned);
        Ok(planned)
    }

    fn write_some(
        &mut self,
        slot: &mut Slot,
        flowop: &Flowop,
        length: u64,
        draw: &mut Draw,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        let at = match flowop.random {
            true => self.offset(slot, flowop, length, draw),
            false => slot.position,
        };
        self.write_at(slot, at, length)?;
        if !flowop.random {
            slot.position = at + length;
        }
        recorder.wrote(length);
        Ok(length)
    }

    fn write_behind(
        &mut self,
        slot: &Slot,
        flowop: &Flowop,
        length: u64,
        number: usize,
        draw: &mut Draw,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        let offset = self.offset(slot, flowop, length, draw);
        let write = Write { file: slot.file.clone(), offset, length: length as usize };
        self.behind.hand_over(number, write)?;
        self.note_size(slot, offset + length);
        recorder.wrote(length);
        Ok(length)
    }

    /// One write of all of it at the end, wherever that is when it is done.
    fn append(
        &mut self,
        slot: &mut Slot,
        length: u64,
        recorder: &mut Recorder<'_>,
    ) -> Result<u64, Errno> {
        let piece = &mut self.buffer[..length as usize];
        self.marker.mark(piece);
        let pieces = [std::io::IoSlice::new(piece)];
        let written = rustix::io::pwritev2(&*slot.file, &pieces, 0, ReadWriteFlags::APPEND)?;
        if written as u64 != length {
            return Err(Errno::IO);
        }
        let size = self.sets[slot.set].size(slot.place);
        slot.position = size.fetch_add(length, Ordering::Relaxed) + length;
        recorder.wrote(length);
        Ok(length)
    }

    fn write_at(&mut self, slot: &Slot, at: u64, length: u64) -> Result<(), Errno> {
        let piece = &mut self.buffer[..length as usize];
        self.marker.mark(piece);
        if rustix::io::pwrite(&*slot.file, piece, at)? as u64 != length {
            return Err(Errno::IO);
        }
        self.note_size(slot, at + length);
        Ok(())
    }

    fn note_size(&self, slot: &Slot, end: u64) {
        self.sets[slot.set].size(slot.place).fetch_max(end, Ordering::Relaxed);
    }
}

fn word_of(does: Does) -> &'static str {
    match does {
        Does::Read | Does::ReadWhole => "read",
        Does::Append | Does::AppendRandom => "append to",
        _ => "write",
    }
}
