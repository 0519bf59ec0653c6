//! The course of a phase: of each contender the one that is drawn, and its stalls in all trials.

use measure::{Course, Silence};
use serde::Serialize;
use units::Nanos;
use workload::PhaseResult;

use super::arrange::{Phase, PhaseTrial};

/// A silence is a stall if it lasts this many times as long as nine in ten of the ops that it was
/// waited for ([`Silence::LEAST`] and longer are recorded).
const TIMES_USUAL: u64 = 5;

/// Of fewer ops of a kind nobody can say what is usual.
const USUAL_OPS_LEAST: u64 = 100;

/// The bytes of the op that was waited for explain at most this share of a stall, at the phase's own
/// rate.
const EXPLAINED_MOST: f64 = 0.5;

/// A phase's course in one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnCourse {
    /// The trial's place in the order of execution.
    pub trial: u32,
    /// Its block.
    pub block: u32,
    /// How long the phase took.
    pub wall: Nanos,
    /// What ended when.
    pub course: Course,
    /// Its stalls, in order.
    pub stalls: Vec<Silence>,
}

impl DrawnCourse {
    /// The middle of each interval in seconds, and the ops that ended in it a second. What is left of
    /// the last one is left out where it is less than half of one.
    pub(crate) fn rates(&self, most: usize) -> Vec<(f64, f64)> {
        let course = self.course.in_at_most(most);
        let (width, wall) = (course.width.as_secs_f64(), self.wall.as_secs_f64());
        let rate = |(at, interval): (usize, &measure::Interval)| {
            let begins = at as f64 * width;
            let length = width.min(wall - begins);
            let is_whole = length >= width / 2.0;
            is_whole.then(|| (begins + length / 2.0, interval.ops as f64 / length))
        };
        course.intervals.iter().enumerate().filter_map(rate).collect()
    }
}

/// How often and for how long nothing ended, in all trials of a contender whose course was taken
/// down.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stalls {
    /// These trials.
    pub trials: usize,
    /// Stalls in all of them.
    pub times: usize,
    /// Whether there may be more: a trial had too many silences to keep them all.
    pub at_least: bool,
    /// The shortest stall in seconds; 0 where there is none.
    pub shortest: f64,
    /// The longest.
    pub longest: f64,
    /// All stalls together, in seconds.
    pub total: f64,
    /// Their share of the phase's time (0.1: 10 %).
    pub share: f64,
    /// The kinds of op that were waited for.
    pub kinds: Vec<String>,
}

/// The silences of a phase that are stalls.
pub(crate) fn stalls(result: &PhaseResult) -> Vec<&Silence> {
    let silences = result.course.iter().flat_map(|course| &course.silences);
    silences.filter(|silence| is_stall(result, silence)).collect()
}

fn is_stall(result: &PhaseResult, silence: &Silence) -> bool {
    let Some(latencies) = result.latencies.get(&silence.op) else { return false };
    let usual = latencies.quantile(0.9).0;
    let bytes = (result.read_bytes + result.write_bytes).0 as f64;
    let explained = match bytes > 0.0 {
        true => silence.bytes.0 as f64 / bytes * result.wall.0 as f64,
        false => 0.0,
    };
    latencies.count() >= USUAL_OPS_LEAST
        && silence.lasts.0 >= usual.saturating_mul(TIMES_USUAL)
        && explained <= EXPLAINED_MOST * silence.lasts.0 as f64
}

/// Of each contender its first trial that has a course.
pub(super) fn drawn(phase: &Phase<'_>) -> Vec<Option<DrawnCourse>> {
    let of_trial = |entry: &PhaseTrial<'_>| {
        let result = entry.timed()?;
        Some(DrawnCourse {
            trial: entry.trial.ordinal,
            block: entry.trial.spec.block,
            wall: result.wall,
            course: result.course.clone()?,
            stalls: stalls(result).into_iter().cloned().collect(),
        })
    };
    phase.trials.iter().map(|trials| trials.iter().find_map(of_trial)).collect()
}

/// Of each contender the stalls of all trials; `None` where no course was taken down.
pub(super) fn of_all(phase: &Phase<'_>) -> Vec<Option<Stalls>> {
    phase.trials.iter().map(|trials| of_trials(trials)).collect()
}

fn of_trials(trials: &[PhaseTrial<'_>]) -> Option<Stalls> {
    let results: Vec<&PhaseResult> = trials
        .iter()
        .filter_map(|entry| entry.timed())
        .filter(|result| result.course.is_some())
        .collect();
    if results.is_empty() {
        return None;
    }
    let all: Vec<&Silence> = results.iter().flat_map(|result| stalls(result)).collect();
    let lasts = || all.iter().map(|stall| stall.lasts);
    let total = lasts().sum::<Nanos>().as_secs_f64();
    let wall = results.iter().map(|result| result.wall).sum::<Nanos>().as_secs_f64();
    let mut kinds: Vec<String> = Vec::new();
    for stall in &all {
        if !kinds.contains(&stall.op) {
            kinds.push(stall.op.clone());
        }
    }
    // Only silences shorter than all that are kept were left out.
    let is_cut = |result: &&PhaseResult| {
        let course = result.course.as_ref().filter(|course| course.left_out > 0);
        let kept = course.map_or(0, |course| course.silences.len());
        kept > 0 && stalls(result).len() == kept
    };
    Some(Stalls {
        trials: results.len(),
        times: all.len(),
        at_least: results.iter().any(is_cut),
        shortest: lasts().min().unwrap_or(Nanos::ZERO).as_secs_f64(),
        longest: lasts().max().unwrap_or(Nanos::ZERO).as_secs_f64(),
        total,
        share: if wall > 0.0 { total / wall } else { 0.0 },
        kinds,
    })
}
