//! One thread: goes through its list, waits where the list says so.

use std::sync::atomic::{AtomicU64, Ordering};

use measure::now;
use units::Nanos;

use super::super::model::{Does, Flowop, Quit, Target, Thread};
use super::course::Course;
use super::descriptors::Descriptors;
use super::done::Done;
use crate::engine::thread_group::ThreadGroup;
use crate::{Draw, Op, OpError, Recorder};

/// What all threads have in common.
pub(super) struct Common<'a> {
    pub(super) course: &'a Course,
    pub(super) quit: Quit,
    /// Rounds of each thread; 0 for the time.
    pub(super) loops: u64,
    /// The place of each kind among the phase's ops.
    pub(super) ops: &'a [Does],
    /// Flowops and bytes of all threads, for what finishes on them.
    pub(super) all_ops: &'a AtomicU64,
    pub(super) all_bytes: &'a AtomicU64,
    /// Divides what `finishoncount` and `finishonbytes` wait for.
    pub(super) permille: u64,
}

/// One thread.
pub(super) struct Hand<'a> {
    pub(super) common: &'a Common<'a>,
    pub(super) thread: &'a Thread,
    /// For each flowop the semaphores that it is about.
    pub(super) semaphores: &'a [Vec<usize>],
    /// Whether the run waits for it, as it does not wait for others.
    pub(super) drives: bool,
    pub(super) files: Descriptors<'a>,
    pub(super) draw: Draw,
    pub(super) counts: Vec<Count>,
    pub(super) tally: Tally,
}

/// What one flowop has done in this thread, and how far a limit has paid for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    ops: u64,
    bytes: u64,
    /// What a limit has counted so far, and what it has in hand.
    seen: u64,
    credit: i128,
}

/// What a thread has done in all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) rounds: u64,
    /// Flowops left out, since no file was free for them.
    pub(super) left_out: u64,
    pub(super) waited: Nanos,
}

const MIB: i128 = 1 << 20;

impl Hand<'_> {
    /// Goes through the list until the run, or this thread's part of it, is over.
    pub(super) fn work(
        &mut self,
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), OpError> {
        let done = self.rounds(group, recorder);
        if done.is_err() {
            self.common.course.end();
        } else if self.drives {
            self.common.course.one_is_done();
        }
        self.files.close_all();
        done
    }

    fn rounds(&mut self, group: &ThreadGroup, recorder: &mut Recorder<'_>) -> Result<(), OpError> {
        let (common, list) = (self.common, &self.thread.list);
        let is_counted = common.loops > 0 && self.drives;
        while !is_counted || self.tally.rounds < common.loops {
            for (at, flowop) in list.iter().enumerate() {
                for _ in 0..flowop.iters.draw(&mut self.draw) {
                    if !common.course.goes_on(recorder.lap(), group) {
                        return Ok(());
                    }
                    let done = self.perform(at, flowop, group, recorder)?;
                    if !self.note(at, flowop.does, done, is_counted, recorder) {
                        return Ok(());
                    }
                }
            }
            self.tally.rounds += 1;
        }
        Ok(())
    }

    /// Records what came of a flowop; whether the thread goes on.
    fn note(
        &mut self,
        at: usize,
        does: Does,
        done: Done,
        is_digested: bool,
        recorder: &mut Recorder<'_>,
    ) -> bool {
        match done {
            Done::Moved { bytes, fact } => {
                if is_digested {
                    recorder.digest(fact << 5 ^ does as u64);
                }
                let count = &mut self.counts[at];
                count.ops += 1;
                count.bytes += bytes;
                self.common.all_ops.fetch_add(1, Ordering::Relaxed);
                self.common.all_bytes.fetch_add(bytes, Ordering::Relaxed);
                // Each kind of the list is among them.
                if let Some(op) = self.common.ops.iter().position(|known| *known == does) {
                    recorder.done(Op(op));
                }
                true
            }
            Done::Aside => {
                let before = recorder.lap();
                recorder.restart();
                self.tally.waited += recorder.lap() - before;
                true
            }
            Done::LeftOut => {
                self.tally.left_out += 1;
                match self.common.quit {
                    Quit::Timeout => {
                        // It takes time, or a run whose files are all gone would never end.
                        std::thread::yield_now();
                        recorder.restart();
                        true
                    }
                    Quit::AllDone => false,
                    Quit::FirstDone => {
                        self.common.course.end();
                        false
                    }
                }
            }
            Done::Finished => {
                if self.common.quit != Quit::AllDone {
                    self.common.course.end();
                }
                false
            }
            Done::Over => false,
        }
    }

    fn perform(
        &mut self,
        at: usize,
        flowop: &Flowop,
        group: &ThreadGroup,
        recorder: &mut Recorder<'_>,
    ) -> Result<Done, OpError> {
        let course = self.common.course;
        let goes_on = |goes_on: bool| if goes_on { Done::Aside } else { Done::Over };
        let value = match flowop.does {
            Does::Hog | Does::Delay | Does::SemBlock | Does::SemPost => {
                flowop.value.draw(&mut self.draw)
            }
            _ => 0,
        };
        Ok(match flowop.does {
            Does::Print => Done::Aside,
            Does::Hog => {
                let mut byte = 0u8;
                for _ in 0..value {
                    std::hint::black_box(&mut byte);
                }
                Done::Aside
            }
            Does::Delay => {
                let seconds = Nanos::from_secs(value.min(1 << 30));
                goes_on(course.wait_until(now() + seconds, group))
            }
            Does::SemBlock => {
                let block = |number: &usize| course.block(*number, value.into(), group);
                goes_on(self.semaphores[at].iter().all(block))
            }
            Does::SemPost => {
                let to = &self.semaphores[at];
                goes_on(course.post(to, value.into(), flowop.blocking, group))
            }
            Does::EventLimit => goes_on(course.take_events(1, group)),
            Does::BandwidthLimit | Does::IopsLimit | Does::OpsLimit => {
                goes_on(self.limit(at, flowop, group))
            }
            Does::FinishOnCount | Does::FinishOnBytes => self.finish(flowop),
            _ => self.files.perform(flowop, &mut self.draw, recorder)?,
        })
    }

    /// What a limit or a finish counts: of one flowop of the list, or of all in this thread.
    fn counted(&self, flowop: &Flowop, is_counted: impl Fn(Does) -> bool) -> Count {
        let mut sum = Count::default();
        for (at, other) in self.thread.list.iter().enumerate() {
            let is_meant = match flowop.target {
                Target::Here(target) => at == target,
                _ => is_counted(other.does),
            };
            if is_meant {
                sum.ops += self.counts[at].ops;
                sum.bytes += self.counts[at].bytes;
            }
        }
        sum
    }

    /// Takes an event for each op, or for each MiB, since the last time; whether the run goes on.
    fn limit(&mut self, at: usize, flowop: &Flowop, group: &ThreadGroup) -> bool {
        if !self.common.course.is_limited() {
            return true;
        }
        let counts_io = flowop.does != Does::OpsLimit;
        let sum = self.counted(flowop, |does| !counts_io || does.moves_data());
        let (total, unit) = match flowop.does {
            Does::BandwidthLimit => (sum.bytes, MIB),
            _ => (sum.ops, 1),
        };
        let count = &mut self.counts[at];
        count.credit -= i128::from(total - count.seen);
        count.seen = total;
        if count.credit >= 0 {
            return true;
        }
        let missing = -count.credit;
        let events = if unit == 1 { missing } else { missing / unit + 1 };
        count.credit += events * unit;
        self.common.course.take_events(u64::try_from(events).unwrap_or(u64::MAX), group)
    }

    fn finish(&self, flowop: &Flowop) -> Done {
        let wanted = u128::from(flowop.value.fixed().unwrap_or(0));
        let wanted = (wanted * u128::from(self.common.permille) / 1000).max(1);
        let counts_bytes = flowop.does == Does::FinishOnBytes;
        let done = match flowop.target {
            Target::Here(target) if counts_bytes => self.counts[target].bytes,
            Target::Here(target) => self.counts[target].ops,
            _ if counts_bytes => self.common.all_bytes.load(Ordering::Relaxed),
            _ => self.common.all_ops.load(Ordering::Relaxed),
        };
        let is_done = match counts_bytes {
            true => u128::from(done) > wanted,
            false => u128::from(done) >= wanted,
        };
        if is_done { Done::Finished } else { Done::Aside }
    }
}
