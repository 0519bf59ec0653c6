//! What a disk saw, in order.

use crate::content::mix;

/// A write, or a discard, which makes zeroes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The disk, from 0.
    pub disk: usize,
    /// First sector of 512 bytes.
    pub lba: u64,
    /// Force unit access.
    pub fua: bool,
    /// A digest of each sector.
    pub digests: Vec<u64>,
}

impl Write {
    /// How many sectors.
    pub fn sectors(&self) -> u64 {
        self.digests.len() as u64
    }
}

/// Something that happened. Numbers are places in [`Log::writes`] and [`Log::flushes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A write arrived.
    Submitted(usize),
    /// The host was told that it is done.
    Completed(usize),
    /// A flush arrived.
    FlushSubmitted(usize),
    /// The host was told that it is done.
    FlushCompleted(usize),
    /// From here on the program's next expectation holds.
    Expected,
}

/// Everything since recording began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// In order of submission.
    pub writes: Vec<Write>,
    /// The disk of each flush.
    pub flushes: Vec<usize>,
    /// In order.
    pub entries: Vec<Entry>,
}

impl Log {
    /// Records that a write arrived; returns its number.
    pub fn submit(&mut self, write: Write) -> usize {
        self.writes.push(write);
        self.entries.push(Entry::Submitted(self.writes.len() - 1));
        self.writes.len() - 1
    }

    /// Records that a flush arrived; returns its number.
    pub fn submit_flush(&mut self, disk: usize) -> usize {
        self.flushes.push(disk);
        self.entries.push(Entry::FlushSubmitted(self.flushes.len() - 1));
        self.flushes.len() - 1
    }

    /// Distinguishes logs.
    pub fn digest(&self) -> u64 {
        let mut sum = 0;
        let mut add = |value: u64| sum = mix(sum, value);
        for write in &self.writes {
            add(write.disk as u64);
            add(write.lba);
            write.digests.iter().for_each(|digest| add(*digest));
        }
        for entry in &self.entries {
            match *entry {
                Entry::Submitted(nth) => add(nth as u64 * 8),
                Entry::Completed(nth) => add(nth as u64 * 8 + 1),
                Entry::FlushSubmitted(nth) => add(nth as u64 * 8 + 2),
                Entry::FlushCompleted(nth) => add(nth as u64 * 8 + 3),
                Entry::Expected => add(4),
            }
        }
        sum
    }
}
