//! Records what reaches the disks, contents included, and puts them into a state in which a power
//! cut may have left them.
//!
//! The thread of the trial says what is to be done; the server of the disks does it when the next
//! request arrives. So the moment at which an fsync returned has its place among the requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crash::{Entry, Image, Log, Piece, Plan, Reads, Write};
use disk::Operation;
use rustix::time::{ClockId, Timespec, clock_gettime, clock_settime};

use crate::front::Arrival;
use crate::region::{PLAN_AT, PLAN_BYTES, Region, Word};
use crate::service::Service;
use crate::store::{Kept, PAGE, PageStore};

const SECTOR: usize = units::SECTOR_BYTES as usize;
/// Sectors of a page.
const SECTORS: u64 = PAGE / units::SECTOR_BYTES;

/// A tape that two threads have.
#[derive(Debug, Clone, Default)]
pub struct SharedTape(Arc<Mutex<Tape>>);

#[derive(Debug, Default)]
struct Tape {
    mode: Mode,
    log: Log,
    /// Whether what was recorded is kept from being emptied with the layer.
    kept: bool,
    /// What went wrong.
    trouble: Option<String>,
    /// Of each write: its pages, each with the bytes of it that were written.
    contents: Vec<Vec<Touched>>,
    /// Seconds that the clock shows when a state begins.
    clock: Option<i64>,
    looking: Looking,
}

/// What is read and written in a state.
#[derive(Debug, Default)]
struct Looking {
    reads: Reads,
    writes: Image,
    /// Of each page that was written: a bit for each sector.
    written: HashMap<(usize, u64), u8>,
}

#[derive(Debug, Default)]
enum Mode {
    /// The disks are as always.
    #[default]
    Off,
    Recording,
    /// Writes are dropped.
    Frozen,
    /// The next request finds the disks in this state.
    Next(Vec<Piece>),
    /// The disks are in a state; what is written now is forgotten with it.
    State,
}

/// A part of a page that a write touched.
#[derive(Debug, Clone)]
struct Touched {
    page: u64,
    from: usize,
    to: usize,
    kept: Kept,
}

impl Touched {
    fn is_whole(&self) -> bool {
        (self.from, self.to) == (0, PAGE as usize)
    }
}

/// An arrival's place in the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Logged {
    Write(usize),
    Flush(usize),
}

impl SharedTape {
    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request reaches the disks: a frozen one takes no change. Puts the disks into the
    /// next state first, if there is one.
    pub(crate) fn admits(&self, changes: bool, store: &mut PageStore) -> bool {
        let mut tape = self.tape();
        match &tape.mode {
            Mode::Recording => store.begin_layer(),
            Mode::Next(pieces) => {
                if !tape.kept {
                    store.keep_layer();
                }
                if let Err(problem) = tape.apply(pieces, store) {
                    tape.trouble = Some(format!("putting the disks into a state: {problem}"));
                }
                (tape.mode, tape.kept) = (Mode::State, true);
            }
            Mode::Frozen => return !changes,
            Mode::Off | Mode::State => {}
        }
        true
    }

    /// Records a request whose data was stored.
    pub(crate) fn arrived(&self, of: &Arrival, store: &mut PageStore) -> Option<Logged> {
        let mut tape = self.tape();
        match tape.mode {
            Mode::Recording => {}
            Mode::State => {
                if let Err(error) = tape.looking.follow(of, store) {
                    tape.trouble = Some(format!("following a request: {error}"));
                }
                return None;
            }
            Mode::Off | Mode::Frozen | Mode::Next(_) => return None,
        }
        match of.operation {
            Operation::Read => None,
            Operation::Flush => Some(Logged::Flush(tape.log.submit_flush(of.disk))),
            Operation::Write | Operation::Discard => match contents(of, store) {
                Ok((touched, digests)) => {
                    tape.contents.push(touched);
                    let write = Write { disk: of.disk, lba: of.lba.0, fua: of.fua, digests };
                    Some(Logged::Write(tape.log.submit(write)))
                }
                Err(error) => {
                    tape.trouble = Some(format!("recording a write: {error}"));
                    None
                }
            },
        }
    }

    /// Records that the host is told of a completion.
    pub(crate) fn completed(&self, logged: Logged) {
        let mut tape = self.tape();
        if matches!(tape.mode, Mode::Recording) {
            tape.log.entries.push(match logged {
                Logged::Write(nth) => Entry::Completed(nth),
                Logged::Flush(nth) => Entry::FlushCompleted(nth),
            });
        }
    }
}

impl Looking {
    fn follow(&mut self, of: &Arrival, store: &mut PageStore) -> std::io::Result<()> {
        match of.operation {
            Operation::Read => self.read(of.disk, of.lba.0, of.lba.0 + of.sectors),
            Operation::Write | Operation::Discard => {
                let (touched, digests) = contents(of, store)?;
                let mut digests = (of.lba.0..).zip(digests);
                for part in touched {
                    let sectors = (part.to - part.from) / SECTOR;
                    for (lba, digest) in digests.by_ref().take(sectors) {
                        self.writes.set((of.disk, lba), digest);
                        // Of a page, a discard leaves a part as it was.
                        if of.operation == Operation::Write || part.is_whole() {
                            *self.written.entry((of.disk, part.page)).or_default() |=
                                1 << (lba % SECTORS);
                        }
                    }
                }
            }
            Operation::Flush => {}
        }
        Ok(())
    }

    fn read(&mut self, disk: usize, begin: u64, end: u64) {
        let mut at = begin;
        while at < end {
            let upto = ((at / SECTORS + 1) * SECTORS).min(end);
            match self.written.get(&(disk, at / SECTORS)) {
                None => self.reads.add(disk, at, upto),
                Some(written) => (at..upto)
                    .filter(|lba| written >> (lba % SECTORS) & 1 == 0)
                    .for_each(|lba| self.reads.add(disk, lba, lba + 1)),
            }
            at = upto;
        }
    }
}

impl Tape {
    fn apply(&self, pieces: &[Piece], store: &mut PageStore) -> Result<(), String> {
        store.begin_layer();
        store.empty_layer();
        for piece in pieces {
            let mut left = piece.sectors as usize * SECTOR;
            for part in &self.contents[piece.write] {
                let to = part.to.min(part.from + left);
                if to > part.from {
                    let disk = self.log.writes[piece.write].disk;
                    store
                        .put(disk, part.page, part.kept, part.from..to)
                        .map_err(|error| error.to_string())?;
                }
                left -= to - part.from;
            }
        }
        Ok(())
    }
}

/// What a write left, and a digest of each of its sectors.
fn contents(of: &Arrival, store: &mut PageStore) -> std::io::Result<(Vec<Touched>, Vec<u64>)> {
    let touched = touched(of, store)?;
    let mut digests = Vec::new();
    for part in &touched {
        let bytes = store.bytes_of(part.kept)?;
        digests.extend(bytes[part.from..part.to].chunks(SECTOR).map(digest));
    }
    Ok((touched, digests))
}

/// The parts of pages of a write, in order.
fn touched(of: &Arrival, store: &mut PageStore) -> std::io::Result<Vec<Touched>> {
    let (begin, len) = (of.lba.byte_offset().0, of.sectors * units::SECTOR_BYTES);
    let mut touched = Vec::new();
    let mut at = begin;
    while at < begin + len {
        let page = at / PAGE;
        let end = ((page + 1) * PAGE).min(begin + len);
        let (from, to) = ((at % PAGE) as usize, (end - page * PAGE) as usize);
        touched.push(Touched { page, from, to, kept: store.kept(of.disk, page)? });
        at = end;
    }
    Ok(touched)
}

/// A digest of a sector's contents.
fn digest(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0, |sum: u64, word| {
        (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// Sets the guest's clock to the moment at which each state begins.
fn wind_back(tape: &mut Tape) {
    let moment = || clock_gettime(ClockId::Realtime).tv_sec + 1;
    let time = Timespec { tv_sec: *tape.clock.get_or_insert_with(moment), tv_nsec: 0 };
    if let Err(error) = clock_settime(ClockId::Realtime, time) {
        tape.trouble = Some(format!("setting the clock: {error}"));
    }
}

/// The tape of an order, as the trial sees it.
pub(crate) struct TapeOfOrder<'a> {
    pub(crate) tape: SharedTape,
    pub(crate) region: &'a Region,
}

impl crash::Tape for TapeOfOrder<'_> {
    fn record(&self) {
        self.tape.tape().mode = Mode::Recording;
    }

    fn expected(&self) {
        self.tape.tape().log.entries.push(Entry::Expected);
    }

    fn freeze(&self) -> Log {
        let mut tape = self.tape.tape();
        tape.mode = Mode::Frozen;
        tape.log.clone()
    }

    fn plan(&self) -> Result<Plan, String> {
        let read = || -> std::io::Result<Plan> {
            let len = self.region.words()?.get(Word::PlanBytes) as usize;
            let area = self.region.map(PLAN_AT, PLAN_BYTES)?;
            let bytes = area.bytes().get(..len).unwrap_or_default();
            Ok(serde_json::from_slice(bytes)?)
        };
        read().map_err(|error| format!("what is to be tried: {error}"))
    }

    fn set(&self, pieces: Vec<Piece>) {
        let mut tape = self.tape.tape();
        tape.mode = Mode::Next(pieces);
        tape.looking = Looking::default();
        wind_back(&mut tape);
    }

    fn followed(&self) -> (Reads, Image) {
        let mut tape = self.tape.tape();
        let looking = std::mem::take(&mut tape.looking);
        wind_back(&mut tape);
        (looking.reads, looking.writes)
    }

    fn timed(&self, timed: bool) {
        // Where its words cannot be mapped, `trouble` says so.
        if let Ok(words) = self.region.words() {
            let service = if timed { Service::Models } else { Service::Immediate };
            words.set(Word::Service, service as u64);
        }
    }

    fn trouble(&self) -> Option<String> {
        if let Some(trouble) = self.tape.tape().trouble.clone() {
            return Some(trouble);
        }
        let full = self.region.words().map(|words| words.get(Word::StoreFull) != 0);
        match full {
            Ok(false) => None,
            Ok(true) => Some("the memory for the disks' contents is full".to_owned()),
            Err(error) => Some(format!("the shared region: {error}")),
        }
    }
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
