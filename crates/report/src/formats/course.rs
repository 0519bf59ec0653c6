//! CSV of what happened when: a row for each interval of each phase whose course was taken down.
//! Raw but for the last column, which says how much of an interval lies in a stall.

use measure::Silence;
use store::{StoredRun, StoredTrial};
use units::Nanos;
use workload::PhaseResult;

use super::{Format, Options};
use crate::Analysis;
use crate::analysis::stalls;

pub(super) struct Course;

const HEADER: &str = "run,trial,block,contender,workload,phase,begins_ns,length_ns,ops,bytes,longest_ns,stalled_ns\n";

impl Format for Course {
    fn name(&self) -> &'static str {
        "course"
    }

    fn help(&self) -> Option<&'static str> {
        Some("Write what ended when as CSV, one row per interval of each phase of a second or more")
    }

    fn lacks(&self, run: &StoredRun) -> Option<&'static str> {
        let mut phases = run.trials.iter().flat_map(|trial| &trial.phases);
        match phases.any(|phase| phase.course.is_some()) {
            true => None,
            false => Some("no phase that counts its ops lasted a second"),
        }
    }

    fn write(&self, _: &Analysis, run: &StoredRun, _: &Options) -> String {
        let mut text = HEADER.to_owned();
        for trial in &run.trials {
            for phase in &trial.phases {
                rows(&mut text, run, trial, phase);
            }
        }
        text
    }
}

fn rows(text: &mut String, run: &StoredRun, trial: &StoredTrial, phase: &PhaseResult) {
    let Some(course) = &phase.course else { return };
    let (ordinal, block) = (trial.ordinal.to_string(), trial.spec.block.to_string());
    let contender = &trial.spec.contender.name;
    let place = [&run.header.id, &ordinal, &block, contender, &phase.workload, &phase.phase];
    let place = place.map(|field| text::csv(field)).join(",");
    let stalls = stalls(phase);
    for (at, interval) in (0..).zip(&course.intervals) {
        let begins = Nanos(course.width.0.saturating_mul(at));
        let ends = (begins + course.width).min(phase.wall).max(begins);
        let stalled: Nanos = stalls.iter().map(|stall| overlap(stall, begins, ends)).sum();
        let (length, longest) = ((ends - begins).0, interval.longest.0);
        text.push_str(&format!(
            "{place},{},{length},{},{},{longest},{}\n",
            begins.0, interval.ops, interval.bytes.0, stalled.0
        ));
    }
}

fn overlap(stall: &Silence, begins: Nanos, ends: Nanos) -> Nanos {
    (stall.begins + stall.lasts).min(ends) - stall.begins.max(begins)
}
