//! Counting and timing ops within a phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::{Course, Latencies, Tally, Track, now};
use units::{Bytes, Nanos};

use crate::{Host, PhaseDescription, PhaseEvent};

/// A kind of op: its place in [`PhaseDescription::ops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(pub usize);

/// Records ops with one clock read each: an op lasts from the end of the previous one (or
/// from [`Recorder::restart`]) to its [`Recorder::done`]. What a workload does in between,
/// such as drawing the next file, is part of the op and must stay below some 20 ns.
pub struct Recorder<'h> {
    tallies: Vec<Tally>,
    lap: Nanos,
    pub(crate) ops: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    digest: u64,
    track: Track,
    progress: Option<Progress<'h>>,
    /// Where other threads can see a thread's op count while it works.
    seen: Option<Arc<AtomicU64>>,
}

/// What a thread has recorded, without the recorder's link for progress reports.
pub struct Recorded {
    tallies: Vec<Tally>,
    ops: u64,
    read_bytes: u64,
    write_bytes: u64,
    digest: u64,
    track: Track,
}

/// Where progress goes; only a phase's first recorder has one.
struct Progress<'h> {
    host: &'h dyn Host,
    next: Nanos,
}

/// Time between two progress reports.
pub(crate) const PROGRESS_EVERY: Nanos = Nanos::from_millis(250);

impl<'h> Recorder<'h> {
    /// Allocates and touches one tally for each kind of op.
    pub fn new(phase: &PhaseDescription) -> Recorder<'h> {
        let lap = now();
        Recorder {
            tallies: phase.ops.iter().map(|_| Tally::new()).collect(),
            lap,
            ops: 0,
            read_bytes: 0,
            write_bytes: 0,
            digest: 0,
            track: Track::new(lap),
            progress: None,
            seen: None,
        }
    }

    /// Starts the clock; progress goes to `host`.
    pub(crate) fn start(&mut self, host: &'h dyn Host) -> Nanos {
        self.lap = now();
        self.track.begin(self.lap);
        self.progress = Some(Progress { host, next: self.lap + PROGRESS_EVERY });
        self.lap
    }

    /// Starts the next op's clock now, leaving out what was done since the last one.
    #[inline]
    pub fn restart(&mut self) {
        self.lap = now();
    }

    /// Ends an op of this kind.
    #[inline]
    pub fn done(&mut self, op: Op) {
        self.ended(op);
        self.ops += 1;
        let end = self.lap;
        if let Some(seen) = &self.seen {
            seen.store(self.ops, Ordering::Relaxed);
        }
        if let Some(progress) = &mut self.progress
            && end >= progress.next
        {
            progress.next = end + PROGRESS_EVERY;
            progress.host.emit(PhaseEvent::Progress { ops_done: self.ops });
        }
    }

    /// Ends several ops that are too short to be timed one by one: one latency for all of
    /// them together.
    #[inline]
    pub fn done_together(&mut self, op: Op, ops: u64) {
        self.done(op);
        self.ops += ops - 1;
    }

    /// Ends a part of an op: its latency is kept under a kind of its own and left out of the
    /// op's, and it does not count as an op.
    #[inline]
    pub fn part(&mut self, part: Op) {
        self.ended(part);
    }

    #[inline]
    fn ended(&mut self, op: Op) {
        let end = now();
        let took = end - self.lap;
        self.tallies[op.0].record(took);
        self.track.ended(op.0, end, took, self.ops, self.read_bytes + self.write_bytes);
        self.lap = end;
    }

    /// Counts bytes read from files.
    #[inline]
    pub fn read(&mut self, bytes: u64) {
        self.read_bytes += bytes;
    }

    /// Counts bytes written to files.
    #[inline]
    pub fn wrote(&mut self, bytes: u64) {
        self.write_bytes += bytes;
    }

    /// Mixes a fact about the op (file number, size) into the phase's digest.
    #[inline]
    pub fn digest(&mut self, fact: u64) {
        // The finaliser of SplitMix64 (Steele, Lea, Flood 2014): order matters, 2 ns.
        let mut mixed = self.digest.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ fact;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.digest = mixed ^ (mixed >> 31);
    }

    /// A recorder for a thread of this phase, to be made in it. Give what it recorded back
    /// with [`Recorder::finish`] and [`Recorder::merge`].
    pub fn for_thread(phase: &PhaseDescription) -> Recorder<'static> {
        Recorder::new(phase)
    }

    /// Starts a thread's first op now, in a phase that began at `begin`.
    pub(crate) fn start_thread(&mut self, begin: Nanos) {
        self.track.begin(begin);
        self.restart();
    }

    /// Lets another thread see how many ops are done.
    pub(crate) fn seen_at(&mut self, seen: Arc<AtomicU64>) {
        self.seen = Some(seen);
    }

    /// Reports how many ops a phase's threads have done together, without counting them here.
    pub(crate) fn tell(&self, ops_done: u64) {
        if let Some(progress) = &self.progress {
            progress.host.emit(PhaseEvent::Progress { ops_done });
        }
    }

    /// What was recorded, to be sent to another thread.
    pub fn finish(self) -> Recorded {
        let Recorder { tallies, ops, read_bytes, write_bytes, digest, track, .. } = self;
        Recorded { tallies, ops, read_bytes, write_bytes, digest, track }
    }

    /// Adds what a thread recorded. Merge in thread order: the digest depends on it.
    pub fn merge(&mut self, other: Recorded) {
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.merge(theirs);
        }
        self.ops += other.ops;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.digest(other.digest);
        self.track.merge(other.track, other.ops, other.read_bytes + other.write_bytes);
    }

    /// When the last op ended (or the clock was restarted).
    #[inline]
    pub fn lap(&self) -> Nanos {
        self.lap
    }

    /// Ops completed so far.
    pub fn ops_done(&self) -> u64 {
        self.ops
    }

    pub(crate) fn totals(&self) -> (u64, Bytes, Bytes, u64) {
        (self.ops, Bytes(self.read_bytes), Bytes(self.write_bytes), self.digest)
    }

    /// The course of the phase, which ended at `end`.
    pub(crate) fn course(&self, end: Nanos, kinds: &[&str]) -> Course {
        self.track.clone().finish(end, self.ops, self.read_bytes + self.write_bytes, kinds)
    }

    pub(crate) fn into_latencies(self) -> Vec<Latencies> {
        self.tallies.iter().map(Tally::finish).collect()
    }
}
