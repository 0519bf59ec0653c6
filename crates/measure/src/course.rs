//! The course of a phase: what ended in each interval of its time, and when nothing ended for long.
//!
//! [`Track`] is told when each op ended. It has no clock, does not allocate while it is told, and
//! its memory does not grow: when all intervals are used, each two become one of twice the width.

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

mod quiet;

use quiet::{Quiet, Wait, Waits};

/// When so many intervals are used, each two become one.
const INTERVALS_MAX: usize = 400;

/// The width of the first intervals. A phase of a second and more has 200 to 400.
const WIDTH_LEAST: Nanos = Nanos::from_micros(2_500);

/// The course of a phase, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// The width of every interval but the last, which the phase's end cuts off.
    pub width: Nanos,
    /// The intervals in order, the first from the phase's beginning.
    pub intervals: Vec<Interval>,
    /// The times of [`Silence::LEAST`] and longer in which an op was waited for and none ended, in
    /// order.
    pub silences: Vec<Silence>,
    /// Shorter ones than those that are kept, which were left out for want of room.
    pub left_out: u64,
}

/// What ended in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Interval {
    /// Ops that ended in it.
    pub ops: u64,
    /// Bytes that they read and wrote.
    pub bytes: Bytes,
    /// The longest latency of an op, or of a part of one, that ended in it.
    pub longest: Nanos,
}

impl From<(u64, u64, u64)> for Interval {
    fn from((ops, bytes, longest): (u64, u64, u64)) -> Interval {
        Interval { ops, bytes: Bytes(bytes), longest: Nanos(longest) }
    }
}

impl From<Interval> for (u64, u64, u64) {
    fn from(interval: Interval) -> (u64, u64, u64) {
        (interval.ops, interval.bytes.0, interval.longest.0)
    }
}

/// A time in which an op was waited for and none ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// When it began, from the phase's beginning.
    pub begins: Nanos,
    /// How long it lasted.
    pub lasts: Nanos,
    /// The kind of op that was waited for; of several threads the one that waited longest.
    pub op: String,
    /// Bytes that this op read and wrote.
    pub bytes: Bytes,
}

impl Silence {
    /// What is shorter is not noticed by whoever waits, and not kept.
    pub const LEAST: Nanos = Nanos::from_millis(100);
}

/// Why what was read is no course.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0} intervals of {1}: not the course of a phase")]
pub struct NoCourse(usize, Nanos);

impl Course {
    /// Refuses what no [`Track`] makes, for what was read from a file.
    ///
    /// # Errors
    /// When it has too many intervals, or they have no width.
    pub fn checked(self) -> Result<Course, NoCourse> {
        let (count, width) = (self.intervals.len(), self.width);
        match count <= INTERVALS_MAX && width >= WIDTH_LEAST {
            true => Ok(self),
            false => Err(NoCourse(count, width)),
        }
    }

    /// The same in at most `most` intervals.
    pub fn in_at_most(&self, most: usize) -> Course {
        let mut shorter = self.clone();
        while shorter.intervals.len() > most.max(1) {
            double(&mut shorter.width, &mut shorter.intervals);
        }
        shorter
    }
}

/// Makes one interval of each two.
fn double(width: &mut Nanos, intervals: &mut Vec<Interval>) {
    let count = intervals.len().div_ceil(2);
    for at in 0..count {
        let second = intervals.get(2 * at + 1).copied().unwrap_or_default();
        intervals[at] = intervals[2 * at];
        add(&mut intervals[at], second);
    }
    intervals.truncate(count);
    *width = *width + *width;
}

fn add(to: &mut Interval, more: Interval) {
    // What was read from a file may be any number.
    to.ops = to.ops.saturating_add(more.ops);
    to.bytes = Bytes(to.bytes.0.saturating_add(more.bytes.0));
    to.longest = to.longest.max(more.longest);
}

/// Intervals of several threads, or of one.
#[derive(Debug, Clone)]
struct Row {
    width: Nanos,
    intervals: Vec<Interval>,
}

impl Row {
    fn add(&mut self, mut other: Row) {
        while self.width < other.width {
            double(&mut self.width, &mut self.intervals);
        }
        while other.width < self.width {
            double(&mut other.width, &mut other.intervals);
        }
        if self.intervals.len() < other.intervals.len() {
            self.intervals.resize(other.intervals.len(), Interval::default());
        }
        for (mine, theirs) in self.intervals.iter_mut().zip(other.intervals) {
            add(mine, theirs);
        }
    }
}

/// Takes down the course of a phase, or of one of its threads.
#[derive(Debug, Clone)]
pub struct Track {
    begin: Nanos,
    /// When the running interval ends.
    until: Nanos,
    /// When the last op, or part of one, ended.
    last: Nanos,
    /// The longest latency of the running interval.
    longest: Nanos,
    /// Bytes counted when the last op ended.
    bytes: u64,
    /// Ops and bytes counted before the running interval.
    before: (u64, u64),
    row: Row,
    waits: Waits,
    threads: Option<(Row, Vec<Quiet>, u64)>,
}

impl Track {
    /// A track that begins now. All its memory is allocated and touched.
    pub fn new(now: Nanos) -> Track {
        let mut intervals = vec![Interval { ops: 1, ..Interval::default() }; INTERVALS_MAX];
        std::hint::black_box(&mut intervals);
        intervals.clear();
        Track {
            begin: now,
            until: now + WIDTH_LEAST,
            last: now,
            longest: Nanos::ZERO,
            bytes: 0,
            before: (0, 0),
            row: Row { width: WIDTH_LEAST, intervals },
            waits: Waits::new(),
            threads: None,
        }
    }

    /// Begins at `begin` instead, before anything ended.
    pub fn begin(&mut self, begin: Nanos) {
        (self.begin, self.until, self.last) = (begin, begin + self.row.width, begin);
    }

    /// An op of a kind, or a part of one, ended at `end` and took so long. `ops` is how many ended
    /// before it; `bytes` how many were read and written in all.
    #[inline]
    pub fn ended(&mut self, kind: usize, end: Nanos, took: Nanos, ops: u64, bytes: u64) {
        if end >= self.until || end - self.last >= Silence::LEAST {
            self.turn(kind, end, took, ops, bytes);
        }
        self.longest = self.longest.max(took);
        self.last = end;
        self.bytes = bytes;
    }

    #[cold]
    #[inline(never)]
    fn turn(&mut self, kind: usize, end: Nanos, took: Nanos, ops: u64, bytes: u64) {
        if end - self.last >= Silence::LEAST {
            self.waits.add(Wait {
                since: self.last,
                from: self.last.max(end - took),
                until: end,
                kind,
                bytes: bytes - self.bytes,
            });
        }
        self.close_until(end, ops);
    }

    /// Closes the intervals that end by `end`.
    fn close_until(&mut self, end: Nanos, ops: u64) {
        while end >= self.until {
            self.row.intervals.push(Interval {
                ops: ops - self.before.0,
                bytes: Bytes(self.bytes - self.before.1),
                longest: self.longest,
            });
            self.before = (ops, self.bytes);
            self.longest = Nanos::ZERO;
            if self.row.intervals.len() == INTERVALS_MAX {
                double(&mut self.row.width, &mut self.row.intervals);
            }
            self.until =
                self.begin + Nanos(self.row.width.0 * (self.row.intervals.len() as u64 + 1));
        }
    }

    /// Closes all intervals, the last where it is.
    fn close(&mut self, end: Nanos, ops: u64, bytes: u64) {
        self.close_until(end, ops);
        self.bytes = bytes;
        let begun = self.until - self.row.width;
        if end > begun || ops > self.before.0 {
            let longest = self.longest;
            let bytes = Bytes(bytes - self.before.1);
            self.row.intervals.push(Interval { ops: ops - self.before.0, bytes, longest });
        }
    }

    /// Adds a thread that has ended, with its ops and bytes, to the phase that it belongs to. What
    /// this track is told afterwards comes after all threads.
    pub fn merge(&mut self, mut thread: Track, ops: u64, bytes: u64) {
        let ended = thread.last;
        thread.close(ended, ops, bytes);
        self.before = (self.before.0 + ops, self.before.1 + bytes);
        self.bytes += bytes;
        self.last = self.last.max(ended);
        let left_out = thread.waits.left_out;
        let quiet = thread.waits.until_the_end(ended);
        self.threads = Some(match self.threads.take() {
            None => (thread.row, quiet, left_out),
            Some((mut row, others, before)) => {
                row.add(thread.row);
                (row, quiet::of_both(&others, &quiet), before + left_out)
            }
        });
    }

    /// The course until the phase's end, with its ops and bytes in all and the names of its kinds.
    pub fn finish(mut self, end: Nanos, ops: u64, bytes: u64, kinds: &[&str]) -> Course {
        self.close(end, ops, bytes);
        let (mut row, mut left_out) = (self.row, self.waits.left_out);
        let mut waits = self.waits.kept;
        if let Some((others, quiet, further)) = self.threads {
            row.add(others);
            left_out += further;
            waits.extend(quiet.iter().filter_map(Quiet::waited));
        }
        waits.retain(|wait| wait.until - wait.from >= Silence::LEAST);
        waits.sort_by_key(|wait| wait.from);
        let silence = |wait: Wait| Silence {
            begins: wait.from - self.begin,
            lasts: wait.until - wait.from,
            op: kinds.get(wait.kind).copied().unwrap_or_default().to_owned(),
            bytes: Bytes(wait.bytes),
        };
        let silences = waits.into_iter().map(silence).collect();
        Course { width: row.width, intervals: row.intervals, silences, left_out }
    }
}

#[cfg(test)]
mod tests;
