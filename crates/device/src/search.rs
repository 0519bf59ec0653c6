//! Whether a device is empty: that is, whether every byte of it is zero.
//!
//! A device is read whole if that takes at most [`Reading::most`]. Of a loop device, what its file
//! has as holes need not be read. If reading takes longer, it is not known whether the device is
//! empty, and its user has to say so.

use std::fmt;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use units::Bytes;

use crate::holes;
use crate::known::KNOWN;
use crate::medium::{CHUNK, Medium, ReadError};
use crate::objection::Objection;
use crate::share::Share;
use crate::sysfs::Entry;

/// How long a device is read at most to find out whether it is empty.
const MOST: Duration = Duration::from_secs(60);
/// After so long it is clear how fast it is, and reading ends if it cannot be read whole.
const TRIED: Duration = Duration::from_secs(5);

/// How far the reading of a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub read: Bytes,
    /// Bytes that have to be read.
    pub whole: Bytes,
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// How long the rest will take at the pace so far.
    pub fn left(self) -> Option<Duration> {
        let pace = self.elapsed.as_secs_f64() / self.read.0 as f64;
        let left = pace * self.whole.0.saturating_sub(self.read.0) as f64;
        (self.read.0 > 0).then(|| Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX))
    }

    /// Whether it has taken `most`, or will clearly take longer.
    fn is_late(self, most: Duration) -> bool {
        let end = self.left().map(|left| self.elapsed.saturating_add(left));
        self.elapsed >= most || self.elapsed > TRIED && end.is_some_and(|end| end > most)
    }

    /// The share that is read.
    pub fn share(self) -> Share {
        Share::of(self.read.0, self.whole.0)
    }
}

/// How the reading of a device is limited and followed.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// It takes no longer.
    pub most: Duration,
    /// Told often; reading ends when it answers `Break`.
    pub follow: &'a dyn Fn(Progress) -> ControlFlow<()>,
}

impl Default for Reading<'_> {
    fn default() -> Self {
        Reading { most: MOST, follow: &|_| ControlFlow::Continue(()) }
    }
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("most", &self.most).finish_non_exhaustive()
    }
}

/// How it is found out that a device is empty. `--destroy` makes it unnecessary.
#[derive(Debug, Clone, Copy)]
pub enum Emptiness<'a> {
    /// It is read.
    Read(Reading<'a>),
    /// fstrial itself has just filled it with zeros, so samples are enough.
    Zeroed,
}

impl Default for Emptiness<'_> {
    fn default() -> Self {
        Emptiness::Read(Reading::default())
    }
}

/// A device that is searched.
pub(crate) struct Searched<'a> {
    /// Its name for messages.
    pub(crate) node: &'a str,
    /// Open for reading.
    pub(crate) file: &'a File,
    pub(crate) entry: &'a Entry,
    /// In bytes.
    pub(crate) size: u64,
    /// The place of a byte that is known not to be zero.
    pub(crate) data: Option<u64>,
}

/// Searches a device: first the places of copies, since what is recognised says more than what is
/// not, and then all of it.
pub(crate) fn search(
    device: &Searched<'_>,
    reading: &Reading<'_>,
) -> Result<Option<Objection>, ReadError> {
    let began = Instant::now();
    let mut medium = Medium::open(device.node, device.file, device.size)?;
    let found = search_known(&mut medium)?;
    if let Some(found) = found.or(device.data.map(|offset| Objection::Data { offset })) {
        return Ok(Some(found));
    }
    let mapped = holes::data(device.file, device.entry, device.size, began + reading.most);
    let parts = mapped.unwrap_or_else(|| std::iter::once(0..device.size).collect());
    read_all(&mut medium, &parts, reading)
}

fn search_known(medium: &mut Medium<'_>) -> Result<Option<Objection>, ReadError> {
    let mut data = None;
    for known in KNOWN {
        for place in known.ranges(medium.size()) {
            let around = medium.around(place.clone());
            let Some(offset) = medium.first_data(around.clone())? else { continue };
            let inside = (place.start - around.start) as usize..(place.end - around.start) as usize;
            if known.recognises(&medium.read(around)?[inside]) {
                return Ok(Some(Objection::Known { what: known.what, offset: place.start }));
            }
            data = data.or(Some(offset));
        }
    }
    Ok(data.map(|offset| Objection::Data { offset }))
}

/// Reads these parts, in which all data lies.
fn read_all(
    medium: &mut Medium<'_>,
    parts: &[Range<u64>],
    reading: &Reading<'_>,
) -> Result<Option<Objection>, ReadError> {
    let whole: u64 = parts.iter().map(|part| part.end - part.start).sum();
    let began = Instant::now();
    let mut read = 0;
    for part in parts {
        let mut position = part.start;
        while position < part.end {
            let elapsed = began.elapsed();
            let progress = Progress { read: Bytes(read), whole: Bytes(whole), elapsed };
            if (reading.follow)(progress).is_break() {
                return Ok(Some(Objection::Stopped));
            }
            if progress.is_late(reading.most) {
                let left = progress.left();
                let known = Share::of(medium.size() - (whole - read), medium.size());
                return Ok(Some(Objection::Unknown { known, left }));
            }
            let end = part.end.min(position + CHUNK);
            if let Some(offset) = medium.first_data(medium.around(position..end))? {
                return Ok(Some(Objection::Data { offset }));
            }
            read += end - position;
            position = end;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const SIZE: u64 = 64 << 20;

    fn outcome(file: &File, parts: &[Range<u64>], reading: &Reading<'_>) -> Option<Objection> {
        let mut medium = Medium::open("disk", file, SIZE).unwrap();
        read_all(&mut medium, parts, reading).unwrap()
    }

    fn from(start: u64) -> [Range<u64>; 2] {
        [start..SIZE - 4096, SIZE - 4096..SIZE]
    }

    #[test]
    fn every_byte_of_the_parts_counts_and_no_other() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        let parts = [0..CHUNK + 1, 20 << 20..SIZE];
        let reading = Reading::default();
        assert_eq!(outcome(&file, &parts, &reading), None);
        file.write_all_at(&[0xff], 10 << 20).unwrap();
        assert_eq!(outcome(&file, &parts, &reading), None);
        for offset in [SIZE - 1, 33 << 20, CHUNK] {
            file.write_all_at(&[1], offset).unwrap();
            assert_eq!(outcome(&file, &parts, &reading), Some(Objection::Data { offset }));
        }
    }

    #[test]
    fn without_time_it_is_not_known_and_says_how_much_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        let late = Reading { most: Duration::ZERO, ..Reading::default() };
        let mut unknown = outcome(&file, &from(SIZE / 4), &late).unwrap().to_string();
        assert_eq!(unknown, "nothing was found in 25.0 % of it, and the rest was not read");
        assert_eq!(outcome(&file, &[], &late), None, "nothing has to be read");

        let ends = Reading {
            follow: &|now| match now.read.0 {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            },
            ..Reading::default()
        };
        assert_eq!(outcome(&file, &from(0), &ends), Some(Objection::Stopped));

        let left = Some(Duration::from_secs(5400));
        unknown = Objection::Unknown { known: Share::of(1, 100_000), left }.to_string();
        assert!(unknown.contains("in less than 0.1 % of it"), "{unknown}");
        assert!(unknown.ends_with("would take about 90 min"), "{unknown}");
    }

    #[test]
    fn a_device_that_cannot_be_read_in_time_is_given_up_once_its_speed_is_known() {
        let at = |secs, read| {
            let elapsed = Duration::from_secs(secs);
            Progress { read: Bytes(read), whole: Bytes(1000), elapsed }.is_late(MOST)
        };
        assert!(!at(5, 10), "its speed is not known yet");
        assert!(at(6, 10) && !at(6, 101), "6 s of 600 s, and of less than 60 s");
        assert!(!at(59, 990) && at(60, 999));
        assert!(!at(6, 0), "nothing is known of its speed");
        let share = |part| Share::of(part, 1000).to_string();
        assert_eq!([share(999), share(1000)], ["99.9 %", "100.0 %"]);
    }
}
